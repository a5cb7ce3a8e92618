"""What a subject's weights take of the devices of a plan: from its files where there are some, else from its config."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from glasscli.budget.device_fit import Load, load_of, load_of_files
from glasscli.budget.drafting import method_of
from glasscli.budget.request import Request
from glasscli.budget.subjects import Subject
from glasscli.budget.weights.files import Files, files_at
from glasscli.budget.weights.heads import stored_head
from glasscli.budget.weights.rope_cache import rope_cache_bytes
from glasscli.budget.weights.stored import Stored, stored
from glasscli.errors import ConfigError

Weigh = Callable[[Request], Load]


class Weigher:
    """What a subject's weights take under a plan; counted once."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def model(self) -> Stored:
        """The weights, counted from the config."""
        method = method_of(self.subject.config)
        if method is not None:
            return stored_head(self.subject.config, method)
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
