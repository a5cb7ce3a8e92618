"""What a packed store keeps of a text is what llama.cpp keeps of it, bit for bit, rotated and not.

`make_llama_cpp_state.py` wrote down llama.cpp's own dump. Keys have their pairs side by side there as here.
"""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.one_layer import N_TOKENS, one_layer, prompt

from glasscli import Llama, ModelConfig
from glasscli.cache.choice_text import parse_choice
from glasscli.cache.packed import PackedStore

KEPT = json.loads((Path(__file__).parent / "llama_cpp_state.json").read_text())["kept"]


@pytest.mark.parametrize(("width", "spec"), [(int(width), spec) for width in KEPT for spec in KEPT[width]])
def test_packed_keys_and_values_are_llama_cpps(width: int, spec: str) -> None:
    """Where this was written one byte of 50,688 differs: sums in another order may round to the level beside it."""
    config, tensors = one_layer(width)
    model = Llama(ModelConfig.from_dict(config), tensors)
    cache = model.chosen_cache(parse_choice(spec), N_TOKENS)
    model(prompt(config), cache)
    (store,) = cache.stores
    assert isinstance(store, PackedStore)
    for name, cells in (("k", store.rows.k), ("v", store.rows.v)):
        theirs = np.frombuffer(base64.b64decode(KEPT[str(width)][spec][name]), np.uint8)
        ours = np.frombuffer(cells[0].swapaxes(0, 1).tobytes(), np.uint8)
        assert ours.shape == theirs.shape
        assert (ours != theirs).mean() < 1e-3


def test_rotation_shows_in_what_is_kept_where_the_width_allows_it() -> None:
    for spec in ("q8_0", "q4_0", "q5_1"):
        assert KEPT["32"][spec] == KEPT["32"][f"{spec},norot"]
        assert KEPT["64"][spec]["k"] != KEPT["64"][f"{spec},norot"]["k"]
        assert KEPT["64"][spec]["v"] != KEPT["64"][f"{spec},norot"]["v"]
