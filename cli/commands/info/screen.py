"""What a model folder holds, as a page."""

import re
from collections.abc import Sequence

from glasscli.checkpoint.facts import Facts
from glasscli.checkpoint.load import SHIPPED, shipped_folder
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.cli.console import Color, is_terminal, note
from glasscli.cli.page.screen import Screen
from glasscli.config.model_config import ModelConfig
from glasscli.units import format_bytes

LAYER = re.compile(r"^(model\.layers\.)(\d+)(\..*)$")
N_SHOWN = 6  # tokens of a kind to name; the JSON has all


def show(facts: Facts, every: bool, color: Color = Color.auto, quiet: bool = False) -> None:
    """Write the page to stdout and notes to stderr; no line is wider than the terminal."""
    screen = Screen(color)
    dtypes = "+".join(sorted({info.dtype for info in facts.tensors}))
    title = [f"{facts.n_parameters:,} parameters", f"{dtypes}, {format_bytes(facts.stored_bytes)}", "LlamaForCausalLM"]
    shipped = facts.folder == shipped_folder()
    screen.say(f"{SHIPPED}, the model that comes with glass" if shipped else screen.plain(str(facts.folder)), "bold")
    screen.flow("", title, gap=3)
    screen.blank()
    for label, pieces in _sections(facts):
        screen.flow(f"{label:<11}", pieces, gap=3)
    screen.blank()
    _parts(screen, facts)
    screen.blank()
    _tensors(screen, facts.tensors, every)
    if not quiet and is_terminal():
        screen.blank()
        screen.flow("try  ", ["--tensors (layer by layer)", "--json (exact)"], style="dim", gap=3)
    screen.show()
    if not quiet:
        for text in facts.notes:
            note(text)


def _sections(facts: Facts) -> list[tuple[str, list[str]]]:
    config, per_token = facts.config, facts.cache_bytes_per_token
    cache = [
        f"{format_bytes(per_token)} a token",
        f"= 2 × {config.n_layers} layers × {config.n_kv_heads} KV heads × {config.head_dim} × 4 B (float32)",
        f"{format_bytes(per_token * config.max_seq_len)} at {config.max_seq_len:,} tokens",
    ]
    return [
        ("layers", _layers(config)),
        ("rotary", _rotary(config)),
        ("head", ["the embedding, tied" if facts.tied else "a matrix of its own"]),
        ("tokenizer", _tokenizer(facts)),
        ("KV cache", cache),
        ("files", [f"{name} {format_bytes(n_bytes)}" for name, n_bytes in facts.files]),
    ]


def _layers(config: ModelConfig) -> list[str]:
    share = "each its own" if config.group_size == 1 else f"{config.group_size} share one"
    biases = [name for name, on in (("attention", config.attention_bias), ("MLP", config.mlp_bias)) if on]
    return [
        f"{config.n_layers:,} layers",
        f"width {config.dim:,}",
        f"{config.n_heads} query heads → {config.n_kv_heads} KV ({share}) of {config.head_dim}",
        f"MLP {config.ffn_dim:,}",
        f"norm eps {config.norm_eps:g}",
        f"biases in {' and '.join(biases)}" if biases else "no biases",
    ]


def _rotary(config: ModelConfig) -> list[str]:
    rope = config.rope
    pieces = [rope.kind, f"theta {rope.theta:,g}", f"context {config.max_seq_len:,}"]
    if rope.kind != "default":
        pieces.insert(1, f"factor {rope.factor:g}")
    if rope.kind == "llama3":
        pieces.append(
            f"trained at {rope.original_max_seq_len:,}, frequencies {rope.low_freq_factor:g}–{rope.high_freq_factor:g}"
        )
    return pieces


def _tokenizer(facts: Facts) -> list[str]:
    found = facts.tokenizer
    if found is None:
        return ["can't be read"]
    names = dict(found.special)
    pieces = [found.kind, f"{found.vocab_size:,} tokens"]
    if found.special:
        pieces.append(f"special: {_some([f'{_short(name)} ({token_id})' for token_id, name in found.special])}")
    added = [_short(names.get(token_id, str(token_id))) for token_id in found.added_in_front]
    pieces.append(f"every text gets {_some(added)}" if added else "nothing is added to a text")
    stops = [str(token_id) for token_id in facts.config.eos_ids]
    pieces.append(f"a text ends at id {_some(stops)}" if stops else "no id ends a text")
    if found.unused_ids:
        pieces.append(f"{len(found.unused_ids):,} rows of the embedding are no token")
    return pieces


def _short(name: str) -> str:
    """A name that a stranger may have made very long."""
    return name if len(name) <= 40 else f"{name[:39]}…"


def _some(names: list[str]) -> str:
    """The first of many."""
    more = len(names) - N_SHOWN
    return ", ".join(names[:N_SHOWN]) + (f", … +{more:,}" if more > 0 else "")


def _parts(screen: Screen, facts: Facts) -> None:
    total = facts.n_parameters
    rows = [
        [
            part.name,
            f"{part.n_parameters:,}",
            f"{100 * part.n_parameters / total:.1f} %",
            format_bytes(part.stored_bytes),
        ]
        for part in facts.parts
    ]
    rows.append(["total", f"{total:,}", "100.0 %", format_bytes(facts.stored_bytes)])
    heads = ["part", "parameters", "share", "stored"]
    if not screen.table(heads, rows, left=[0], sections=[len(rows) - 2]):
        for row in [heads, *rows]:
            screen.flow(f"{row[0]:<9}  ", [f"{row[1]:>{len(rows[-1][1])}}", *row[2:]])


def _tensors(screen: Screen, tensors: Sequence[TensorInfo], every: bool) -> None:
    """A row a tensor, those that are alike in many layers in one row."""
    groups: dict[tuple[str, str, tuple[int, ...]], list[TensorInfo]] = {}
    for info in tensors:
        name = info.name if every else LAYER.sub(r"\1*\3", info.name)
        groups.setdefault((name, info.dtype, info.shape), []).append(info)
    rows = [
        [name, f"{len(alike):,}", dtype, "×".join(map(str, shape)), format_bytes(sum(info.n_bytes for info in alike))]
        for (name, dtype, shape), alike in groups.items()
    ]
    heads = ["tensor", "n", "dtype", "shape", "stored"]
    if every:
        heads, rows = [heads[0], *heads[2:]], [[row[0], *row[2:]] for row in rows]
    if not screen.table(heads, rows, left=[0]):
        screen.flow("", heads, style="dim")
        for row in rows:
            screen.flow("", [row[0]])
            screen.flow("    ", row[1:])
