"""Models in several files: any of them stands for the whole, and none may be missing or another's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.formula import weights
from helpers.gguf_files import LLAMA, write_gguf

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.gguf.checkpoint import GGUF
from glasscli.errors import CheckpointError


def split(tmp_path: Path, **changes: Any) -> list[Path]:
    """Three files: the first has the metadata, each has one tensor."""
    paths = []
    for i, name in enumerate(("token_embd", "blk.0.ffn_up", "output_norm")):
        metadata: dict[str, Any] = (LLAMA if i == 0 else {}) | {
            "split.no": i,
            "split.count": 3,
            "split.tensors.count": 3,
        }
        path = tmp_path / f"m-{i + 1:05}-of-00003.gguf"
        paths.append(
            write_gguf(path, metadata | changes.get(f"part{i}", {}), {f"{name}.weight": weights(name, (2, 4))})
        )
    return paths


@pytest.mark.parametrize("named", [0, 1, 2])
def test_any_part_stands_for_the_whole(named: int, tmp_path: Path) -> None:
    paths = split(tmp_path)
    checkpoint = GGUF(paths[named])
    found = {info.name: checkpoint.read(info) for info in checkpoint.tensors()}
    assert list(found) == ["model.embed_tokens.weight", "model.layers.0.mlp.up_proj.weight", "model.norm.weight"]
    np.testing.assert_array_equal(found["model.norm.weight"], weights("output_norm", (2, 4)))
    assert checkpoint.settings()["num_hidden_layers"] == 2
    assert checkpoint.files() == paths
    assert checkpoint.weights_hash() == GGUF(paths[0]).weights_hash()


def test_parts_that_are_missing_or_do_not_belong(tmp_path: Path) -> None:
    def refused(path: Path) -> str:
        with pytest.raises(CheckpointError) as found:
            GGUF(path).tensors()
        return str(found.value)

    paths = split(tmp_path)
    paths[1].unlink()
    assert "m-00002-of-00003.gguf: there is no such file; m-00001-of-00003.gguf is one of 3 parts" in refused(paths[0])
    paths = split(tmp_path, part2={"split.no": 1})
    assert "m-00003-of-00003.gguf: does not say that it is part 3 of 3" in refused(paths[0])
    paths = split(tmp_path, part1={"split.count": 2})
    assert "does not say that it is part 2 of 3" in refused(paths[0])
    paths = split(tmp_path, part0={"split.tensors.count": 9})
    assert "speaks of 9 tensors, and its 3 parts hold 3" in refused(paths[2])
    paths = split(tmp_path)
    paths[2].write_bytes(paths[1].read_bytes())
    assert "does not say that it is part 3" in refused(paths[0])
    other = paths[0].rename(tmp_path / "renamed.gguf")
    assert "is a part of 3; such files are named …-00001-of-00003.gguf" in refused(other)
    split(tmp_path)
    (tmp_path / "m-00002-of-00003.gguf").unlink()
    (tmp_path / "m-00002-of-00003.gguf").symlink_to("/etc/passwd")
    assert "link to a file outside" in refused(tmp_path / "m-00001-of-00003.gguf")


def test_a_tensor_in_two_parts(tmp_path: Path) -> None:
    paths = split(tmp_path)
    twice = {"token_embd.weight": weights("token_embd", (2, 4))}
    write_gguf(paths[1], {"split.no": 1, "split.count": 3}, twice)
    with pytest.raises(CheckpointError, match="which m-00001-of-00003"):
        GGUF(paths[0]).tensors()


def test_a_folder_of_ggufs_is_told_to_be_named_otherwise(tmp_path: Path) -> None:
    split(tmp_path)
    with pytest.raises(CheckpointError, match="holds GGUF files; name one of them, such as 'm-00001-of-00003"):
        open_checkpoint(tmp_path)
