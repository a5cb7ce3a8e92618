"""Where a file goes: never half a file, nothing else in its place, nothing left beside it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from helpers.dump_cases import tiny_dump, tiny_folder

from glasscli.errors import OutputError, UsageError
from glasscli.export import check_export, export_dump

REFUSED = {
    "a.txt": (UsageError, r"ends in \.txt. Endings: \.npz \.safetensors \.json \.csv \.svg \.html"),
    "a": (UsageError, "has no ending"),
    "missing/a.npz": (OutputError, "there is no folder"),
    "folder.npz": (OutputError, "is a folder"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_could_not_be_written_are_refused_first(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.npz").mkdir()
    kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        check_export(tmp_path / name)


def test_an_existing_file_is_replaced_only_by_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    path.write_text("before")

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OutputError, match=r"a\.npz: No space left on device"):
        export_dump(tiny_dump(), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    export_dump(tiny_dump(), path)
    assert np.load(path)["L1.q"].shape == (4, 15, 8)


def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real" / "a.json")
    export_dump(tiny_dump(), link, steps=("mask",))
    assert link.is_symlink()
    assert (tmp_path / "real" / "a.json").is_file()


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    # Root may write there all the same; nobody may make a file in /proc.
    folder = Path("/proc") if os.geteuid() == 0 else tmp_path
    with pytest.raises(OutputError, match="can't be written"):
        check_export(folder / "a.npz")


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(OutputError, match="a pipe or a device"):
        check_export(tmp_path / "a.npz")


def test_names_as_long_as_a_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 125 + ".json")  # 255 bytes
    export_dump(tiny_dump(), path, steps=("mask",))
    assert list(tmp_path.iterdir()) == [path]


def test_killed_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_text("before")
    # The writer stops when the new file is begun, and waits to be killed.
    script = (
        "import sys, time, numpy; from pathlib import Path; from glasscli.checkpoint.load import load_model\n"
        "from glasscli.inspect.dump import dump_attention; from glasscli.export import export_dump\n"
        "def stop(file, **arrays):\n    file.write(b'half'); file.flush(); print('begun', flush=True); time.sleep(60)\n"
        "numpy.savez = stop\n"
        "export_dump(dump_attention(load_model(sys.argv[1]), 'abc', [0]), Path(sys.argv[2]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tiny_folder()), str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert path.read_text() == "before"
