"""What heads are called for, on patterns made by hand; and the probe that induction is measured on."""

import numpy as np
import pytest
from dump_cases import tiny

from glasscli.cli.commands.dump_attn.heads_screen import heads_screen
from glasscli.cli.page.page import Page
from glasscli.inspect.head_roles import Census, HeadReport, head_census, random_repeat, role_of
from glasscli.inspect.measures import HeadMeasures, measure_heads, uniform_measures, uniform_pattern
from glasscli.model.ops import Array

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
    return HeadReport(1, named(text, head), named(probe, head), role(kind))


def named(m: HeadMeasures, head: int) -> HeadMeasures:
    return HeadMeasures(**{**m.__dict__, "head": head})


def role(kind: str) -> str | None:
    text, probe = (measure_heads(looking_at(ids, kind), 0, ids, 1)[0] for ids in (TEXT, PROBE))
    return role_of(text, probe, *(uniform_measures(0, len(ids), ids) for ids in (TEXT, PROBE)))


@pytest.mark.parametrize("kind", ["induction", "duplicate", "previous", "self", "sink"])
def test_a_head_is_called_what_it_does(kind: str) -> None:
    assert role(kind) == kind


def test_a_head_that_ignores_content_has_no_name() -> None:
    assert role("nothing") is None


def test_an_induction_head_is_named_with_its_evidence() -> None:
    reports = (report("induction", 2), report("previous", 0))
    census = Census(reports, uniform_measures(0, len(TEXT), TEXT), uniform_measures(0, len(PROBE), PROBE), tuple(PROBE))
    lines = ["".join(text for text, _ in line) for line in heads_screen(Page(), census)]
    uniform = np.mean([1 / (p + 1) for p in range(N, 2 * N)])
    assert any(f"Induction heads: 1.2 (1.00, {1 / uniform:.0f} × uniform)." in line for line in lines)
    none = Census(reports[1:], census.uniform_text, census.uniform_probe, tuple(PROBE))
    lines = ["".join(text for text, _ in line) for line in heads_screen(Page(), none)]
    assert any("No induction head" in line for line in lines)


def test_the_probe_is_24_different_tokens_twice_and_always_the_same() -> None:
    probe = random_repeat(tiny())
    assert probe[:N] == probe[N:]
    assert len(set(probe)) == N
    assert probe == random_repeat(tiny())
    assert not set(probe) & tiny().tokenizer.special_ids


def test_layers_in_several_runs_measure_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = head_census(tiny(), "abab")
    monkeypatch.setattr("glasscli.inspect.head_roles.AT_ONCE_BYTES", 1)
    assert head_census(tiny(), "abab") == whole


def test_a_census_holds_every_head_once() -> None:
    census = head_census(tiny(), "abab")
    found = sorted((r.layer, r.text.head) for r in census.reports)
    assert found == [(layer, head) for layer in range(3) for head in range(4)]
    assert all(r.probe.head == r.text.head for r in census.reports)
