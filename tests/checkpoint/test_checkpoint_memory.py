"""How much memory a folder can make glass take: never two models, and a bounded multiple of any claim."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.damaged_weights import DAMAGED, MakeFolder, refused, rewrite
from helpers.model_folders import safetensors_bytes

MEMORY = """
import sys, tracemalloc
from pathlib import Path
import numpy as np
from glasscli.config.model_config import load_config
from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.tensors import load_tensors
from glasscli.errors import GlassError
folder = Path(sys.argv[1])
config = load_config(folder)
tracemalloc.start()
try:
    kept = dict(load_tensors(open_checkpoint(folder), config))
    print(sum(array.nbytes for array in kept.values()), max(array.nbytes for array in kept.values()))
except GlassError as error:
    print(0, 0)
print(tracemalloc.get_traced_memory()[1])
"""


def peak(folder: Path) -> tuple[int, int, int]:
    """Bytes of all float32 tensors, of the largest, and of the peak while they were loaded."""
    result = subprocess.run(
        [sys.executable, "-c", MEMORY, str(folder)], capture_output=True, text=True, check=True
    ).stdout.split()
    total, largest, most = map(int, result)
    return total, largest, most


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_weights_are_never_held_twice(dtype: Any, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder(hidden_size=256, intermediate_size=1024, num_hidden_layers=4, vocab_size=2000)
    rewrite(folder, lambda w: w.update({name: array.astype(dtype) for name, array in w.items()}))
    total, largest, most = peak(folder)
    assert total > 14 << 20
    assert most <= total + largest + (1 << 20)


@pytest.mark.parametrize("damage", ["10^15 elements, no room", "10^15 elements, room claimed", "absurd header"])
def test_claims_take_no_memory(damage: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    (folder / "model.safetensors").write_bytes(DAMAGED[damage][0])
    assert peak(folder)[2] < 1 << 20


@pytest.mark.parametrize("unit", ["[],", '{"":0},', '"é",', "1e9,", '["a"],'])
def test_hostile_json_takes_a_bounded_multiple_of_its_size(unit: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    header = ('{"a":[' + unit * (200_000 // len(unit)) + "0]}").encode()
    (folder / "model.safetensors").write_bytes(safetensors_bytes(header))
    assert peak(folder)[2] < 40 * len(header)


def test_a_config_that_claims_many_layers_takes_no_memory(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    text = (folder / "config.json").read_text().replace('"num_hidden_layers": 3', '"num_hidden_layers": 100000')
    (folder / "config.json").write_text(text)
    assert "lack model.layers.3.input_layernorm.weight" in refused(folder)
    assert peak(folder)[2] < 1 << 20
