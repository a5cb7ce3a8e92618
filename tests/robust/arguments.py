"""Command lines made at random from the options that each command really has, with values that nobody tested."""

from pathlib import Path
from random import Random
from typing import Any

from helpers.model_folders import write_folder
from helpers.random_llama import settings

from glasscli.cli.app import parser
from glasscli.cli.commands import COMMANDS
from robust.inside import Inside
from robust.tally import Tally

INTERRUPT_S = 1.5  # a text without end is ended like this

WORDS = (
    "", " ", "-", "--", "0", "1", "2", "-1", "3,1", "1:2", ":", "last", "1e3", "nan", "inf", "-inf",
    "1e-320", "1e400", "0x10", "1_000", "8k", "128K", "1.5k", "24GiB", "3TB/s", str(2**31), str(2**63),
    str(2**64), "1" + "0" * 40, "9" * 5000, "-" + "9" * 5000, "²", "١٢", "\u202e1", "\x1b[31mred",
    "\x1b]52;c;AAAA\x07", "a\nb", "\r", "\x7f", "\x9b31m", "\udcff", "caf\udce9", "\udced\udca0\udcbd",
    "é" * 2000, "🙂", "日本", "x" * 300, "a" * 5000, ".", "..", "/", "~", "%s", "{}", "$(id)", "`id`", "; ls",
    "=", "=1", "a=b", "block_size=0", "block_size=17", "n_ubatch=-1", "kv_unified=maybe", "llama-3.1-8b",
    "llama-3.1-8b,gemma-3-27b", "deepseek-v3", "f16", "q8_0", "fp8", "vllm", "q,softmax", "jacobian",
    "k=q8_0,v=q4_0", "sinks=4+window=8", "h2o=8,kv-heads=1",
    "<|endoftext|>", "Once upon a time", "The cat saw the dog. The cat",
)  # fmt: skip
PLACES = (
    "out.npz", "out.csv", "out.svg", "out.html", "out.json", "out.safetensors", "none/out.npz", "folder", "folder.npz",
    "/dev/full", "/dev/null", "/proc/out.npz", "pipe", "loop.npz", "link.npz", "out", ".npz", "\udcff.npz", "a\nb.npz",
    "\x1b[31m.npz", "x" * 300 + ".npz", "é" * 120 + ".csv", "model/config.json", "config.json", "prompts.txt", "binary",
    "model", "/dev/stdin", "/", "", "secret",
)  # fmt: skip


def options_of(name: str) -> list[Any]:
    """The parameters of a command, as its parser knows them."""
    return list(parser(name).params)


def try_arguments(inside: Inside, rng: Random, n: int) -> Tally:
    """`n` command lines."""
    tally = Tally("odd command lines")
    options = {name: options_of(name) for name in COMMANDS}
    _write_places(inside.folder)
    for _ in range(n):
        args = some_arguments(options, rng)
        env = dict(rng.sample(sorted(ODD_ENVIRONMENT.items()), k=rng.choice((0, 0, 0, 1, 2))))
        env = {variable: rng.choice(values) for variable, values in env.items()}
        env.setdefault("GLASS_MODEL", str(inside.folder / "model"))
        stdin = rng.choice((b"", b"Once upon", b"\xff\xfe", b"\n" * 50, b'{"model_type": "llama"}'))
        named = {"reads": [Path("/")], "writes": [Path("/proc")]}  # by the command line, so glass may try
        run = inside.run(args, **named, stdin=stdin, terminal=rng.random() < 0.4, interrupt_s=INTERRUPT_S, env=env)
        where = " ".join(f"{key}={value!r}" for key, value in env.items() if key != "GLASS_MODEL")
        tally.count(f"exit code {run.code}", list(run.faults), f"{where} glass {' '.join(map(repr, args))}"[:600])
    return tally


ODD_ENVIRONMENT = {
    "COLUMNS": ("0", "-1", "1", "20", "39", "1" + "0" * 9, "²", "x", ""),
    "GLASS_MODEL": ("", "none", "/dev/null", "/", "\x1b[31m", "x" * 300, "folder", "model/config.json"),
    "TERM": ("", "dumb", "x" * 300, "\x1b[31m"),
    "FORCE_COLOR": ("", "0", "1"),
    "COLORTERM": ("truecolor", "\x1b"),
    "PYTHONIOENCODING": ("ascii", "utf-16", "latin-1:strict", "nonsense"),
}


def some_arguments(options: dict[str, list[Any]], rng: Random) -> list[str]:
    """One command line."""
    if rng.random() < 0.03:
        return [rng.choice(WORDS) for _ in range(rng.randrange(3))]
    name = rng.choice(list(options))
    args = [name]
    for option in rng.sample(options[name], k=min(len(options[name]), rng.choice((0, 1, 1, 2, 2, 3, 4)))):
        args += _given(option, rng)
    if name == "kv-budget" and rng.random() < 0.6:
        args += rng.choice((["--hq", "8"], ["-m", "llama-3.1-8b"], ["--config", "config.json"], ["--config", "-"]))
    if name in ("generate", "dump-attn", "tokenize", "score", "lens") and rng.random() < 0.5:
        args.append(rng.choice(WORDS))
    if name == "kv-quality" and rng.random() < 0.8:
        args += ["--chunks", "1", "--ctx", "16"]
    if name == "generate" and rng.random() < 0.7:
        args += ["-n", "5"]
    return args


def _given(option: Any, rng: Random) -> list[str]:
    """An option (or an argument) with a value, mostly of the kind it takes."""
    flags = [*option.opts, *option.secondary_opts]
    if option.param_type_name == "argument":
        return [rng.choice(WORDS)]
    flag = rng.choice(flags)
    if option.is_flag:
        return [flag]
    kind = option.type
    choices = [str(getattr(choice, "value", choice)) for choice in getattr(kind, "choices", None) or ()]
    if "|" in (option.metavar or ""):  # one that parses its words itself: `<vllm|llama.cpp>`
        choices = option.metavar.strip("<>").split("|")
    if choices and rng.random() < 0.4:
        return [flag, rng.choice(choices)]
    if kind.name in ("path", "file") or {"--prompts", "--config", "--text"} & {*flags}:
        return [flag, rng.choice(PLACES if rng.random() < 0.9 else WORDS)]
    value = rng.choice(WORDS if rng.random() < 0.8 else PLACES)
    return [f"{flag}={value}"] if flag.startswith("--") and rng.random() < 0.3 else [flag, value]


def _write_places(folder: Path) -> None:
    """What `PLACES` names."""
    write_folder(folder / "model", settings(vocab_size=320, max_position_embeddings=64, num_hidden_layers=2))
    (folder / "folder.npz").mkdir()
    (folder / "folder").mkdir()
    (folder / "loop.npz").symlink_to("loop.npz")
    (folder / "link.npz").symlink_to("folder/linked.npz")
    (folder / "secret").symlink_to(folder.parent / "outside" / "config.json")
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}')
    (folder / "prompts.txt").write_text("Once\n\nThe cat\n")
    (folder / "binary").write_bytes(bytes(range(256)))
