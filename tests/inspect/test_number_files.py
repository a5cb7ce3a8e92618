"""Numbers that somebody brings: typed, and from files of four kinds, whole and damaged."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.inspect.number_files import MOST, names_in, read_numbers

ROWS = np.array([[1.5, -2.0, 0.0], [1e-3, 4.0, 5.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 0; 1 1; 0 1", [[1, 0], [1, 1], [0, 1]]),
        ("1,0;1,1", [[1, 0], [1, 1]]),
        ("1, 0; .5, −.4;", [[1, 0], [0.5, -0.4]]),
        ("1e-3 2E2", [[0.001, 200]]),
        ("7", [[7]]),
        ("1 2; 3 4 | 5 6; 7 8", [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
        ("1 -inf; -∞ 2", [[1, -np.inf], [-np.inf, 2]]),
    ],
)
def test_typed(text: str, expected: object) -> None:
    np.testing.assert_array_equal(read_numbers(text), np.array(expected, float))


@pytest.mark.parametrize("array", [ROWS, ROWS[None].repeat(2, 0), np.asfortranarray(ROWS), ROWS.astype(np.float16)])
def test_files_give_back_what_was_written(tmp_path: Path, array: Array) -> None:
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "one.npz", q=array)
    np.savez_compressed(tmp_path / "two.npz", q=array, k=array + 1)
    (tmp_path / "a.json").write_text(json.dumps(array.tolist()))
    (tmp_path / "two.json").write_text(json.dumps({"q": array.tolist(), "note": "hello"}))
    for name in ("a.npy", "one.npz", "two.npz:q", "a.json", "two.json:q"):
        found = read_numbers(str(tmp_path / name))
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, array.astype(np.float64))
    np.testing.assert_array_equal(read_numbers(f"{tmp_path}/two.npz:k"), (array + 1).astype(float))
    assert names_in(str(tmp_path / "two.npz")) == ["q", "k"]
    assert names_in(str(tmp_path / "two.json")) == ["q", "note"]
    assert names_in(str(tmp_path / "a.json")) == []


def test_csv_and_null(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1.5,-2, 0\n\n1e-3,4,5\n")
    np.testing.assert_array_equal(read_numbers(str(tmp_path / "a.csv")), ROWS)
    (tmp_path / "a.json").write_text("[[1, null], [2, 3]]")
    np.testing.assert_array_equal(read_numbers(str(tmp_path / "a.json")), [[1, -np.inf], [2, 3]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2; 3", "the numbers: row 2 has 1 number, row 1 has 2 numbers"),
        ("1 2; 3 4 | 5 6", "row 2 has 1 × 2, row 1 has 2 × 2"),
        ("1 2;; 3 4", "row 2 has 0 numbers"),
        ("1 2e", "'2e' is no number"),
        ("hello", "'hello' is neither rows of numbers such as '1 0; 0 1' nor a file"),
        ("nowhere.npy", r"nowhere.npy: can't be read \(No such file"),
        ("nowhere.npz:q", r"nowhere.npz: can't be read \(No such file"),
        ("a.txt", "neither rows of numbers"),
        ("", "neither rows of numbers"),
    ],
)
def test_what_is_no_array_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_numbers(text)


def header(shape: tuple[int, ...]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.npy", b"", "is no whole .npy array"),
        ("a.npy", header((2, 2)) + b"\0" * 31, "is no whole .npy array"),
        ("a.npy", header((10**6, 10**6)), "1,000,000,000,000 numbers; at most 1,000,000 are read"),
        ("a.npy", header((-1, 2)) + b"\0" * 32, "is no whole .npy array"),
        ("a.npy", header((2, 2)).replace(b"{", b"\x84"), "is no whole .npy array"),
        ("a.npz", b"PK\x03\x04 nothing", "can't be read"),
        ("a.json", b"[[1, 2], [3]]", "row 2 has 1 number, row 1 has 2 numbers"),
        ("a.json", b"[[1, true]]", "True is no number"),
        ("a.json", b'[["1"]]', "'1' is no number"),
        ("a.json", b"[[1" + b"0" * 400 + b"]]", "a number is too large"),
        ("a.json", b"[" * 100_000, "is no JSON"),
        ("a.json", b'{"k": [[1]]}', "several arrays: say which. There are: k"),
        ("a.json", b"\xff", "is not UTF-8 at byte 0"),
        ("a.csv", b"1,2\n3,x\n", "line 2: 'x' is no number"),
        ("a.csv", b"0\n" * (MOST + 1), "1,000,001 numbers; at most 1,000,000 are read"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=message):
        read_numbers(str(tmp_path / name))


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", q=np.array(["text"]))
    with pytest.raises(UsageError, match="numbers of the type object"):
        read_numbers(str(tmp_path / "a.npy"))
    with pytest.raises(UsageError, match="numbers of the type <U4"):
        read_numbers(str(tmp_path / "a.npz"))
    np.savez(tmp_path / "two.npz", q=ROWS, k=ROWS)
    with pytest.raises(UsageError, match=r"several arrays: say which\. There are: q, k"):
        read_numbers(str(tmp_path / "two.npz"))
    with pytest.raises(UsageError, match=r"no array 'v'\. There are: q, k"):
        read_numbers(f"{tmp_path / 'two.npz'}:v")


def test_a_damaged_archive(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", q=np.random.default_rng(0).normal(size=(40, 40)))
    whole = (tmp_path / "a.npz").read_bytes()
    for at in range(0, len(whole), 997):
        (tmp_path / "b.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            read_numbers(str(tmp_path / "b.npz"))
        except UsageError:
            continue
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("q.txt", "1 2")
    with pytest.raises(UsageError):
        read_numbers(str(tmp_path / "c.npz"))
