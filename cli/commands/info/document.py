"""`glass info --json`."""

from dataclasses import asdict
from typing import Any

from glasscli.checkpoint.facts import CACHE_ITEM_BYTES, Facts, TokenizerFacts
from glasscli.checkpoint.outline import Outline
from glasscli.dtypes import COMPUTED_IN


def document(facts: Facts) -> dict[str, Any]:
    """All that was found; every number of bytes is exact. `tokenizer` is null where it can't be read."""
    return {
        "schema": "glass.info/1",
        "runs": True,
        "dtype": COMPUTED_IN,
        "folder": str(facts.folder),
        "config": asdict(facts.config),
        "tied": facts.tied,
        "n_parameters": facts.n_parameters,
        "stored_bytes": facts.stored_bytes,
        "parts": [asdict(part) for part in facts.parts],
        "cache": {
            "dtype": COMPUTED_IN,
            "item_bytes": CACHE_ITEM_BYTES,
            "bytes_per_token": facts.cache_bytes_per_token,
            "context_bytes": facts.cache_context_bytes,
        },
        **_files(facts),
    }


def outline_document(outline: Outline) -> dict[str, Any]:
    """What could be told of a model that glass does not run."""
    return {
        "schema": "glass.info/1",
        "runs": False,
        "reason": outline.reason,
        "folder": str(outline.folder),
        "model_type": outline.model_type,
        "architectures": list(outline.class_names),
        "layers": [{"attention": label, "n": n} for label, n in outline.layers],
        "n_stored": outline.n_stored,
        "stored_bytes": outline.stored_bytes,
        **_files(outline),
    }


def _files(found: Facts | Outline) -> dict[str, Any]:
    return {
        "tensors": [
            {
                "name": info.name,
                "dtype": info.dtype,
                "shape": list(info.shape),
                "n_bytes": info.n_bytes,
                "file": info.file.name,
            }
            for info in found.tensors
        ],
        "tokenizer": _tokenizer(found.tokenizer),
        "files": [{"name": name, "n_bytes": n_bytes} for name, n_bytes in found.files],
        "notes": list(found.notes),
    }


def _tokenizer(found: TokenizerFacts | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "kind": found.kind,
        "vocab_size": found.vocab_size,
        "special": [{"id": token_id, "name": name} for token_id, name in found.special],
        "added_in_front": list(found.added_in_front),
        "unused_ids": list(found.unused_ids),
    }
