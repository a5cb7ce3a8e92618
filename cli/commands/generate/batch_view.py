"""The results of several prompts or samples: texts one below the other, JSON, a line a result, or CSV."""

import sys
from typing import Any, Protocol

from glasscli.cli.commands.generate.asked import Asked
from glasscli.cli.commands.generate.csv_view import COLUMNS, candidates, write_rows
from glasscli.cli.commands.generate.json_view import (
    model_fields,
    result_fields,
    settings_fields,
    token_fields,
    write_line,
)
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.console import is_terminal, use_color, width, write_json
from glasscli.cli.page.style import DIM
from glasscli.cli.page.text import RunningText, write_text
from glasscli.generation.batch import Batch
from glasscli.generation.continuation import Step

SCHEMA = "glass.generate-batch/1"


class BatchView(Protocol):
    """What shows the texts.

    Attributes:
        in_order: whether results are wanted in the order of the prompts; else each as soon as it ends.
    """

    in_order: bool

    def step(self, number: int, step: Step) -> None:
        """One token more of a text."""

    def result(self, number: int) -> None:
        """A text has ended."""

    def end(self) -> None:
        """All have."""


class BatchTextView:
    """A rule with the number, the prompt, its continuation. A terminal gets each as it ends, a pipe all in order."""

    def __init__(self, batch: Batch, asked: list[Asked], options: Options) -> None:
        self._batch, self._asked, self._seeds = batch, asked, options.samples is not None
        self._on_terminal = is_terminal()
        self.in_order = not self._on_terminal
        # What a line of a file goes on from is told in a pipe too; samples are all of one prompt.
        default = self._on_terminal or options.samples is None
        self._echo = default if options.echo is None else options.echo
        self._wraps = not options.no_wrap
        self._style = DIM if use_color(options.color) else ""

    def step(self, number: int, step: Step) -> None:
        """Nothing: texts that grow at once can't be shown at once."""

    def result(self, number: int) -> None:
        """Write a text that is done; one that was not begun is nothing to show."""
        run = self._batch.runs[number]
        if run.finish_reason == "interrupted" and not run.token_ids:
            return
        seed = f"· seed {run.seed} " if self._seeds else ""
        head = f"── {number + 1} of {len(self._asked)} {seed}"
        write_text(head.ljust(width(), "─") + "\n", self._style)
        running = RunningText(self._on_terminal, self._wraps)
        running.write(self._asked[number].shown if self._echo else "", self._style)
        running.write(run.text)
        running.write("\n")

    def end(self) -> None:
        """All is said."""


class BatchCsvView:
    """The lines of each text once it has ended, text after text."""

    in_order = True

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._rows: list[list[tuple[object, ...]]] = [[] for _ in batch.runs]
        write_rows([COLUMNS])

    def step(self, number: int, step: Step) -> None:
        """Keep a step's lines."""
        self._rows[number] += candidates(step, self._batch.loaded.tokenizer, number)

    def result(self, number: int) -> None:
        """Write a text's lines."""
        write_rows(iter(self._rows[number]))
        self._rows[number] = []

    def end(self) -> None:
        """All is said."""


class _Kept:
    """Keeps the tokens of every prompt until its result is due."""

    def __init__(self, batch: Batch, asked: list[Asked], options: Options) -> None:
        self._batch, self._asked, self._options = batch, asked, options
        self._tokens: list[list[dict[str, Any]]] = [[] for _ in asked]

    def step(self, number: int, step: Step) -> None:
        """Keep a token."""
        with_top = bool(self._options.n_top)
        self._tokens[number].append(token_fields(step, self._batch.loaded.tokenizer, with_top))

    def _result(self, number: int) -> dict[str, Any]:
        run = self._batch.runs[number]
        fields = {"index": number, **result_fields(run, self._asked[number]), "tokens": self._tokens[number]}
        self._tokens[number] = []
        return fields

    def _all(self) -> dict[str, Any]:
        batch = self._batch
        return {
            "schema": SCHEMA,
            "model": model_fields(batch.loaded),
            "sampling": settings_fields(self._options, batch.runs[0]),
            "timings": {
                "prefill_s": batch.prefill_s,
                "decode_s": batch.decode_s,
                "decode_tokens": batch.n_decoded,
                "decode_tokens_per_s": batch.n_decoded / batch.decode_s if batch.decode_s else None,
            },
            "kv_cache": {"spec": batch.choice.text, "allocated_bytes": batch.kv_bytes},
        }


class BatchJsonView(_Kept):
    """One document with all results."""

    in_order = True

    def __init__(self, batch: Batch, asked: list[Asked], options: Options) -> None:
        super().__init__(batch, asked, options)
        self._results: list[dict[str, Any]] = []

    def result(self, number: int) -> None:
        """Keep a result."""
        self._results.append(self._result(number))

    def end(self) -> None:
        """Write the document."""
        write_json({**self._all(), "results": self._results})
        sys.stdout.flush()


class BatchJsonlView(_Kept):
    """`{"event": "result", …}` for each prompt as soon as it ends, then one `{"event": "done", …}`."""

    in_order = False

    def result(self, number: int) -> None:
        """Write a line."""
        write_line({"event": "result", **self._result(number)})

    def end(self) -> None:
        """Write the last line."""
        write_line({"event": "done", **self._all()})
