"""What `--ablate` does to a model, in every command that has it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


def ablated(loaded: "LoadedModel", names: str | None, read: Callable[[], Sequence[int]]) -> "LoadedModel":
    """The model without the parts that `--ablate` names.

    Args:
        read: gives the tokens that means are taken over; asked only where a mean is wanted.

    Raises:
        UsageError: a name means nothing, or not in this model.
    """
    if names is None:
        return loaded
    from glasscli.inspect.removed import named_parts, without

    try:
        parts = named_parts(names)
        return without(loaded, parts, read() if "mean" in parts.values() else ())
    except UsageError as error:
        raise UsageError(f"--ablate {names}: {error}") from None


def without_words(removed: Sequence[str]) -> str:
    """What to say of the parts that were taken out: `without 3.2, mlp 1 (at its mean)`."""
    named = [f"{part} (at its mean)" if method else part for part, _, method in (r.partition("=") for r in removed)]
    return f"without {', '.join(named)}"
