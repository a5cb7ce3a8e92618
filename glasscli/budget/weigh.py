"""What a subject's weights take of the devices of a plan: from its files where there are some, else from its config."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from glasscli.budget.device_fit import Load, load_of, load_of_files
from glasscli.budget.request import Request
from glasscli.budget.subjects import Subject
from glasscli.budget.weights.files import Files, files_at
from glasscli.budget.weights.rope_cache import rope_cache_bytes
from glasscli.budget.weights.stored import Stored, stored
from glasscli.errors import ConfigError

Weigh = Callable[[Request], Load]
HEADS = re.compile(r"eagle|medusa|dflash|mtp", re.IGNORECASE)


class Weigher:
    """What a subject's weights take under a plan; counted once."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def model(self) -> Stored:
        """The weights, counted from the config."""
        if is_head(self.subject.config):
            raise ConfigError(
                f"{self.subject.name}: a head's weights are known from its files only; give its folder", "draft"
            )
        if not self.subject.config:
            name = self.subject.name
            raise ConfigError(
                f"{name}: its cache is known here, its weights are not; its config.json would tell", "model"
            )
        return stored(self.subject.config)

    @cached_property
    def files(self) -> Files | None:
        """The files with the weights, where the model is given as a folder or a GGUF."""
        path = Path(self.subject.source)
        where = path.parent if path.name == "config.json" else path
        if not self.subject.source or not where.exists():  # a citation, standard input
            return None
        return files_at(where, self.subject.config, self.subject.logical.n_layers)

    def __call__(self, request: Request) -> Load:
        rope = rope_cache_bytes(self.subject.config, self.subject.logical.dtype)
        if self.files is None:
            return load_of(self.model, rope, request)
        try:
            model = None if self.files.gguf else self.model
        except ConfigError:
            model = None
        return load_of_files(self.files, model, rope, request)


def weigher_of(subject: Subject, draft: Subject | None = None) -> Weigh:
    """What `subject` takes, and on the last stage the model that drafts for it."""
    return Weigher(subject) if draft is None else _with_draft(Weigher(subject), Weigher(draft))


def _with_draft(model: Weigh, draft: Weigh) -> Weigh:
    def weigh(request: Request) -> Load:
        assert request.draft is not None
        load, more = model(request), draft(replace(request, layout=request.draft, pp=1, pp_layers=None, draft=None))
        weights = (*load.weights[:-1], load.weights[-1] + more.weights[0])
        source = f"{load.source}; with the drafting model's"
        return Load(weights, (load.rope or 0) + (more.rope or 0) or None, source, load.sees or more.sees)

    return weigh


def is_head(config: Mapping[str, Any]) -> bool:
    """Whether a config describes a head that drafts from a model's own activations, not a model of its own."""
    named = config.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return any(HEADS.search(name) for name in (*names, str(config.get("model_type", ""))))
