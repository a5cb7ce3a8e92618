"""What `glass compare` finds, for machines."""

from typing import Any

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.compare.found import Found
from glasscli.cli.commands.generate.json_view import model_fields
from glasscli.cli.guesses import guess_fields, token_fields
from glasscli.inspect.patching import Patching

COLUMNS = ("measure", "part", "position", "value")


def document(loaded: LoadedModel, found: Found) -> dict[str, Any]:
    """Everything. `kl_bits` has a number a position; of prompts of different lengths, of the ends they share."""
    compared, moved, patched = found.compared, found.moved, found.patched
    return {
        "schema": "glass.compare/1",
        "model": model_fields(loaded),
        "a": {"text": found.texts[0], "tokens": [token_fields(each) for each in compared.a]},
        "b": {"text": found.texts[1], "tokens": [token_fields(each) for each in compared.b]},
        "n_first_shared": compared.n_first,
        "n_last_shared": compared.n_last,
        "next": {
            "kl_bits": compared.last_kl_bits,
            "a": [guess_fields(each) for each in compared.top_a],
            "b": [guess_fields(each) for each in compared.top_b],
        },
        "kl_bits": list(compared.kl_bits),
        "heads": [
            {
                "head": head.part.label,
                "mean": head.mean,
                "last": head.last,
                "by_position": list(head.by_position),
            }
            for head in compared.heads
        ],
        "stream": moved
        and {
            "changed_tokens": list(moved.changed),
            "behind_layers": [list(row) for row in moved.whole],
            "behind_layers_without_attention": [list(row) for row in moved.without_attention],
        },
        "patches": patched and _patches(patched),
    }


def _patches(patched: Patching) -> dict[str, Any]:
    return {
        "watched_in_a": guess_fields(patched.in_a),
        "watched_in_b": guess_fields(patched.in_b),
        "kl_bits": patched.kl_bits,
        "patches": [
            {"part": p.label, "logprob": p.watched.logprob, "kl_bits": p.kl_bits, "healed": p.healed}
            for p in patched.patches
        ],
    }


def rows(found: Found) -> list[dict[str, object]]:
    """A row a number. A position is empty where a number is about none."""
    compared, moved, patched = found.compared, found.moved, found.patched
    table: list[dict[str, object]] = []

    def add(measure: str, part: str, position: int | None, value: float | None) -> None:
        table.append({"measure": measure, "part": part, "position": position, "value": value})

    gap = 0 if compared.same_length else len(compared.a) - len(compared.kl_bits)
    for at, bits in enumerate(compared.kl_bits):
        add("kl_bits", "", at if at < compared.n_first else at + gap, bits)
    for head in compared.heads:
        for at, change in enumerate(head.by_position):
            add("head_change", head.part.label, at, change)
    if moved is not None:
        for name, by_layer in (("stream", moved.whole), ("stream_without_attention", moved.without_attention)):
            for layer, row in enumerate(by_layer):
                for at, length in enumerate(row):
                    add(name, f"layer {layer}", at, length)
    for patch in () if patched is None else patched.patches:
        add("patched_logprob", patch.label, None, patch.watched.logprob)
        add("patched_kl_bits", patch.label, None, patch.kl_bits)
        add("patched_healed", patch.label, None, patch.healed)
    return table
