"""What is worth a word about a prompt before it is read: one line on stderr for each kind of slip."""

import re
from collections.abc import Callable, Sequence

from glasscli.tokenizer.tokenizer import Tokenizer
from glasscli.untrusted_files import quoted

SHOWN = 4  # names and pieces told of a kind
_ESCAPE = re.compile(r"\\[nt]")


def prompt_notes(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    special: bool = False,
    typed: bool = False,
    chat: bool = False,
) -> list[str]:
    """The notes about one prompt, or about several, which are then numbered.

    Args:
        special: names of special tokens are read as those tokens.
        typed: the text stood on the command line, where `\\n` is seldom meant as two characters.
        chat: a template is put around each text.
    """
    kinds: list[Callable[[str], str]] = []
    if not special:
        kinds.append(lambda text: _names(tokenizer, text))
    if special and not chat:
        kinds.append(lambda text: _doubled(tokenizer, text))
    if tokenizer.unknown_id is not None:
        kinds.append(lambda text: _unknown(tokenizer, text))
    if typed:
        kinds.append(escapes)
    if not chat:
        kinds.append(_space)
    said = []
    for kind in kinds:
        found = {i: words for i, text in enumerate(texts, 1) if (words := kind(text))}
        if found:
            said.append(next(iter(found.values())).format(_which(list(found), len(texts))))
    return said


def escapes(text: str, where: str = "{}") -> str:
    """What to say of a `\\n` that was typed as two characters."""
    if (found := _ESCAPE.search(text)) is None:
        return ""
    return (
        f"{found[0]} in {where} is two characters, a backslash and a letter: $'…{found[0]}…' types one in most shells"
    )


def _which(numbers: Sequence[int], of: int) -> str:
    if of == 1:
        return "the prompt"
    more = f" and {len(numbers) - SHOWN:,} more" if len(numbers) > SHOWN else ""
    return f"prompt{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:SHOWN]))}{more}"


def _names(tokenizer: Tokenizer, text: str) -> str:
    found = tokenizer.special_in(text)
    if not found:
        return ""
    is_are, it = ("is", "it as a token") if len(found) == 1 else ("are", "them as tokens")
    return f"{_listed(found)} in {{}} {is_are} read as text: --special reads {it}"


def _doubled(tokenizer: Tokenizer, text: str) -> str:
    front = tokenizer.encode("")[:1]
    mark = tokenizer.piece(front[0]) if front else ""
    if not mark or not text.startswith(mark):
        return ""
    return f"{_listed([mark])} begins {{}}, and the tokenizer puts one in front of every text: there are two"


def _unknown(tokenizer: Tokenizer, text: str) -> str:
    encoding = tokenizer.encoding(text)
    spans = [span for i, span in zip(encoding.ids, encoding.offsets, strict=True) if i == tokenizer.unknown_id]
    lost = [text[start:stop] for start, stop in spans]
    if not lost:
        return ""
    n, has = (f"{len(lost):,} pieces", "have") if len(lost) > 1 else ("1 piece", "has")
    assert tokenizer.unknown_id is not None
    name = _listed([tokenizer.piece(tokenizer.unknown_id)])
    return f"{n} of {{}} {has} no token, read as {name}: {_listed(list(dict.fromkeys(map(quoted, lost))))}"


def _space(text: str) -> str:
    if not text.endswith(" "):
        return ""
    return "{} ends in a space, and most tokens begin with theirs: without it texts often go on better"


def _listed(names: Sequence[str]) -> str:
    """Names or pieces, safe to put through `str.format`."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) + more).replace("{", "{{").replace("}", "}}")
