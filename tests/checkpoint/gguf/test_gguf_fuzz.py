"""Changed GGUF files: an answer or one clean error, and no more memory than the file's size allows."""

from pathlib import Path
from random import Random

from robust.headers import try_headers


def test_changed_headers(tmp_path: Path) -> None:
    """The first few of what `make robustness` tries."""
    tally = try_headers(tmp_path, Random("headers 1"), 300)
    assert not tally.found, tally.found[:3]
    assert tally.ends["answered"] > 5
    assert tally.ends["refused (CheckpointError)"] > 50
    assert tally.ends["refused (ConfigError)"] > 10
    assert tally.ends["refused (TokenizerError)"] > 10
