"""`glass ablate`: take every part of a model out in turn, and show what changes."""

from typing import TYPE_CHECKING

from glasscli.cli.blas import pin_threads
from glasscli.cli.commands.ablate.options import Options

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.config.model_config import ModelConfig
    from glasscli.inspect.ablation import Part

DEMO = "Once upon a time there was a little girl named Lily. One day,"  # whose name is to come again

EPILOG = """\
A head is taken out where its mixed values enter the output matrix, an MLP where its result enters the residual
stream. KL is how many bits the whole model's next token costs whoever believes the changed one. Δ nats is how much
more a token of the text costs without the part: above 0, it helps. --ablate in other commands runs without
parts for as long as you like.

\b
Examples:
  glass ablate "There was a girl named Lily. One day," --token Lily
  glass ablate --to mean --parts 2.2,mlp1
  glass ablate --loss "The dog saw the cat. The dog saw the cat."
  glass ablate --feeds --top 5
  glass ablate --json
"""


def run(options: Options) -> int:
    """Show what each part is needed for; the exit code."""
    options.check()
    pin_threads(options.model, options.quiet)
    from glasscli.cli.console import note
    from glasscli.cli.models import load

    loaded = load(options.model, quiet=options.quiet)
    for remark in () if options.quiet else loaded.notes:
        note(remark)
    if options.feeds:
        from glasscli.cli.commands.ablate.feeds import run_feeds

        run_feeds(options, loaded)
        return 0
    from glasscli.cli.commands.ablate.effects import run_loss, run_prompt

    (run_loss if options.loss else run_prompt)(options, loaded, text_of(options), parts_of(options, loaded))
    return 0


def text_of(options: Options) -> str:
    """The text to read."""
    from glasscli.cli.prompt_text import given_text

    return given_text(options.prompt, options.file, DEMO)


def parts_of(options: Options, loaded: "LoadedModel") -> "tuple[Part, ...] | None":
    """The parts to take out; None for all.

    Raises:
        UsageError: a name means nothing, or not in this model.
    """
    return None if options.parts is None else named_parts_of(f"--parts {options.parts}", options.parts, loaded.config)


def named_parts_of(option: str, names: str, config: "ModelConfig") -> "tuple[Part, ...]":
    """The parts that `names` means, each once; `option` is what an error calls them.

    Raises:
        UsageError: a name means nothing, or not in this model.
    """
    from glasscli.errors import UsageError
    from glasscli.inspect.ablation import check_part
    from glasscli.inspect.removed import named_part

    try:
        parts = tuple(dict.fromkeys(named_part(name) for name in names.split(",")))
        for part in parts:
            check_part(part, config)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None
    return parts
