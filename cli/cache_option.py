"""`--cache SPEC`: which cache a run goes through, for the commands that run a model."""

from typing import TYPE_CHECKING, Annotated

from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import parse_choice
from glasscli.cache.formats.names import NAMES
from glasscli.cli.options import Group, option
from glasscli.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

FORMS = (
    f"{' '.join(NAMES)}, or k=F,v=F; norot: without llama.cpp's rotation; residual=N exact tokens of kivi. "
    "Tokens: window=N, sinks=M+window=N (renumber counts positions anew), h2o=N, tova=N. "
    "Heads: kv-heads=N merges them, not retrained. Together: q8_0,sinks=4,window=252"
)
HELP = f"How keys and values are kept, in f32 where SPEC names no format: {FORMS} [default: f32]."
CacheOption = Annotated[str | None, option("--cache", HELP, Group.engine, metavar="SPEC")]


def choice_of(text: str | None) -> CacheChoice:
    """What `--cache` says; the full cache where it was not given.

    Raises:
        UsageError: a part that is not known or at odds with another; it says what was perhaps meant.
    """
    if text is None:
        return CacheChoice()
    try:
        return parse_choice(text)
    except UsageError as error:
        raise UsageError(f"--{error}") from None


def for_cache(loaded: "LoadedModel", choice: CacheChoice) -> "LoadedModel":
    """The model, its key/value heads merged if the cache asks for fewer.

    Raises:
        UsageError: the cache can't be for this model.
    """
    from glasscli.quality.merged import with_merged_heads

    check_fits(loaded, choice)
    return with_merged_heads(loaded, choice)


def check_fits(loaded: "LoadedModel", choice: CacheChoice, name: str = "--cache") -> None:
    """Refuse what can't be for this model, as `name` asked for it.

    Raises:
        UsageError: a head width that a format's blocks do not divide, or heads that can't be merged so.
    """
    try:
        choice.check(loaded.config.n_kv_heads, loaded.config.head_dim)
    except ConfigError as error:
        raise UsageError(f"{name} {choice.text}: {error}") from None
