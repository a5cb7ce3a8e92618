"""What the tests with files changed at random share: the model they change, and what a clean error is."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import event
from hypothesis import strategies as st

from glasscli.errors import GlassError
from helpers.mutations import KINDS
from helpers.random_llama import settings, tensors

CONFIG = settings(num_hidden_layers=1, vocab_size=320, hidden_size=16, intermediate_size=8, head_dim=4)
WEIGHTS = tensors(CONFIG)
IDS = [0, 5, 7, 7, 200]
T = TypeVar("T")


def said(error: GlassError) -> None:
    """An error must be one or two lines that can't steer a terminal."""
    lines = str(error).splitlines()
    assert 1 <= len(lines) <= 3
    assert all(line.isprintable() for line in lines)
    assert len(str(error)) < 1500


def outcome(read: Callable[[], T]) -> T | None:
    """What `read` gives, or None if it refused, cleanly."""
    try:
        found = read()
    except GlassError as error:
        said(error)
        event("refused")
        return None
    event("taken")
    return found


edits = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 2**31), st.integers(0, 64), st.binary()), min_size=1, max_size=3
)
