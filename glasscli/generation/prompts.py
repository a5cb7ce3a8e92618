"""From what the user gave to the tokens that the model will read: encoding, BOS, and what to do with too many.

First stop of a prompt. Knows the tokenizer and the length of the context, not the model's weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


class Overflow(StrEnum):
    """What to do when prompt and text outgrow the context.

    error: refuse a prompt that is longer; end the text where the context ends.
    left: cut the oldest tokens of a prompt that fills more than three quarters; end where the context ends.
    slide: read and write on for ever; the cache keeps the first 4 tokens and the newest.
    """

    error = "error"
    left = "left"
    slide = "slide"


class ContextError(UsageError):
    """A prompt longer than the context."""


@dataclass(frozen=True)
class Prompt:
    """Tokens to read. `n_dropped` counts those that were cut off at the left."""

    token_ids: tuple[int, ...]
    n_dropped: int = 0


def read_prompt(
    loaded: "LoadedModel", prompt: str | Sequence[int], overflow: Overflow = Overflow.error, parse_special: bool = False
) -> Prompt:
    """Encode `prompt` (a text, or ids as they are) and make it fit the model's context.

    An empty prompt becomes the model's beginning-of-text token. With `parse_special`, names of special tokens in the
    text count as those tokens; otherwise they are plain text.

    Raises:
        UsageError: no tokens and no beginning-of-text token, or an id that is none.
        TokenizerError: a token that the model has no row for.
        ContextError: more tokens than the context holds, and `overflow` says error.
    """
    config = loaded.config
    ids = tuple(loaded.tokenizer.encode(prompt, parse_special=parse_special) if isinstance(prompt, str) else prompt)
    ids = ids or config.bos_ids[:1]
    if not ids:
        raise UsageError("the prompt is empty and this model has no beginning-of-text token to start from")
    loaded.check_ids(ids)
    return _fit(ids, config.max_seq_len, overflow, config.bos_ids)


def _fit(ids: tuple[int, ...], context: int, overflow: Overflow, bos_ids: Sequence[int]) -> Prompt:
    if overflow is Overflow.left:
        return _cut(ids, max(1, context * 3 // 4), bos_ids)
    if overflow is Overflow.error and len(ids) > context:
        raise ContextError(f"the prompt has {len(ids):,} tokens; this model's context holds {context:,}")
    return Prompt(ids)


def _cut(ids: tuple[int, ...], limit: int, bos_ids: Sequence[int]) -> Prompt:
    """The newest tokens, `limit` at most. How many doesn't depend on how many are to be written, so that a
    longer run starts with the same text; a leading beginning-of-text token stays."""
    if len(ids) <= limit:
        return Prompt(ids)
    head = ids[:1] if ids[0] in bos_ids and limit > 1 else ()
    return Prompt(head + ids[len(ids) - limit + len(head) :], len(ids) - limit)
