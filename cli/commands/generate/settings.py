"""What the options ask of the library, once a model is there: tokens by name become ids."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glasscli.cli.commands.generate.options import Options
from glasscli.config.writing import WritingDefaults
from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.generation.sampling import SamplingParams


def settings(options: Options, loaded: "LoadedModel") -> dict[str, Any]:
    """What `generate` and `generate_batch` are both called with.

    Raises:
        UsageError: a setting has no meaning, or a name is not one token of the model.
    """
    return {
        "params": params_of(options, loaded.defaults, biases(options, loaded)),
        "seed": options.seed,
        "max_new_tokens": options.max_new_tokens,
        "stop": options.stop or (),
        "stop_tokens": [_id(loaded, "--stop-token", name) for name in options.stop_token or ()],
        "ignore_eos": options.ignore_eos,
        "overflow": options.overflow,
        "cache": options.choice,
        "parse_special": options.special,
        "n_top": options.n_top,
    }


def params_of(
    options: Options, defaults: WritingDefaults, biases: Mapping[int, float] | None = None
) -> "SamplingParams":
    """The sampler's settings: what was given, and of the rest a model's `defaults`. Imports NumPy.

    Raises:
        UsageError: one of them has no meaning.
    """
    from glasscli.generation.sampling import SamplingParams

    return SamplingParams.of(
        defaults,
        options.temperature,
        options.top_k,
        options.top_p,
        options.min_p,
        options.repetition_penalty,
        options.frequency_penalty,
        options.presence_penalty,
        biases,
    )


def biases(options: Options, loaded: "LoadedModel") -> dict[int, float]:
    """What is added to the logits of tokens, by id."""
    found: dict[int, float] = {}
    for text in options.logit_bias or ():
        name, value = split_bias(text)
        token_id = _id(loaded, "--logit-bias", name)
        if token_id in found:
            raise UsageError(f"--logit-bias {text}: token {token_id} has a bias already: give one for each")
        found[token_id] = value
    return found


def split_bias(text: str) -> tuple[str, float]:
    """A token's name and the number of `NAME=NUMBER`.

    Raises:
        UsageError: it is not of that form.
    """
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not (name and equals) or not value < float("inf"):
        raise UsageError(f"--logit-bias {text}: expected a token and a number, such as 'Lily=-2.5' or '#17=-inf'")
    return name, value


def _id(loaded: "LoadedModel", option: str, name: str) -> int:
    from glasscli.cli.guesses import named_token

    token = named_token(loaded, option, name)
    assert token is not None
    return token.id
