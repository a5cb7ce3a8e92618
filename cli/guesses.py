"""Tokens that a model holds likely: beside the rows of a table, and in JSON; and the one that an option names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from glasscli.cli.page.cells import cells, crop
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, line_width
from glasscli.cli.page.style import DIM
from glasscli.errors import UsageError
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import Guess, one_token

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

LABEL = 16  # cells of a token


def add_guesses(page: Page, lines: Sequence[Line], guesses: Sequence[Sequence[Guess]], head: str) -> bool:
    """Put guesses behind the rows of a table, under `head`, as many as fit; whether there was room for any."""
    room = page.width - max(map(line_width, lines)) - 2
    if room < cells(head):
        return False
    lines[0].append((f"  {head}", DIM))
    for line, found in zip(lines[1:], guesses, strict=True):
        line.append(("  " + guesses_text(page, found, room), ""))
    return True


def guesses_text(page: Page, guesses: Sequence[Guess], room: int) -> str:
    """The guesses that fit, likeliest first: `·she .48  ·he .13`."""
    text = ""
    for guess in guesses:
        item = f"{crop(page.label(guess.token.raw), LABEL)} {probability(guess.p, 2)}"
        joined = f"{text}  {item}" if text else item
        if cells(joined) > room:
            break
        text = joined
    return text


def legend(page: Page) -> Line:
    """What opens a token that begins a word."""
    return [(f" {'·' if page.unicode else '_'} is a leading space", DIM)]


def token_fields(token: Token) -> dict[str, Any]:
    """A token for JSON. `text` is null where it is no whole character by itself; `bytes` is hexadecimal."""
    return {"id": token.id, "text": token.text, "bytes": token.raw.hex()}


def guess_fields(guess: Guess) -> dict[str, Any]:
    """A guess for JSON."""
    return {**token_fields(guess.token), "logprob": guess.logprob}


def named_token(loaded: "LoadedModel", option: str, text: str | None) -> Token | None:
    """The token that an option names: a word as it stands in a sentence, or `#` and an id.

    Raises:
        UsageError: the text is not one token of the model.
    """
    if text is None:
        return None
    is_id = text[:1] == "#" and text[1:].isdecimal() and len(text) < 12
    try:
        return one_token(loaded, int(text[1:]) if is_id else text)
    except UsageError as error:
        raise UsageError(f"{option} {text}: {error}") from None
