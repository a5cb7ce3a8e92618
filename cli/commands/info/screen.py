"""What a model folder holds, as a page."""

import re
from collections.abc import Sequence
from pathlib import Path

from glasscli.checkpoint.facts import Facts, TokenizerFacts
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.config.model_config import ModelConfig
from glasscli.locate.hub_cache import repo_of
from glasscli.locate.shipped import SHIPPED, shipped_folder
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.units import format_bytes

LAYER = re.compile(r"^(.*?\.)(\d+)(\..*)$")
N_SHOWN = 6  # tokens of a kind to name; the JSON has all


def folder_screen(page: Page, facts: Facts, every: bool, quiet: bool = False) -> list[Line]:
    """The whole page; no line is wider than the terminal."""
    dtypes = "+".join(sorted({info.dtype for info in facts.tensors}))
    facts_of_all = [f"{facts.n_parameters:,} parameters", f"{dtypes}, {format_bytes(facts.stored_bytes)}"]
    title = page.say(called(facts.folder), "bold")
    title += page.flow("", [*facts_of_all, facts.config.architecture.class_name], gap=3)
    sections = [page.flow(f"{label:<11}", pieces, gap=3) for label, pieces in _sections(facts)]
    tries = ["--tensors (layer by layer)", "--json (exact)"]
    hint = page.flow("try  ", tries, style="dim", gap=3) if page.terminal and not quiet else []
    lines = [line for section in sections for line in section]
    return spaced(title, lines, _parts(page, facts), tensor_table(page, facts.tensors, every), hint)


def called(path: Path) -> str:
    """What a model is called, and where it lies."""
    if path == shipped_folder():
        return f"{SHIPPED}, the model that comes with glass"
    repo = repo_of(path)
    return f"{repo}, {path}" if repo else str(path)


def _sections(facts: Facts) -> list[tuple[str, list[str]]]:
    config, per_token = facts.config, facts.cache_bytes_per_token
    cache = [
        f"{format_bytes(per_token)} a token (f32)",
        f"= 2 × {config.n_layers} layers × {config.n_kv_heads} KV heads × {config.head_dim} × 4 B",
        f"{format_bytes(facts.cache_context_bytes)} at {config.max_seq_len:,} tokens",
    ]
    windows = [spec.size for spec in config.specs if isinstance(spec, SlidingAttention)]
    if windows:
        sizes = " and ".join(f"{size:,}" for size in sorted(set(windows)))
        cache.append(f"{len(windows):,} layers keep the last {sizes} tokens")
    return [
        ("layers", _layers(config)),
        ("rotary", _rotary(config)),
        ("head", ["the embedding, tied" if facts.tied else "a matrix of its own"]),
        ("tokenizer", tokenizer_words(facts.tokenizer, facts.config.eos_ids)),
        ("KV cache", cache),
        ("files", [f"{name} {format_bytes(n_bytes)}" for name, n_bytes in facts.files]),
    ]


def _layers(config: ModelConfig) -> list[str]:
    share = "each its own" if config.group_size == 1 else f"{config.group_size} share one"
    attention = "attention" if config.out_bias else "q, k and v"
    biases = [name for name, on in ((attention, config.qkv_bias), ("MLP", config.mlp_bias)) if on]
    return [
        f"{config.n_layers:,} layers",
        f"width {config.dim:,}",
        f"{config.n_heads} query heads → {config.n_kv_heads} KV ({share}) of {config.head_dim}",
        f"MLP {config.ffn_dim:,}",
        f"norm eps {config.norm_eps:g}",
        f"biases in {' and '.join(biases)}" if biases else "no biases",
    ]


def _rotary(config: ModelConfig) -> list[str]:
    rope, kinds = config.rope, set(config.ropes)
    if kinds == {None}:
        return ["none: positions have embeddings", f"context {config.max_seq_len:,}"]
    pieces = [rope.kind, f"theta {rope.theta:,g}", f"context {config.max_seq_len:,}"]
    if rope.kind != "default":
        pieces.insert(1, f"factor {rope.factor:g}")
    if rope.partial != 1:
        pieces.append(f"{config.rotary_dim} of {config.head_dim} numbers of a head")
    pieces += [f"theta {other.theta:,g} in layers with a window" for other in kinds if other not in (None, rope)]
    if None in kinds:
        n_without = sum(other is None for other in config.ropes)
        pieces.append(f"none in {n_without:,} layer{'s' * (n_without > 1)}")
    if rope.kind == "llama3":
        pieces.append(
            f"trained at {rope.original_max_seq_len:,}, frequencies {rope.low_freq_factor:g}–{rope.high_freq_factor:g}"
        )
    return pieces


def tokenizer_words(found: TokenizerFacts | None, eos_ids: Sequence[int]) -> list[str]:
    """What a tokenizer does, and where a text ends."""
    if found is None:
        return ["can't be read"]
    names = dict(found.special)
    pieces = [found.kind, f"{found.vocab_size:,} tokens"]
    if found.special:
        pieces.append(f"special: {_some([f'{_short(name)} ({token_id})' for token_id, name in found.special])}")
    added = [_short(names.get(token_id, str(token_id))) for token_id in found.added_in_front]
    pieces.append(f"every text gets {_some(added)}" if added else "nothing is added to a text")
    stops = [str(token_id) for token_id in eos_ids]
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


def _parts(page: Page, facts: Facts) -> list[Line]:
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
    if table := page.table(heads, rows, left=[0], sections=[len(rows) - 2]):
        return table
    widest = len(rows[-1][1])
    stacked = [page.flow(f"{row[0]:<9}  ", [f"{row[1]:>{widest}}", *row[2:]]) for row in [heads, *rows]]
    return [line for lines in stacked for line in lines]


def tensor_table(page: Page, tensors: Sequence[TensorInfo], every: bool) -> list[Line]:
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
    if table := page.table(heads, rows, left=[0]):
        return table
    lines = page.flow("", heads, style="dim")
    for row in rows:
        lines += [*page.flow("", [row[0]]), *page.flow("    ", row[1:])]
    return lines
