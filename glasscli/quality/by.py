"""What a cache is taken apart by, to see where it hurts. Imports no NumPy; `quality.parts` does it."""

from enum import StrEnum

from glasscli.cache.choice import CacheChoice
from glasscli.errors import UsageError


class By(StrEnum):
    """What a cache is taken apart by."""

    layer = "layer"
    kv = "kv"
    depth = "depth"
    head = "head"


def check_parts(choice: CacheChoice, by: By) -> None:
    """Refuse what can't be taken apart so.

    Raises:
        UsageError: by head where no token is dropped: packing is not a matter of heads.
    """
    if by is By.head and choice.keeps == "all":
        raise UsageError(f"{choice.explicit_text} drops no tokens; by head goes with window, sinks, h2o and tova")
