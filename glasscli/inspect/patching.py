"""What carries the difference between two prompts: run B, but with one thing as it was in A.

If a head of A, or A's residual stream at one place, alone makes B's prediction A's, the difference went through there.

Source: Vig et al. 2020, arXiv:2004.12265 (causal mediation); Zhang & Nanda 2023, arXiv:2309.16042 (which measures).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.ablation import Part, all_parts, check_part, remove
from glasscli.inspect.comparison import n_shared, same_length_ids
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import Guess, guesses, kl_bits, log_softmax
from glasscli.inspect.runs import last_logits, pick_position, watch
from glasscli.inspect.trace import Edit, Place
from glasscli.progress import Progress, told

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

STREAM = ("resid_pre", "resid_mid", "resid_post")
Edits = list[tuple[str, Edit]]


@dataclass(frozen=True)
class Patch:
    """B with one thing from A.

    Attributes:
        label: `3.2`, `mlp 1`, or `resid_post 1 at 10`.
        watched: A's token, as likely as it is now.
        kl_bits: KL(A ‖ patched B): 0 where the patch makes B's prediction A's.
        healed: the share of KL(A ‖ B) that is gone; below 0 where the patch makes it worse. None where A and B
            predict the same.
    """

    label: str
    watched: Guess
    kl_bits: float
    healed: float | None


@dataclass(frozen=True)
class Patching:
    """Patches from A into B, those that heal most first.

    Attributes:
        in_a, in_b: the watched token, as likely as each prompt holds it.
        kl_bits: KL(A ‖ B) of the last prediction.
    """

    in_a: Guess
    in_b: Guess
    kl_bits: float
    patches: tuple[Patch, ...]


def patch_parts(
    loaded: "LoadedModel",
    a: str | Sequence[int],
    b: str | Sequence[int],
    *,
    token: Token | None = None,
    parts: Sequence[Part] | None = None,
    position: int | None = None,
    progress: Progress | None = None,
) -> Patching:
    """Run B with one head or MLP at a time as it was in A.

    Args:
        token: the token to watch (default: A's likeliest).
        parts: which (default: every head and MLP).
        position: patch this position alone (default: all).
        progress: hears how many are done.

    Raises:
        UsageError: prompts of different lengths, a part or position that is none, or what `read_prompt` refuses.
    """
    chosen = all_parts(loaded.config) if parts is None else tuple(parts)
    for part in chosen:
        check_part(part, loaded.config)

    def edits(kept: dict[Place, Array], n_tokens: int) -> Edits:
        rows = slice(None) if position is None else pick_position(position, n_tokens)
        return [
            (part.label, _taken(part.layer, part.place, kept[part.layer, part.place], part.head, rows))
            for part in chosen
        ]

    return _patching(loaded, a, b, token, ("mix", "down"), edits, progress)


def patch_stream(
    loaded: "LoadedModel",
    a: str | Sequence[int],
    b: str | Sequence[int],
    *,
    place: str = "resid_post",
    token: Token | None = None,
    positions: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Patching:
    """Run B with the residual stream of A at one layer and position at a time.

    Args:
        place: "resid_pre", "resid_mid" or "resid_post".
        token: the token to watch (default: A's likeliest).
        positions: which (default: from the first token that differs to the last).
        progress: hears how many are done.

    Raises:
        UsageError: prompts of different lengths, a place or position that is none, or what `read_prompt` refuses.
    """
    if place not in STREAM:
        raise UsageError(f"no place {place!r} in the stream. Places: {', '.join(STREAM)}.")
    first = n_shared(*(read_prompt(loaded, prompt).token_ids for prompt in (a, b)))

    def edits(kept: dict[Place, Array], n_tokens: int) -> Edits:
        at = range(first, n_tokens) if positions is None else [pick_position(p, n_tokens) for p in positions]
        return [
            (f"{place} {layer} at {row}", _taken(layer, place, kept[layer, place], None, row))
            for layer in range(loaded.config.n_layers)
            for row in at
        ]

    return _patching(loaded, a, b, token, (place,), edits, progress)


def _patching(
    loaded: "LoadedModel",
    a: str | Sequence[int],
    b: str | Sequence[int],
    token: Token | None,
    places: Sequence[str],
    edits: Callable[[dict[Place, Array], int], Edits],
    progress: Progress | None,
) -> Patching:
    """Run A and keep `places`, then B with each of the edits made of them."""
    ids_a, ids_b = same_length_ids(loaded, a, b)
    trace = watch(loaded, ids_a, (*places, "logits"), last_only=True)
    logits_a = trace.kept[None, "logits"][-1]
    of_a, of_b = log_softmax(logits_a), log_softmax(last_logits(loaded, ids_b, remove([])))
    watched = guesses(loaded, logits_a, 1)[0].token if token is None else token
    whole = float(kl_bits(of_a, of_b))
    patches = []
    for label, edit in told(edits(trace.kept, len(ids_b)), "patches", progress):
        logprobs = log_softmax(last_logits(loaded, ids_b, edit))
        left = float(kl_bits(of_a, logprobs))
        healed = 1 - left / whole if whole else None
        patches.append(Patch(label, Guess(watched, float(logprobs[watched.id])), left, healed))
    patches.sort(key=lambda patch: patch.kl_bits)
    in_a, in_b = (Guess(watched, float(logprobs[watched.id])) for logprobs in (of_a, of_b))
    return Patching(in_a, in_b, whole, tuple(patches))


def _taken(layer: int, place: str, source: Array, head: int | None, rows: int | slice) -> Edit:
    """The edit that puts `source` in at a place: at `rows` of the tokens, of one head or of all there is."""
    at: tuple[int | slice, ...] = (rows,) if head is None else (head, rows)

    def edit(where: int | None, name: str, array: Array) -> Array:
        if (where, name) != (layer, place):
            return array
        array = array.copy()
        array[at] = source[at]
        return array

    return edit
