"""JSON as a strict reader takes it: Python's own lets NaN and infinities pass, which JSON has none of."""

import json
from typing import Any, NoReturn


def strict(text: str) -> Any:
    """What `text` holds; an AssertionError for a constant that is not JSON."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")
