"""`glass info --json`."""

from dataclasses import asdict
from typing import Any

from glasscli.checkpoint.facts import CACHE_ITEM_BYTES, Facts


def document(facts: Facts) -> dict[str, Any]:
    """All that was found; every number of bytes is exact. `tokenizer` is null where it can't be read."""
    tokenizer = None
    if (found := facts.tokenizer) is not None:
        tokenizer = {
            "kind": found.kind,
            "vocab_size": found.vocab_size,
            "special": [{"id": token_id, "name": name} for token_id, name in found.special],
            "added_in_front": list(found.added_in_front),
            "unused_ids": list(found.unused_ids),
        }
    return {
        "schema": "glass.info/1",
        "folder": str(facts.folder),
        "config": asdict(facts.config),
        "tied": facts.tied,
        "n_parameters": facts.n_parameters,
        "stored_bytes": facts.stored_bytes,
        "parts": [asdict(part) for part in facts.parts],
        "cache": {
            "dtype": "float32",
            "item_bytes": CACHE_ITEM_BYTES,
            "bytes_per_token": facts.cache_bytes_per_token,
            "context_bytes": facts.cache_bytes_per_token * facts.config.max_seq_len,
        },
        "tensors": [
            {
                "name": info.name,
                "dtype": info.dtype,
                "shape": list(info.shape),
                "n_bytes": info.n_bytes,
                "file": info.file.name,
            }
            for info in facts.tensors
        ],
        "tokenizer": tokenizer,
        "files": [{"name": name, "n_bytes": n_bytes} for name, n_bytes in facts.files],
        "notes": list(facts.notes),
    }
