"""What the page's script is given: stages, spans, pooling, and the head it opens on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny, tiny_decode, tiny_dump, write_folder

from glasscli.checkpoint.load import load_model
from glasscli.export import page_data as module
from glasscli.export.page_data import page_data, pool_factor, strongest_head
from glasscli.inspect.dump import Dump, dump_attention
from glasscli.inspect.reading import with_reading

ALL = (0, 1, 2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 8)


def head(data: dict[str, Any], layer: int = 0, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = data["layers"][layer]["heads"][number]
    return found


def with_pattern(dump: Dump, layer: int, number: int, pattern_TS: Any) -> Dump:
    """The dump with one head's pattern changed."""
    trace = dump.layers[layer]
    changed = trace.pattern_HTS.copy()
    changed[number] = pattern_TS
    layers = list(dump.layers)
    layers[layer] = replace(trace, pattern_HTS=changed)
    return replace(dump, layers=tuple(layers))


def test_raw_scores_are_there_for_keys_that_the_mask_hides() -> None:
    dump = tiny_dump(layers=ALL)
    found = head(page_data(dump), 2, 1)
    np.testing.assert_allclose(found["scores"], dump.layers[2].scores_HTS[1], rtol=1e-4)
    assert [len(row) for row in found["softmax"]] == list(range(1, 16))
    assert "masked" not in found  # a part of the raw scores


def test_a_decode_step_has_no_scores_of_keys_that_were_not_there_yet() -> None:
    found = head(page_data(tiny_decode(4)))
    assert [row.count(None) for row in found["scores"]] == [3, 2, 1, 0]
    json.dumps(found, allow_nan=False)


def test_a_window_s_rows_begin_where_it_begins(tmp_path: Path) -> None:
    changes = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 4}
    loaded = load_model(write_folder(tmp_path / "window", **changes))
    dump = dump_attention(loaded, PROMPT, ALL)
    data = page_data(dump)
    assert data["layers"][0]["seen"][9] == (6, 10)
    np.testing.assert_allclose(head(data)["softmax"][9], dump.layers[0].pattern_HTS[0, 9, 6:10], rtol=1e-4)


def test_long_maps_are_pooled_by_maximum(small: None) -> None:
    dump = tiny_dump()
    data = page_data(dump)
    assert data["pool"] == pool_factor(dump) == 2
    pattern, scores = dump.layers[0].pattern_HTS[0], dump.layers[0].scores_HTS[0]
    assert len(head(data)["softmax"]) == 8
    assert head(data)["softmax"][3][1] == pytest.approx(float(pattern[6:8, 2:4].max()), rel=1e-4)
    # On the diagonal the raw block holds a key that its first query may not look at, the masked one does not.
    assert head(data)["scores"][3][3] == pytest.approx(float(scores[6:8, 6:8].max()), rel=1e-4)
    seen = max(scores[6, 6], scores[7, 6], scores[7, 7])
    assert head(data)["masked"][3][3] == pytest.approx(float(seen), rel=1e-4)


def test_a_page_holds_no_more_numbers_than_it_may() -> None:
    dump = tiny_dump(layers=ALL)
    data = page_data(dump, max_numbers=500)
    maps = [each[stage] for one in data["layers"] for each in one["heads"] for stage in ("scores", "masked", "softmax")]
    assert sum(len(row) for rows in maps for row in rows) <= 500
    assert data["pool"] > 1


def test_it_opens_on_the_head_that_is_farthest_from_chance() -> None:
    previous = np.eye(15, k=-1, dtype=np.float32)
    previous[0, 0] = 1
    dump = with_pattern(tiny_dump(layers=ALL), 1, 2, previous)
    assert strongest_head(dump) == (1, 2)
    assert page_data(dump)["opens"] == (1, 2)


def test_a_head_that_rests_on_the_first_token_is_not_strong() -> None:
    sink = np.zeros((16, 16), np.float32)
    sink[:, 0] = 1
    plain = tiny_dump(prompt=f"|{PROMPT}", layers=ALL)  # the first token comes once
    opens = strongest_head(plain)
    other = (0, 3) if opens != (0, 3) else (0, 2)
    assert strongest_head(with_pattern(plain, *other, sink)) == opens


def test_one_row_that_tells_nothing_opens_on_the_first() -> None:
    assert strongest_head(dump_attention(tiny(), "a", ALL)) == (0, 0)


def test_a_reading_is_told_in_labels_and_shares() -> None:
    dump = with_reading(tiny(), tiny_dump(layers=ALL))
    assert dump.reading is not None
    data = page_data(dump)["reading"]
    last = data["places"][-1]["top"][14]
    expected = dump.reading.places[-1].top[14]
    assert [data["labels"][i] for i in last[::2]] == [guess.token.label for guess in expected]
    assert last[1::2] == pytest.approx([guess.p for guess in expected], rel=1e-3)
    assert page_data(tiny_dump(layers=ALL))["reading"] is None


def test_roles_come_from_the_probes_if_there_are_any_and_else_from_the_text() -> None:
    dump = tiny_dump(layers=ALL)
    previous = np.eye(15, k=-1, dtype=np.float32)
    previous[0, 0] = 1
    assert head(page_data(with_pattern(dump, 1, 2, previous)), 1, 2)["role"] == "previous"
    read = with_reading(tiny(), dump)
    assert read.reading is not None
    read = replace(read, reading=replace(read.reading, roles={(0, 1): "induction"}))
    assert [one["role"] for one in page_data(read)["layers"][0]["heads"]] == [None, "induction", None, None]
