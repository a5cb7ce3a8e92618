"""Many runs at once: into one file, into files of their own, writing the same text. All must be equal, nothing lost."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from helpers.model_folders import write_folder
from helpers.terminal import GLASS, environment

from robust.judge import faults
from robust.tally import Tally

N = 8
PROMPT = "The cat saw the dog. The dog saw the cat. " * 3
ENDINGS = (".npz", ".safetensors", ".json", ".csv", ".svg", ".html")


def try_together(base: Path, rounds: int) -> Tally:
    """`rounds` of each kind, eight runs at a time."""
    tally = Tally("runs at the same time")
    model = ["-m", str(write_folder(base / "together-model"))]
    for number in range(rounds):
        ending = ENDINGS[number % len(ENDINGS)]
        export = ["dump-attn", PROMPT, "--layer", "1", *model, "-o"]
        folder = base / f"together-{number}"
        folder.mkdir()
        _one_file(tally, export, folder / f"one{ending}")
        _own_files(tally, export, [folder / f"own{i}{ending}" for i in range(N)])
        text = ["generate", "Once upon", "-n", "200", "--ignore-eos", "--seed", str(number), *model]
        _same_answer(tally, "the same text", text)
        _same_answer(tally, "the same budget", ["kv-budget", "-m", "llama-3.1-8b", "--json"])
    return tally


def _one_file(tally: Tally, export: Sequence[str], path: Path) -> None:
    """All write `path`, which someone reads all the while."""
    _run([[*export, str(path)]])
    whole = path.read_bytes()
    with _read_on(path) as seen:
        _count(tally, f"one file, {path.suffix}", _run([[*export, str(path)] for _ in range(N)]))
    if seen - {whole}:
        tally.found.append(f"{path.name} was not whole at some moment")
    if path.read_bytes() != whole:
        tally.found.append(f"{path.name} is not what one run writes")
    _no_others(tally, [path])


def _own_files(tally: Tally, export: Sequence[str], paths: list[Path]) -> None:
    before = set(paths[0].parent.iterdir())
    _count(tally, f"own files, {paths[0].suffix}", _run([[*export, str(path)] for path in paths]))
    if len({path.read_bytes() for path in paths if path.exists()}) != 1 or not all(path.exists() for path in paths):
        tally.found.append(f"{paths[0].suffix}: files differ or are missing")
    _no_others(tally, [*before, *paths])


def _same_answer(tally: Tally, name: str, args: Sequence[str]) -> None:
    ended = _run([args] * N)
    _count(tally, name, ended)
    if len({out for _, out, _ in ended}) != 1 or not ended[0][1]:
        tally.found.append(f"{name}: answers differ")


def _run(commands: Sequence[Sequence[str]]) -> list[tuple[int, bytes, bytes]]:
    """Start all at once; exit code, stdout and stderr of each."""
    runs = [
        subprocess.Popen([*GLASS, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        for args in commands
    ]
    ended = [run.communicate(timeout=120) for run in runs]
    return [(run.returncode, out, err) for run, (out, err) in zip(runs, ended, strict=True)]


def _count(tally: Tally, name: str, ended: Sequence[tuple[int, bytes, bytes]]) -> None:
    for code, _, err in ended:
        tally.count(name, faults(code, b"", err, [name]) + ([f"exit code {code}"] if code else []), name)


def _no_others(tally: Tally, paths: Sequence[Path]) -> None:
    others = {path.name for path in paths[0].parent.iterdir()} - {path.name for path in paths}
    if others:
        tally.found.append(f"left over: {others}")


@contextmanager
def _read_on(path: Path) -> Iterator[set[bytes]]:
    """Read `path` over and over; the different contents seen."""
    seen: set[bytes] = set()
    stop = Event()

    def read() -> None:
        while not stop.wait(0.001):
            seen.add(path.read_bytes())

    reader = Thread(target=read)
    reader.start()
    try:
        yield seen
    finally:
        stop.set()
        reader.join()
