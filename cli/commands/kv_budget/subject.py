"""Which model is meant: what `-m`, `--config` and each of `--compare` name, brought to a `Subject`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from glasscli.budget.models import find
from glasscli.budget.subjects import Subject, from_config, from_name
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.console import note
from glasscli.cli.models import model_path
from glasscli.config.families.refusals import AS_PLAIN, UnknownTypeError
from glasscli.config.source import read_config, title_of
from glasscli.errors import ConfigError, UsageError
from glasscli.locate.hub_cache import repo_of
from glasscli.locate.locate import NotFoundError
from glasscli.locate.need import Need

STDIN = "-"


def with_environment(options: Options) -> Options:
    """`options`, about the model of GLASS_MODEL where the command line names none."""
    given = (options.hq, options.hkv, options.config, options.model, options.compare)
    if options.list_models or any(value is not None for value in given):
        return options
    return replace(options, model=os.environ.get("GLASS_MODEL") or None)


def subject_of(name: str, options: Options, engine: str, file: bool = False) -> Subject:
    """The model that `name` means: what `locate` finds, else a well-known one, `-` for a config on standard input.

    Args:
        file: whether a file was asked for, which matters where there is none.

    Raises:
        UsageError: a bare word that is no model; with the nearest names.
        NotFoundError: `org/name` that is not there; with how to get it.
        ConfigError, CheckpointError: what is there describes no model that can be sized.
    """
    if name == STDIN:
        return _from_file(STDIN, "", engine, "", options)
    path = _found(name, options.quiet)
    if path is None:
        known = _is_well_known(name)
        if known or not (file or _looks_like_a_path(name)):
            return from_name(name, engine)
        path = Path(name)
    return _from_file(str(path), _title(name, path), engine, str(path), options)


def _found(name: str, quiet: bool) -> Path | None:
    """What `locate` finds; None for what may be a well-known name or is nothing at all."""
    try:
        path = model_path(name, Need.config, quiet=quiet, check=bool)
    except NotFoundError:
        if "/" in name and not _is_well_known(name):
            raise
        return None
    return path if _exists(path) else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long a name, a NUL in it
        return False


def _from_file(where: str, title: str, engine: str, source: str, options: Options) -> Subject:
    """The model that a file or a folder describes, a config.json or a GGUF; a mistake in it names the place.

    That it was read as plain attention is said even where no other note is.
    """
    if source and Path(source).is_dir():
        source = str(Path(source) / "config.json")
    place = "standard input" if where == STDIN else where
    try:
        subject = from_config(settings_at(where), engine, title, source, options.assume_plain)
    except ConfigError as error:
        prefix = "" if str(error).startswith(place) else f"{place}: "
        hint = "\nIf its attention is plain, say so: --assume-plain" if isinstance(error, UnknownTypeError) else ""
        raise ConfigError(f"{prefix}{error}{hint}", error.field) from None
    if options.quiet or options.as_csv:
        for text in subject.layout.notes:
            if text.endswith(AS_PLAIN):
                note(f"{place}: {text}")
    return subject


def settings_at(where: str) -> dict[str, Any]:
    """What the file or folder at `where` says of a model: a config.json, or the header of a GGUF."""
    from glasscli.checkpoint.gguf.header import is_gguf

    if where == STDIN or not is_gguf(Path(where)):
        return read_config(where)
    from glasscli.checkpoint.gguf.cache_settings import cache_settings

    return cache_settings(where)


def _title(name: str, path: Path) -> str:
    """What to call it. A path is called by itself where its last part is the name of a well-known model."""
    title = repo_of(path) or title_of(str(path))
    return name if _is_well_known(title) and "/" not in title else title


def _is_well_known(name: str) -> bool:
    try:
        find(name)
    except UsageError:
        return False
    return True


def _looks_like_a_path(name: str) -> bool:
    return any(sign in name for sign in (os.sep, "/", "\0")) or name.endswith((".json", ".gguf"))
