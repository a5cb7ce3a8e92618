"""The arrays of a dump by name, in three dialects, and the binary files that hold them.

| names    | keys                                    | axes                                  |
| -------- | --------------------------------------- | ------------------------------------- |
| native   | `L2.q` … `L2.out`                       | [head, position, dim]                 |
| tl       | `blocks.2.attn.hook_q`, …               | [position, head, dim], no batch axis  |
| hf       | `attentions`, one array for all layers  | [layer, 1, head, query, key]          |

The tl names are those of `HookedTransformer` (TransformerLens 3.9) and `TransformerBridge` (4.3): both were run on
the shipped weights, and all their hooks have these names, these axes behind the batch axis, and these numbers.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli.config.model_config import ModelConfig
from glasscli.dtypes import COMPUTED_IN
from glasscli.errors import UsageError
from glasscli.inspect.dump import Dump
from glasscli.inspect.steps import step_array
from glasscli.inspect.stream_steps import OUTSIDE

# Step to hook; TransformerLens keeps neither the mask nor a cache of turned keys. An MLP without a gate has its
# `up` where one with a gate has `gate`.
_HOOKS = {
    "q": "attn.hook_q",
    "k": "attn.hook_k",
    "v": "attn.hook_v",
    "rope_q": "attn.hook_rot_q",
    "rope_k": "attn.hook_rot_k",
    "scores": "attn.hook_attn_scores",
    "softmax": "attn.hook_pattern",
    "mix": "attn.hook_z",
    "out": "hook_attn_out",
    "resid_pre": "hook_resid_pre",
    "resid_mid": "hook_resid_mid",
    "resid_post": "hook_resid_post",
    "gate": "mlp.hook_pre",
    "up": "mlp.hook_pre_linear",
    "hidden": "mlp.hook_post",
    "down": "hook_mlp_out",
}
_OUTSIDE_HOOKS = {"embedding": "hook_embed"}


def named_arrays(dump: Dump, steps: Sequence[str], names: str = "native") -> dict[str, NDArray[Any]]:
    """The arrays of `steps` for all layers of a dump, keyed and ordered as `names` says.

    Scores are those before the mask, except with `tl`, where hidden scores are −∞ as in that library's hook.

    Raises:
        UsageError: none of the steps exists under these names.
    """
    if names == "hf":
        if "softmax" not in steps:
            raise UsageError("hf names hold the softmax step only")
        return {"attentions": np.stack([trace.pattern_HTS[None] for trace in dump.layers])}
    if names == "native":
        layers = {
            f"L{trace.layer}.{run}{step}": np.ascontiguousarray(step_array(trace, step))
            for run, traces in (("", dump.layers), ("full.", dump.full))
            for trace in traces
            for step in steps
            if step not in OUTSIDE
        }
        return {**layers, **dump.outside}
    hooks = _HOOKS if dump.config.architecture.gated else {**_HOOKS, "up": _HOOKS["gate"]}
    hooked = [step for step in steps if step in hooks]
    arrays = {hook: dump.outside[name] for name, hook in _OUTSIDE_HOOKS.items() if name in dump.outside}
    if not hooked and not arrays:
        known = ", ".join((*_HOOKS, *_OUTSIDE_HOOKS))
        raise UsageError(f"tl names have no hook for {', '.join(steps)}; they have: {known}")
    for trace in dump.layers:
        for step in hooked:
            values = step_array(trace, step)
            if step in ("scores", "softcap"):
                values = np.where(trace.mask_TS, values, np.float32(-np.inf))
            elif values.ndim == 3 and step != "softmax":
                values = values.transpose(1, 0, 2)
            arrays[f"blocks.{trace.layer}.{hooks[step]}"] = np.ascontiguousarray(values)
    return arrays


def describe(dump: Dump, names: str = "native") -> dict[str, Any]:
    """Everything about a dump that is not an array, for metadata."""
    return {
        "schema": "glass.attn/1",
        "model": describe_model(dump.model, dump.config, dump.weights_hash, dump.removed),
        "dtype": COMPUTED_IN,
        "names": names,
        "prompt": dump.prompt,
        "tokens": [token_entry(token.id, token.text, token.raw) for token in dump.tokens],
        "chosen": [token_entry(token.id, token.text, token.raw) for token in dump.chosen],
        "mode": dump.mode,
        "start": dump.start,
        "layers": [trace.layer for trace in dump.layers],
        "cache": dump.cache,
    }


def describe_model(name: str, config: ModelConfig, weights_hash: str, removed: Sequence[str] = ()) -> dict[str, Any]:
    """Which model the numbers come from, for metadata."""
    return {
        "name": name,
        "n_layers": config.n_layers,
        "n_heads": config.n_heads,
        "n_kv_heads": config.n_kv_heads,
        "head_dim": config.head_dim,
        "dim": config.dim,
        "dtype": COMPUTED_IN,
        "rope_theta": config.rope.theta,
        "rope_kind": config.rope.kind,
        "weights_sha256": weights_hash or None,
        "ablated": list(removed),
    }


def token_entry(token_id: int, text: str | None, raw: bytes) -> dict[str, Any]:
    """One token for JSON; `text` is null for a part of a character, `bytes` are hexadecimal."""
    return {"id": token_id, "text": text, "bytes": raw.hex()}


def write_npz(dump: Dump, path: Path, steps: Sequence[str], names: str) -> None:
    """A NumPy archive: the arrays, `token_ids`, `tokens` (as on screen) and `metadata` (JSON in a string)."""
    arrays: dict[str, Any] = {
        "token_ids": np.array(dump.token_ids),
        "tokens": np.array([token.label for token in dump.tokens]),
        "metadata": np.array(json.dumps(describe(dump, names))),
        **named_arrays(dump, steps, names),
    }
    with path.open("wb") as file:
        np.savez(file, **arrays)


def write_safetensors(dump: Dump, path: Path, steps: Sequence[str], names: str) -> None:
    """A safetensors file; what is not an array is in its metadata, one JSON text an entry."""
    save_safetensors(named_arrays(dump, steps, names), describe(dump, names), path)


def save_safetensors(arrays: dict[str, NDArray[Any]], about: dict[str, Any], path: Path) -> None:
    """Arrays and what is known about them, an entry of metadata each; the same bytes for the same numbers."""
    from safetensors.numpy import save

    metadata = {key: json.dumps(value) for key, value in about.items()}
    data = save(arrays)
    size = int.from_bytes(data[:8], "little")
    # The package writes metadata in an order of its own, another each time; a dump must always be the same bytes.
    header = json.dumps({"__metadata__": metadata, **json.loads(data[8 : 8 + size])}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.write(memoryview(data)[8 + size :])
