"""Where texts go: to stdout, or with `-o` into a file, which is then told of."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.output_file import into_file, spare_files, tell
from glasscli.cli.prompt_text import STDIN
from glasscli.generation.loop import Generation


@contextmanager
def delivered(options: Options, loaded: LoadedModel, runs: Sequence[Generation]) -> Iterator[None]:
    """Let what the block writes go where it is wanted. Texts that Ctrl-C cuts short are kept as far as they came.

    Raises:
        UsageError: the file is one that is read.
        OutputError: the file could not be written.
    """
    if options.output is None:
        yield
        return
    spare_files(options.output, loaded.checkpoint.files(), "a part of the model")
    read = [Path(name) for name in (options.file, options.prompts, options.messages) if name not in (None, STDIN)]
    spare_files(options.output, read, "what is read")
    with into_file(options.output):
        yield
    if not options.quiet:
        tell(options.output, _words(runs))


def _words(runs: Sequence[Generation]) -> str:
    """How much was written, and whether Ctrl-C came before all of it was."""
    n, n_all = sum(len(run.token_ids) for run in runs), len(runs)
    cut = [run for run in runs if run.finish_reason == "interrupted"]
    n_begun = n_all - sum(not run.token_ids for run in cut)
    texts = f"{n_begun:,} of {n_all:,} texts" if n_begun < n_all else f"{n_all:,} text{'s' * (n_all != 1)}"
    return f"{texts}, {'interrupted, ' if cut else ''}{n:,} token{'s' * (n != 1)}"
