"""The model that every engine reads: the shipped weights, in a folder that promises more positions."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli import load_config
from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.tensors import load_tensors
from glasscli.locate.shipped import shipped_folder

LONGEST = 4096  # positions; the shipped model was trained for fewer, but costs the same at each


def write_folder(folder: Path) -> Path:
    """Copy the shipped model to `folder` with `LONGEST` positions, so that a context of 2,048 can be measured."""
    shutil.copytree(shipped_folder(), folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["max_position_embeddings"] = LONGEST
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """The settings and the float32 tensors of a folder, for engines that don't read it themselves."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    return config, dict(load_tensors(open_checkpoint(folder), load_config(folder)))


def pairs_side_by_side(rows: NDArray[np.float32], n_heads: int) -> NDArray[np.float32]:
    """W_Q or W_K [n_heads · E, D] with the rows that rope turns together moved from E/2 apart to side by side."""
    return rows.reshape(n_heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)
