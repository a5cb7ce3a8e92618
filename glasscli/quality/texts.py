"""What a trial reads: documents of a text as token ids, and how they are cut when nobody says how."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from glasscli.errors import UsageError
from glasscli.quality.trial import LEAST

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

MARK = "<|endoftext|>"  # what stands, on a line of its own, between documents in text files of many corpora
SMALL = 50_000_000  # parameters: a model up to this size reads more, for a finer measure
TOKENS, TOKENS_OF_LARGE = 4096, 1024
CONTEXTS = (512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, LEAST)
ENOUGH = 4  # chunks, for a standard error that means something


def held_out_text() -> str:
    """Stories that neither the tokenizer nor the weights of the shipped model have seen; a README beside says whose."""
    path = Path(__file__).parents[1] / "weights" / "held-out" / "stories.txt"
    _, _, stories = path.read_text("utf-8").partition(f"{MARK}\n")  # the first part is a notice of source and licence
    return stories


def documents_of(loaded: "LoadedModel", text: str) -> list[list[int]]:
    """The documents of `text` as token ids, without an opening mark; a line `<|endoftext|>` parts two.

    The name of the model's own end-of-text token does too, wherever it stands.

    Raises:
        UsageError: there is no text, or it is not valid Unicode.
        TokenizerError: a token that the model has no row for.
    """
    own = [re.escape(loaded.tokenizer.piece(mark)) for mark in loaded.config.eos_ids[:1]]
    parts = re.split("|".join([rf"^{re.escape(MARK)}\r?$", *own]), text, flags=re.MULTILINE)
    documents = [part.strip("\r\n") for part in parts if part.strip()]
    if not documents:
        raise UsageError("the text is empty: there is nothing to compare caches on")
    return [_without_opening(loaded, loaded.encode(document)) for document in documents]


def _without_opening(loaded: "LoadedModel", ids: list[int]) -> list[int]:
    """`ids` without what the tokenizer puts in front of every text."""
    first = next((i for i, token_id in enumerate(ids) if token_id not in loaded.tokenizer.special_ids), len(ids))
    return ids[first:]


def usual_context(loaded: "LoadedModel", documents: Sequence[Sequence[int]]) -> int:
    """How long chunks are if nobody says: up to 512 tokens, and short enough that there are four of them.

    Raises:
        UsageError: no document has the tokens of the shortest chunk.
    """
    most = _tokens(loaded)
    cuts = {n: min(n_chunks(loaded, documents, n), most // n) for n in CONTEXTS if n <= loaded.config.max_seq_len}
    for context, n in cuts.items():
        if n >= ENOUGH:
            return context
    found = [context for context, n in cuts.items() if n]
    if not found:
        longest = max(map(len, documents))
        raise UsageError(
            f"the longest document of the text has {longest:,} token{'s' * (longest != 1)}; a chunk needs {LEAST}"
        )
    return found[-1]


def n_chunks(loaded: "LoadedModel", documents: Sequence[Sequence[int]], context: int) -> int:
    """How many chunks of `context` tokens the documents give."""
    step = context - len(loaded.config.bos_ids[:1])
    return sum(len(ids) // step for ids in documents)


def usual_chunks(loaded: "LoadedModel", context: int) -> int:
    """How many chunks are read if nobody says: 4,096 tokens, 1,024 with more than 50 million parameters."""
    return max(1, _tokens(loaded) // context)


def _tokens(loaded: "LoadedModel") -> int:
    weights = loaded.model.weights
    small = weights.embedding.size + sum(block.qkv.size + block.gate_up.size for block in weights.blocks) <= SMALL
    return TOKENS if small else TOKENS_OF_LARGE
