"""The model that comes with glass."""

from pathlib import Path

SHIPPED = "glass-1m"


def shipped_folder() -> Path:
    """Where the model that comes with glass lies."""
    return Path(__file__).parents[1] / "weights" / SHIPPED
