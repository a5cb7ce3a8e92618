"""A token as what looks into a run shows it: its id, its bytes, its label."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from glasscli.tokenizer.pieces import label_of

if TYPE_CHECKING:
    from glasscli.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class Token:
    """One token and the exact bytes it stands for (of a special token: its name)."""

    id: int
    raw: bytes

    @property
    def label(self) -> str:
        """The token as a screen can show it, see `pieces.label_of`."""
        return label_of(self.raw)

    @property
    def text(self) -> str | None:
        """The text, or None where the token is a part of a character."""
        try:
            return self.raw.decode()
        except UnicodeDecodeError:
            return None


def token_of(tokenizer: "Tokenizer", token_id: int) -> Token:
    """A token id with its bytes."""
    return Token(token_id, tokenizer.piece_bytes(token_id))
