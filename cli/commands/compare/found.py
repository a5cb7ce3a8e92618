"""What `glass compare` found, and how `--patch` is read."""

from collections.abc import Sequence
from dataclasses import dataclass

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.ablate.command import named_parts_of
from glasscli.cli.guesses import named_token
from glasscli.cli.models import working
from glasscli.errors import UsageError
from glasscli.inspect.comparison import Comparison, Movement
from glasscli.inspect.patching import Patching, patch_parts, patch_stream


@dataclass(frozen=True)
class Found:
    """Two prompts compared.

    Attributes:
        texts: as they were given.
        moved: how far the difference spreads; None where lengths differ.
        patched: B with parts of A, where asked for.
    """

    texts: tuple[str, str]
    compared: Comparison
    moved: Movement | None
    patched: Patching | None


def patching(
    loaded: LoadedModel, a: Sequence[int], b: Sequence[int], parts: str, at: int | None, token: str | None, quiet: bool
) -> Patching:
    """What `--patch` asks for.

    Raises:
        UsageError: a name means nothing, lengths differ, or there is no such position.
    """
    watch = named_token(loaded, "--token", token)
    chosen = None if parts in ("all", "stream") else named_parts_of(f"--patch {parts}", parts, loaded.config)
    try:
        with working(quiet) as bar:
            if parts == "stream":
                at_all = None if at is None else [at]
                return patch_stream(loaded, a, b, token=watch, positions=at_all, progress=bar)
            return patch_parts(loaded, a, b, token=watch, parts=chosen, position=at, progress=bar)
    except UsageError as error:
        raise UsageError(f"--patch {parts}: {error}") from None
