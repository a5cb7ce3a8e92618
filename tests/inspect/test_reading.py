"""What a page tells besides attention: the same as the commands that tell it."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny, tiny_decode, tiny_dump

from glasscli.errors import CheckpointError
from glasscli.inspect import reading
from glasscli.inspect.dump import Dump, dump_attention, take_rows
from glasscli.inspect.head_roles import head_census
from glasscli.inspect.lens import read_lens
from glasscli.inspect.reading import Reading, with_reading
from glasscli.inspect.scoring import score_text

ALL = (0, 1, 2)


def read(dump: Dump) -> Reading:
    found = with_reading(tiny(), dump).reading
    assert found is not None
    return found


def test_every_row_says_what_the_lens_says() -> None:
    found = read(tiny_dump(layers=ALL))
    assert (found.start, found.n_rows) == (0, 15)
    for row, lens in enumerate(read_lens(tiny(), PROMPT, range(15), n_top=reading.N_TOP)):
        assert [(said.layer, said.place) for said in found.places] == [(r.layer, r.place) for r in lens.rows]
        for said, expected in zip(found.places, lens.rows, strict=True):
            assert said.norms[row] == pytest.approx(expected.norm, rel=1e-5)
            assert [g.p for g in said.top[row]] == pytest.approx([g.p for g in expected.top], rel=1e-3)


def test_what_came_next_is_as_likely_as_score_says() -> None:
    found = read(tiny_dump(layers=ALL))
    assert len(found.next) == 14  # nothing follows the last
    scored = score_text(tiny(), PROMPT).tokens
    by_position = {token.position: token for token in scored if token.logprob is not None}
    for position, (p, rank) in enumerate(found.next, 1):
        if position in by_position:
            assert p == pytest.approx(np.exp(by_position[position].logprob), rel=1e-3)
            assert rank == by_position[position].rank


def test_steps_that_wrote_a_text_know_what_each_chose() -> None:
    steps = tiny_decode(4)
    found = read(replace(steps, layers=(*steps.layers,)))
    assert (found.start, found.n_rows, len(found.next)) == (14, 4, 4)
    ids = [*tiny().encode(PROMPT), *(token.id for token in steps.chosen)]
    scored = {token.position: token for token in score_text(tiny(), ids).tokens}
    assert found.next[0][0] == pytest.approx(np.exp(scored[15].logprob), rel=1e-3)


def test_layers_that_were_not_traced_say_nothing() -> None:
    found = read(tiny_dump(layers=(1,)))
    assert [(said.layer, said.place) for said in found.places] == [(1, "resid_mid"), (1, "resid_post")]
    assert found.next == ()


def test_roles_are_those_of_the_census() -> None:
    census = head_census(tiny(), PROMPT)
    assert read(tiny_dump(layers=ALL)).roles == {(r.layer, r.text.head): r.role for r in census.reports if r.role}


def test_a_large_model_is_not_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_PROBED", 1)
    assert read(tiny_dump(layers=ALL)).roles is None


@pytest.mark.parametrize(("limit", "value", "rows"), [("MAX_LOGITS", 7 * 257 * 3, 3), ("MAX_ROWS", 5, 5)])
def test_of_too_many_rows_the_last_are_read(monkeypatch: pytest.MonkeyPatch, limit: str, value: int, rows: int) -> None:
    whole = read(tiny_dump(layers=ALL))
    monkeypatch.setattr(reading, limit, value)
    found = read(tiny_dump(layers=ALL))
    assert (found.start, found.n_rows) == (15 - rows, rows)
    assert [g.token for g in found.places[-1].top[-1]] == [g.token for g in whole.places[-1].top[-1]]
    np.testing.assert_allclose(found.next, whole.next[15 - rows :], rtol=1e-4)


def test_a_part_of_a_dump_has_lost_it() -> None:
    assert take_rows(with_reading(tiny(), tiny_dump(layers=ALL)), 3, 5).reading is None


def test_a_prediction_that_is_no_number_is_an_error() -> None:
    dump = dump_attention(tiny(), PROMPT, ALL)
    trace = dump.layers[2]
    broken = replace(trace, resid_post_TD=np.full_like(trace.resid_post_TD, np.nan))
    with pytest.raises(CheckpointError, match="NaN"):
        with_reading(tiny(), replace(dump, layers=(*dump.layers[:2], broken)))
