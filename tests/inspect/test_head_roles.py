"""What heads are called for, on patterns made by hand; and the probes that induction is measured on."""

import numpy as np
import pytest
from helpers.dump_cases import tiny
from helpers.shipped_heads import copying_head, previous_head

from glasscli import load_model
from glasscli.arrays import Array
from glasscli.cli.commands.dump_attn.heads_screen import heads_screen
from glasscli.cli.page.page import Page
from glasscli.errors import CheckpointError
from glasscli.inspect.head_roles import Census, HeadReport, head_census, lift, role_of
from glasscli.inspect.measures import HeadMeasures, measure_heads, uniform_measures, uniform_pattern
from glasscli.inspect.probes import PROBE_DRAWS, average, measure_layers, probe_heads, repeat_probes

N = 24
PROBE = list(range(100, 100 + N)) * 2
TEXT = [7, 3, 9, 3, 5, 8]


def looking_at(ids: list[int], kind: str) -> Array:
    """A pattern of one head that puts all its weight where `kind` says, and evenly where that is nowhere."""
    pattern = uniform_pattern(0, len(ids), len(ids))
    for p in range(1, len(ids)):
        before = [j for j in range(p) if ids[j] == ids[p]]
        places = {
            "induction": [j + 1 for j in before],
            "duplicate": before,
            "previous": [p - 1],
            "self": [p],
            "sink": [0],
        }
        if found := places.get(kind):
            pattern[p] = 0
            pattern[p, found] = 1 / len(found)
    return pattern[None]


def report(kind: str, head: int = 0) -> HeadReport:
    text, probe = (measure_heads(looking_at(ids, kind), 0, ids, 1)[0] for ids in (TEXT, PROBE))
    return HeadReport(1, named(text, head), average([named(probe, head)] * 2), role(kind))


def named(m: HeadMeasures, head: int) -> HeadMeasures:
    return HeadMeasures(**{**m.__dict__, "head": head})


def role(kind: str) -> str | None:
    text, probe = (measure_heads(looking_at(ids, kind), 0, ids, 1)[0] for ids in (TEXT, PROBE))
    return role_of(text, average([probe]), *(uniform_measures(0, len(ids), ids) for ids in (TEXT, PROBE)))


@pytest.mark.parametrize("kind", ["induction", "duplicate", "previous", "self", "sink"])
def test_a_head_is_called_what_it_does(kind: str) -> None:
    assert role(kind) == kind


def test_a_head_that_ignores_content_has_no_name() -> None:
    assert role("nothing") is None


def of_previous(share: float) -> HeadMeasures:
    """A head that puts `share` of its weight on the token before, and nothing elsewhere that counts."""
    return HeadMeasures(0, 0, 1.0, 0.5, sink=0, prev=share, self_weight=0, dup=0, induct=0, reach=1.0, strongest=None)


@pytest.mark.parametrize(
    ("share", "uniform", "role"),
    [
        (0.52, 0.03, "previous"),  # half of the way from chance to all is .515
        (0.51, 0.03, None),
        (0.30, 0.09, None),  # three times chance, and yet seven tenths are elsewhere
        (0.62, 0.23, "previous"),  # nine tokens: chance gives .23, half of the way is .615
        (0.61, 0.23, None),
        (0.76, 0.50, "previous"),
        (0.74, 0.50, None),
        (1.00, 1.00, None),  # where there is nothing else to look at, it says nothing
    ],
)
def test_a_name_takes_half_the_way_from_chance_to_all(share: float, uniform: float, role: str | None) -> None:
    assert role_of(of_previous(share), average([of_previous(0)]), of_previous(uniform), of_previous(0)) == role


def test_an_induction_head_is_named_with_its_evidence() -> None:
    reports = (report("induction", 2), report("previous", 0))
    base = [uniform_measures(0, len(ids), ids) for ids in (TEXT, PROBE)]
    census = Census(reports, *base, (tuple(PROBE),))
    lines = ["".join(text for text, _ in line) for line in heads_screen(Page(), census)]
    uniform = np.mean([1 / (p + 1) for p in range(N, 2 * N)])
    assert any(f"Induction heads: 1.2 (1.00 ± .00, {1 / uniform:.1f} × uniform)." in line for line in lines)
    none = Census(reports[1:], *base, (tuple(PROBE),))
    lines = ["".join(text for text, _ in line) for line in heads_screen(Page(), none)]
    assert any("No induction head" in line for line in lines)


def draw(value: float | None) -> HeadMeasures:
    return HeadMeasures(0, 0, 1.0, 1.0, 0.1, 0.1, 0.1, None, value, 2.0, None)


