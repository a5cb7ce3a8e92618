"""Model folders changed at random, and every command run on them."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from helpers.model_folders import byte_level, sentencepiece_like, write_folder
from helpers.mutations import HOSTILE, edited, some_edits, swap_values
from helpers.random_llama import KINDS, settings
from helpers.terminal import glass
from safetensors.numpy import load_file, save_file

from robust.inside import Inside, Run
from robust.judge import faults
from robust.tally import Tally

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
COMMANDS = (
    ["info"],
    ["info", "--json"],
    ["info", "--tensors"],
    ["generate", "Once upon", "-n", "4", "--seed", "1"],
    ["generate", "Once upon", "-n", "4", "--seed", "1", "--show", "probs"],
    ["generate", "Once upon", "-n", "4", "--seed", "1", "--json", "--logprobs", "3"],
    ["dump-attn", "The cat"],
    ["dump-attn", "The cat", "--all", "--json"],
    ["dump-attn", "The cat", "--new", "2", "-o", "out.html"],
    ["dump-attn", "--heads", "The cat. The cat"],
    ["tokenize", "The cat é 🙂", "--merges"],
    ["tokenize", "The cat é 🙂", "--json", "--special"],
)


EVERY = 50  # one run in so many is also made as a process of its own


class Folder:
    """A model folder that is whole again after each try."""

    def __init__(self, path: Path, rng: Random, sharded: bool, byte_tokens: bool) -> None:
        self.path, self.rng = path, rng
        tokenizer = sentencepiece_like() if byte_tokens else byte_level()
        size = tokenizer.get_vocab_size()
        kind = rng.choice(list(KINDS.values()))
        config = settings(**{"num_hidden_layers": 2, "vocab_size": size, "max_position_embeddings": 64, **kind})
        write_folder(path, config, tokenizer=tokenizer)
        (path / "generation_config.json").write_text('{"eos_token_id": [0, 1]}')
        (path / "hf_quant_config.json").write_text('{"quantization": {"kv_cache_quant_algo": "FP8"}}')
        if sharded:
            self._split()
        self.whole = {file.name: file.read_bytes() for file in path.iterdir()}

    def restore(self) -> None:
        """Undo all changes."""
        for file in list(self.path.iterdir()):
            shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
        for name, data in self.whole.items():
            (self.path / name).write_bytes(data)

    def _split(self) -> None:
        weights = load_file(self.path / WEIGHTS)
        (self.path / WEIGHTS).unlink()
        placed = {name: f"{'ab'[i % 2]}.safetensors" for i, name in enumerate(weights)}
        for shard in ("a.safetensors", "b.safetensors"):
            save_file({n: w for n, w in weights.items() if placed[n] == shard}, self.path / shard)
        (self.path / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": placed}))


# Each changes one file of a folder, and says what it did.


def change_bytes(folder: Folder) -> str:
    """Bytes of any file."""
    name = folder.rng.choice(sorted(folder.whole))
    data = folder.whole[name]
    within = len(data) if folder.rng.random() < 0.5 else 4000
    (folder.path / name).write_bytes(edited(data, some_edits(folder.rng), within))
    return "bytes of a file"


def change_values(folder: Folder) -> str:
    """Values of a JSON file."""
    name = folder.rng.choice([name for name in sorted(folder.whole) if name.endswith(".json")])
    document = swap_values(json.loads(folder.whole[name]), folder.rng, folder.rng.randint(1, 3))
    (folder.path / name).write_text(json.dumps(document))
    return "values in a JSON file"


def change_header(folder: Folder) -> str:
    """Values in the header of a weight file."""
    name = folder.rng.choice([name for name in sorted(folder.whole) if name.endswith(".safetensors")])
    data = folder.whole[name]
    size = int.from_bytes(data[:8], "little")
    header = swap_values(json.loads(data[8 : 8 + size]), folder.rng, folder.rng.randint(1, 2))
    text = json.dumps(header).encode()
    (folder.path / name).write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    return "values in a weight header"


def change_kind(folder: Folder) -> str:
    """A file that is a link, a pipe, a folder, or a name for something else."""
    name = folder.rng.choice(sorted(folder.whole))
    path = folder.path / name
    path.unlink()
    outside = folder.path.parent / "outside"
    where = [
        outside / name,
        "/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        name,
        ".",
        "..",
        "/proc/self/environ",
        "config.json",
    ]
    what = folder.rng.randrange(4)
    if what < 2:
        path.symlink_to(folder.rng.choice(where))
    elif what == 2:
        os.mkfifo(path)
    else:
        path.mkdir()
    return "links, pipes, folders"


def change_names(folder: Folder) -> str:
    """A file with a hostile name beside the others, or in the place of one."""
    name = folder.rng.choice(HOSTILE).replace("/", "_").replace("\0", "_")[:80] + ".safetensors"
    try:
        (folder.path / name).write_bytes(b"x")
    except UnicodeEncodeError:
        (folder.path / "x\udcff.safetensors").write_bytes(b"x")
    (folder.path / folder.rng.choice(sorted(folder.whole))).unlink()
    return "files missing or renamed"


CHANGES: tuple[Callable[[Folder], str], ...] = (
    change_bytes, change_bytes, change_values, change_values, change_values, change_header, change_kind, change_names,
)  # fmt: skip


def try_files(inside: Inside, rng: Random, n: int) -> Tally:
    """`n` changed folders, a command each."""
    tally = Tally("changed model folders")
    outside = inside.folder.parent / "outside"
    folders = [
        Folder(inside.folder / f"m{i}", rng, sharded, byte_tokens)
        for i, (sharded, byte_tokens) in enumerate([(False, False), (True, False), (False, True)])
    ]
    write_folder(outside)
    for number in range(n):
        folder = rng.choice(folders)
        folder.rng = Random(f"{rng.random()} {number}")
        what = folder.rng.choice(CHANGES)(folder)
        args = [*folder.rng.choice(COMMANDS), "-m", str(folder.path)]
        if folder.rng.random() < 0.15:
            args = [
                "kv-budget",
                "--config",
                str(folder.path),
                *folder.rng.choice([[], ["--json"], ["--engine", "vllm"]]),
            ]
        run = inside.run(args, terminal=folder.rng.random() < 0.5)
        tally.count(f"{what}: {said(run)}", list(run.faults), keep(folder, run, args))
        if number % EVERY == 0:
            tally.remarks["of these tried as a process too"] += 1
            tally.found += differs(run, args)
        folder.restore()
    return tally


def differs(run: Run, args: list[str]) -> list[str]:
    """What is wrong with the same run as a process of its own."""
    done = glass(*args)
    found = faults(done.returncode, done.stdout, done.stderr, args)
    if done.returncode != run.code:
        found.append(f"exit code {done.returncode} as a process, {run.code} inside this one")
    return [f"{fault}\n      {args}" for fault in found]


def said(run: Run) -> str:
    """How a run ended."""
    return {0: "taken", 1: "refused", 2: "refused"}.get(run.code, f"exit {run.code}")


def keep(folder: Folder, run: Run, args: list[str]) -> str:
    """Leave the folder of a finding where it can be looked at; how to repeat it."""
    if not run.faults:
        return ""
    for number in range(1000):
        kept = folder.path.parent.parent / "found" / str(number)
        if not kept.exists():
            shutil.copytree(folder.path, kept, symlinks=True, ignore=_pipes)
            break
    words = [str(kept) if arg == str(folder.path) else arg for arg in args]
    return f"glass {' '.join(map(repr, words))}"


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_fifo()]
