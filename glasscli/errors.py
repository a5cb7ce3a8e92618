"""What can go wrong through no fault of ours, each kind with the exit code it earns.

Everything a user can cause is a `GlassError`; `assert` is for our own mistakes. A message says what was
found, what was expected and where, in one or two lines. It never names an option of the program.
"""


class GlassError(Exception):
    """The base of all errors a user can cause. `exit_code` is 1: the model or the data is at fault."""

    exit_code = 1


class UsageError(GlassError):
    """What was asked for makes no sense, whatever the model: exit code 2."""

    exit_code = 2


class ConfigError(GlassError):
    """A config.json that is broken, incomplete, or describes what glass can't compute.

    `field` names the key at fault, where there is one.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotRunError(ConfigError):
    """A config.json in which nothing need be wrong: it describes a model that glass does not run."""


class CheckpointError(GlassError):
    """Weights that are missing, damaged, of the wrong shape, or not numbers."""


class TensorTypeError(CheckpointError):
    """Weights in which nothing need be wrong, of a type that glass does not read."""


class TokenizerError(GlassError):
    """A tokenizer.json that is missing, damaged, or does not fit the model."""


class OutputError(GlassError):
    """A result that could not be written."""
