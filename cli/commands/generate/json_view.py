"""A run for machines: one JSON document, or one line a token. Both hold the same fields."""

import math
import sys
from dataclasses import asdict
from typing import Any

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.generate.asked import Asked
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.console import write_json
from glasscli.dtypes import COMPUTED_IN
from glasscli.errors import TokenizerError
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation
from glasscli.inspect.looked_at import Watch
from glasscli.tokenizer.tokenizer import Tokenizer

SCHEMA = "glass.generate/1"


class JsonView:
    """Keeps the steps and writes one document at the end, also when the run was interrupted."""

    def __init__(self, tokenizer: Tokenizer, made: Asked, options: Options, watch: Watch | None = None) -> None:
        self._tokenizer, self._made, self._options, self._watch = tokenizer, made, options, watch
        self._tokens: list[dict[str, Any]] = []

    def start(self, run: Generation) -> None:
        """Nothing to write yet."""

    def step(self, step: Step) -> None:
        """Keep a step."""
        self._tokens.append(token_fields(step, self._tokenizer, bool(self._options.n_top), self._watch))

    def rest(self, text: str) -> None:
        """The run itself knows its text."""

    def end(self, run: Generation) -> None:
        """Write the document."""
        write_json({**run_fields(run, self._made, self._options, self._watch), "tokens": self._tokens})
        sys.stdout.flush()


class JsonlView:
    """Writes `{"event": "token", …}` for each token at once, then one `{"event": "done", …}`."""

    def __init__(self, tokenizer: Tokenizer, made: Asked, options: Options, watch: Watch | None = None) -> None:
        self._tokenizer, self._made, self._options, self._watch = tokenizer, made, options, watch

    def start(self, run: Generation) -> None:
        """Nothing to write yet."""

    def step(self, step: Step) -> None:
        """Write a line."""
        fields = token_fields(step, self._tokenizer, bool(self._options.n_top), self._watch)
        write_line({"event": "token", "index": step.index, "delta": step.text, **fields})

    def rest(self, text: str) -> None:
        """The last event has the whole text."""

    def end(self, run: Generation) -> None:
        """Write the last line."""
        write_line({"event": "done", **run_fields(run, self._made, self._options, self._watch)})


def write_line(fields: dict[str, Any]) -> None:
    """Write one line of JSON to stdout at once."""
    write_json(fields, indent=None)
    sys.stdout.flush()


def token_fields(step: Step, tokenizer: Tokenizer, with_top: bool, watch: Watch | None = None) -> dict[str, Any]:
    """A token for JSON. `text` is null where the token is no whole character by itself; `bytes` is hexadecimal.

    `looked_at` holds a share for each token that had been read when this one was chosen.
    """
    fields = {
        **_token(step.token_id, tokenizer),
        "logprob": step.logprob,
        "p_sampled": step.p_sampled,
        "rank": step.rank,
        "entropy_bits": step.entropy_bits,
        "n_kept": step.n_kept,
    }
    if with_top:
        fields["kept"] = dict(step.kept)
        fields["top"] = [{**_token(token_id, tokenizer), "logprob": logprob} for token_id, logprob in step.top]
    if watch is not None:
        fields["looked_at"] = [float(f"{share:.6g}") for share in watch.shares().tolist()]
    return fields


def run_fields(run: Generation, made: Asked, options: Options, watch: Watch | None = None) -> dict[str, Any]:
    """All of a run but its tokens."""
    n = len(run.token_ids)
    return {
        "schema": SCHEMA,
        "model": model_fields(run.loaded),
        **result_fields(run, made),
        "sampling": settings_fields(options, run),
        "timings": {
            "prefill_s": run.prefill_s,
            "prefill_tokens": len(run.prompt.token_ids),
            "decode_s": run.decode_s,
            "decode_tokens": max(0, n - 1),
            "decode_tokens_per_s": (n - 1) / run.decode_s if run.decode_s else None,
        },
        "kv_cache": {
            "spec": run.choice.text if run.cache else None,
            "used_bytes": run.cache.used_bytes if run.cache else 0,
            "allocated_bytes": run.cache.nbytes if run.cache else 0,
        },
        **({"looked_at": {"measure": "A·‖v‖", "layers": watch.layers, "heads": watch.heads}} if watch else {}),
    }


def result_fields(run: Generation, made: Asked) -> dict[str, Any]:
    """What was read, what was written, and why it ended."""
    return {
        "prompt": made.text,
        **({"messages": made.messages} if made.messages else {}),
        "prompt_ids": list(run.prompt.token_ids),
        "n_dropped": run.prompt.n_dropped,
        "text": run.text,
        "finish_reason": run.finish_reason,
        "stop_string": run.written.stop_string,
        "stop_token": run.written.stop_token,
        "seed": run.seed,
        "perplexity": run.written.perplexity,
    }


def model_fields(loaded: LoadedModel) -> dict[str, Any]:
    """Which model it was."""
    config = loaded.config
    return {
        "name": loaded.checkpoint.name,
        "parameters": config.n_parameters,
        "layers": config.n_layers,
        "context": config.max_seq_len,
        "vocab_size": config.vocab_size,
        "dtype": COMPUTED_IN,
        "ablated": list(loaded.removed),
    }


def settings_fields(options: Options, run: Generation) -> dict[str, Any]:
    """The settings of a run: what the options gave, and of the rest the model's own. A bias is by its token's id."""
    params = run.written.params
    defaults = run.loaded.defaults
    most = defaults.max_new_tokens if options.max_new_tokens is None else options.max_new_tokens
    biases = {str(i): value if math.isfinite(value) else "-inf" for i, value in params.logit_bias.items()}
    fields = {**asdict(params), "logit_bias": biases, "greedy": params.greedy, "max_new_tokens": most}
    fields |= {"stop": options.stop or [], "stop_tokens": list(run.written.ending.stop_tokens)}
    fields |= {"ignore_eos": options.ignore_eos, "overflow": options.overflow}
    if options.several is None:
        fields["use_cache"] = not options.no_cache
    return {**fields, "special": options.special, "chat": options.in_chat}


def _token(token_id: int, tokenizer: Tokenizer) -> dict[str, Any]:
    try:
        data = tokenizer.piece_bytes(token_id)
    except TokenizerError:  # a row of the embedding that no token has
        data = b""
    try:
        text = data.decode() if data else None
    except UnicodeDecodeError:
        text = None
    return {"id": token_id, "text": text, "bytes": data.hex()}
