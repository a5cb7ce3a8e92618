"""The merges that make the tokens of a word end where the `tokenizers` package does."""

import pytest
import tokenizers
from helpers.model_folders import TEXTS, sentencepiece_like

from glasscli.errors import TokenizerError
from glasscli.tokenizer.merges import merges
from glasscli.tokenizer.tokenizer import Tokenizer


@pytest.mark.parametrize("text", TEXTS)
def test_merges_end_at_the_tokens(text: str, backend: tokenizers.Tokenizer) -> None:
    ours = Tokenizer(backend)
    words = merges(ours, text)
    assert [i for word in words for i in word.token_ids] == [i for i in ours.encode(text) if i not in ours.added_ids]
    for word in words:
        *_, last = word.chain()
        assert list(last) == [ours.piece_bytes(i) for i in word.token_ids]
        assert all(len(left) > 0 for left in word.symbols)


def test_merges_by_hand() -> None:
    """t+h (rank 0) before th+e (1) before ▁+the (2), though ▁ stands first."""
    (word,) = merges(Tokenizer(sentencepiece_like()), "the")
    assert [b"|".join(symbols) for symbols in word.chain()] == [b" |t|h|e", b" |th|e", b" |the", b" the"]
    assert [(merge.at, merge.left, merge.right, merge.rank) for merge in word.merges] == [
        (1, b"t", b"h", 0),
        (1, b"th", b"e", 1),
        (0, b" ", b"the", 2),
    ]


def test_only_bpe_has_merges() -> None:
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram([("<unk>", 0.0), ("a", -1.0)], 0, False))
    backend.decoder = tokenizers.decoders.Metaspace()
    with pytest.raises(TokenizerError, match="'Unigram'; only BPE"):
        merges(Tokenizer(backend), "a")
