"""`glass dump-attn -o page.html`: which layers it holds, and what of a model that is damaged."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
from helpers.dump_cases import PROMPT, tiny_folder
from helpers.in_process import dump_attn, glass
from safetensors.numpy import load_file, save_file


def test_a_page_is_of_all_layers_unless_one_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    for asked, layers in (
        ((), [0, 1, 2]),
        (("--layer", "2"), [2]),
        (("--all",), [0, 1, 2]),
        (("--new", "3"), [0, 1, 2]),
    ):
        assert dump_attn(PROMPT, *asked, "-o", str(path)).code == 0
        (data,) = re.findall(r'id="data">(.*?)</script>', path.read_text())
        document = json.loads(data)
        assert [layer["layer"] for layer in document["layers"]] == layers
        assert document["reading"]["places"][-1]["layer"] == layers[-1]
    assert [len(document["chosen"]), document["queries"], len(document["reading"]["next"])] == [3, 3, 3]


def test_a_page_of_a_sound_layer_of_a_damaged_model_holds_its_attention(tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_folder(), tmp_path / "damaged")
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][:] = np.nan
    save_file(weights, folder / "model.safetensors")
    ran = glass("dump-attn", "-m", str(folder), PROMPT, "-o", str(tmp_path / "page.html"))
    assert ran.code == 0
    assert "the page holds attention only: the model's logits hold NaN or infinity" in ran.err
    assert '"reading":null' in (tmp_path / "page.html").read_text()