def test_one_lucky_draw_names_no_head() -> None:
    """Mean and deviation over draws, by hand; a mean that only luck lifts above three times chance is not enough."""
    uniform = draw(0.02)
    lucky, steady = average([draw(0.4), *[draw(0.03)] * 7]), average([*[draw(0.09)] * 4, *[draw(0.07)] * 4])
    assert lucky.mean.induct == pytest.approx((0.4 + 7 * 0.03) / 8)
    assert lucky.induct_sd == pytest.approx(np.std([0.4, *[0.03] * 7], ddof=1))
    assert (lucky.mean.induct or 0) > 3 * 0.02
    assert role_of(draw(0.0), lucky, uniform, uniform) is None
    assert role_of(draw(0.0), steady, uniform, uniform) == "induction"
    assert average([draw(0.1), draw(None)]).mean.induct is None
    assert average([draw(0.1)]).induct_sd == 0


def test_a_role_on_the_text_does_not_hang_on_its_length() -> None:
    """Chance gives each of few tokens much weight; what counts is the way from there to all of it."""
    assert lift(0.2, 0.2) == 0
    assert lift(1.0, 0.2) == 1
    assert lift(0.6, 0.2) == pytest.approx(0.5)
    assert lift(0.4, 1.0) == 0


def test_the_same_head_is_previous_on_a_short_text_and_a_long_one() -> None:
    loaded = load_model()
    text = (
        "Once upon a time there was a little girl named Lily. She had a red ball and she liked to throw it. One day, "
        "a big dog came to the park and took the ball away. Lily was sad. She asked the dog to give it back, but the "
        'dog ran around the tree. Then her friend Tom said, "I can help you!" He found a long stick and showed it to '
        "the dog. The dog let go of the ball and ran after the stick. Lily was so happy that she gave Tom a hug. They "
        "played with the ball all day, and when the sun went down, they went home. The dog came with them and slept "
        "in front of the door. From that day on, Lily, Tom and the dog were best friends."
    )
    ids = loaded.encode(text)
    assert len(ids) > 160
    for n_tokens in (9, len(ids)):
        census = head_census(loaded, ids[:n_tokens])
        roles = {f"{r.layer}.{r.text.head}": r.role for r in census.reports}
        assert [name for name, found in roles.items() if found == "previous"] == [previous_head().label], n_tokens
        assert [name for name, found in roles.items() if found == "induction"] == [copying_head().label], n_tokens


def test_the_probes_are_24_different_tokens_twice_and_always_the_same() -> None:
    probes = repeat_probes(tiny())
    assert len(probes) == PROBE_DRAWS >= 16
    assert len({tuple(probe) for probe in probes}) == PROBE_DRAWS
    assert probes == repeat_probes(tiny())
    for probe in probes:  # this tokenizer puts nothing in front
        assert probe[:N] == probe[N:]
        assert len(set(probe)) == N
        assert not set(probe) & tiny().tokenizer.special_ids


def test_probes_open_as_a_text_does() -> None:
    loaded = load_model()
    for probe in repeat_probes(loaded, 3):
        assert probe[0] == loaded.encode("Once")[0]
        assert probe[1 : 1 + N] == probe[1 + N :]


def test_a_probe_is_measured_as_a_text_is() -> None:
    loaded = tiny()
    probes = repeat_probes(loaded, 3)
    found = probe_heads(loaded, probes)
    for layer in range(3):
        for head in range(4):
            single = [measure_layers(loaded, probe)[layer][head].induct or 0 for probe in probes]
            assert found[layer][head].mean.induct == pytest.approx(np.mean(single))
            assert found[layer][head].induct_sd == pytest.approx(np.std(single, ddof=1))


def test_what_is_not_finite_is_named() -> None:
    with pytest.raises(CheckpointError, match="layer 1: v is the first step"):
        measure_layers(tiny(), [1, 2, 3], lambda layer, place, x: x * np.nan if (layer, place) == (1, "v") else x)


def test_layers_in_several_runs_measure_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = head_census(tiny(), "abab")
    monkeypatch.setattr("glasscli.inspect.probes.AT_ONCE_BYTES", 1)
    assert head_census(tiny(), "abab") == whole


def test_a_census_holds_every_head_once() -> None:
    census = head_census(tiny(), "abab")
    found = sorted((r.layer, r.text.head) for r in census.reports)
    assert found == [(layer, head) for layer in range(3) for head in range(4)]
    assert all(r.probe.head == r.text.head for r in census.reports)
