"""Probabilities as CSV: a line for each token that a step might have taken, for a spreadsheet or a data frame."""

import csv
import io
import math
import sys
from collections.abc import Iterator

from glasscli.cli.console import write_bytes
from glasscli.csv_cell import cell
from glasscli.errors import TokenizerError
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation
from glasscli.inspect.tokens import Token, token_of
from glasscli.tokenizer.tokenizer import Tokenizer

COLUMNS = ("text", "index", "chosen", "rank", "id", "token", "bytes", "p", "logprob", "p_sampled", "entropy_bits")


class CsvView:
    """Writes a step's lines at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def start(self, run: Generation) -> None:
        """Write the names of the columns."""
        write_rows([COLUMNS])

    def step(self, step: Step) -> None:
        """Write a step's lines."""
        write_rows(candidates(step, self._tokenizer))

    def rest(self, text: str) -> None:
        """The table has tokens, not text."""

    def end(self, run: Generation) -> None:
        """All is said."""


def candidates(step: Step, tokenizer: Tokenizer, number: int = 0) -> Iterator[tuple[object, ...]]:
    """The likeliest tokens of a step, best first, and the chosen one behind them if it is none of them.

    p, logprob, rank and entropy are the raw model's, and so are said of each; `p_sampled` is told of the chosen one.

    Args:
        number: of the text, counted from 0 as in JSON.
    """
    of_all = f"{step.entropy_bits:.9g}"
    likeliest = [logprob for _, logprob in step.top]
    rows = [(token_id, logprob, 1 + sum(other > logprob for other in likeliest)) for token_id, logprob in step.top]
    if step.token_id not in dict(step.top):
        rows.append((step.token_id, step.logprob, step.rank))
    for token_id, logprob, rank in rows:
        token, chosen = _token(tokenizer, token_id), token_id == step.token_id
        names = (token_id, cell(token.label), token.raw.hex())
        sampled = f"{step.p_sampled:.9g}" if chosen else ""
        yield (
            *(number, step.index, int(chosen), rank, *names),
            *(f"{math.exp(logprob):.9g}", f"{logprob:.9g}", sampled, of_all),
        )


def _token(tokenizer: Tokenizer, token_id: int) -> Token:
    try:
        return token_of(tokenizer, token_id)
    except TokenizerError:  # a row of the embedding that no token has
        return Token(token_id, b"")


def write_rows(rows: Iterator[tuple[object, ...]] | list[tuple[str, ...]]) -> None:
    """Write lines of the table to stdout at once."""
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerows(rows)
    write_bytes(table.getvalue().encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()
