"""The results of several prompts: texts one below the other, one JSON document, or one line a result."""

import sys
from typing import Any

from glasscli.cli.commands.generate.asked import Asked
from glasscli.cli.commands.generate.json_view import (
    model_fields,
    result_fields,
    settings_fields,
    token_fields,
    write_line,
)
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.console import Color, is_terminal, printable, use_color, width, write_bytes, write_json
from glasscli.cli.page.style import DIM, paint
from glasscli.generation.batch import Batch
from glasscli.generation.continuation import Step

SCHEMA = "glass.generate-batch/1"


class BatchTextView:
    """A rule with the number, the prompt, its continuation."""

    def __init__(self, batch: Batch, asked: list[Asked], color: Color, echo: bool) -> None:
        self._batch, self._asked, self._echo = batch, asked, echo
        self._on_terminal = is_terminal()
        self._style = DIM if use_color(color) else ""

    def step(self, number: int, step: Step) -> None:
        """Nothing: texts that grow at once can't be shown at once."""

    def result(self, number: int) -> None:
        """Write a text that is done."""
        head = f"── {number + 1} of {len(self._asked)} ".ljust(width(), "─")
        prompt = self._asked[number].shown if self._echo else ""
        text = self._batch.runs[number].text
        if self._on_terminal:
            prompt, text = printable(prompt, keep="\n\t"), printable(text, keep="\n\t")
        lines = f"{paint(head, self._style)}\n{paint(prompt, self._style)}{text}\n"
        write_bytes(lines.encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()

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
            "sampling": settings_fields(self._options, batch.loaded.defaults),
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
    """`{"event": "result", …}` for each prompt as soon as it is due, then one `{"event": "done", …}`."""

    def result(self, number: int) -> None:
        """Write a line."""
        write_line({"event": "result", **self._result(number)})

    def end(self) -> None:
        """Write the last line."""
        write_line({"event": "done", **self._all()})
