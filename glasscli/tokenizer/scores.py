"""SentencePiece's merges, where a vocabulary has scores and no list of merges.

SentencePiece joins, of all neighbours that make a token, those that make the one with the highest score, the leftmost
if there are several; a list of pairs in that order does the same. Where one token can be joined from two pairs that
overlap (`aa`+`a` and `a`+`aa`), the list must prefer one of them everywhere; the longer left one is what joining from
the left leads to. A text can part from SentencePiece only inside long runs of one character or group of characters.

Source: Kudo and Richardson 2018, arXiv:1808.06226, section 3; llama.cpp's `llm_tokenizer_spm`.
"""

from collections.abc import Iterable, Mapping


def merges(vocabulary: Mapping[str, int], scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """The pairs of tokens that make a token, in the order in which they are to be joined.

    Args:
        vocabulary: all tokens that a text can come to, each character that is one of them too.
        scores: of each of them.
    """
    found = [
        (-scores[token], -at, token)
        for token in vocabulary
        for at in _splits(token)
        if token[:at] in vocabulary and token[at:] in vocabulary
    ]
    found.sort()
    return [(token[:-at], token[-at:]) for _, at, token in found]


def _splits(token: str) -> Iterable[int]:
    return range(1, len(token))
