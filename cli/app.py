"""The `glass` program: finds the command, turns errors into one line and an exit code.

`glasscli.cli.commands` knows which there are; one is imported when it is called for. `glass --help` and
`glass --version` are answered without Typer.
"""

import contextlib
import os
import sys

from glasscli import TYPE_CHECKING, __version__
from glasscli.cli.commands import COMMANDS, load

if TYPE_CHECKING:
    from typer.core import TyperCommand


def main(args: list[str] | None = None) -> int:
    """Run the program with `args` (default: the command line) and return its exit code."""
    args = sys.argv[1:] if args is None else args
    if sys.stdout is None:
        return complain("stdout is closed; there is nowhere to write the answer", 1)
    try:
        if "_GLASS_COMPLETE" in os.environ:
            code = complete(args)
        elif not args or args[0] in ("--help", "-h"):
            show_overview(args)
            code = 0 if args else 2
        elif args[0] in ("--version", "-V"):
            print(f"glass {__version__}")
            code = 0
        elif args[0].partition("=")[0] in ("--install-completion", "--show-completion"):
            code = completion(args)
        else:
            code = run(args[0], args[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        code = 141  # as a program that SIGPIPE ends: whoever read us has seen enough
    except KeyboardInterrupt:
        code = 130
    except MemoryError:
        code = complain("there is not enough memory for this", 1)
    except OSError as error:
        code = complain(f"cannot write the output: {error.strerror or error}", 1)
    if code in (1, 141):
        silence_stdout()
    return code


def show_overview(args: list[str]) -> None:
    """Print what `glass --help` says."""
    from glasscli.cli.console import color_in
    from glasscli.cli.help.layout import show
    from glasscli.cli.help.overview import overview

    show(overview(), color_in(args))


def complete(args: list[str]) -> int:
    """Answer a shell that completes: the words of `args`, the last the one at the cursor."""
    from glasscli.cli.completion.answer import answer
    from glasscli.cli.console import write_text

    try:
        text, code = answer(os.environ["_GLASS_COMPLETE"], args)
    except Exception:  # a shell in the middle of a line can do nothing with a message
        return 1
    write_text(f"{text}\n" if text else "")
    return code


def completion(args: list[str]) -> int:
    """Print or install the script of a shell."""
    from glasscli.cli.completion.install import run as installed
    from glasscli.errors import GlassError

    try:
        print(installed(args))
    except GlassError as error:
        return complain(str(error), error.exit_code)
    return 0


def run(name: str, args: list[str]) -> int:
    """Run one command. Prints what went wrong and returns the exit code."""
    if name not in COMMANDS:
        from glasscli.cli.misused import unknown_command

        return complain(unknown_command(name, COMMANDS), 2)
    import typer

    from glasscli.cli.console import telling
    from glasscli.cli.naming import Read, read_names
    from glasscli.errors import GlassError, UsageError

    read = Read()
    try:
        command = load(name)
        line = read_names(command.Options, args)
        if len(line.loose) > len(line.arguments):
            from glasscli.cli.misused import too_many

            raise UsageError(too_many(name, args, line))
        read = line
        options = parser(name).main(read.args, prog_name=f"glass {name}", standalone_mode=False)
        if isinstance(options, int):  # what was asked for was help
            return options
        options = read.completed(options)
        quiet, verbose = getattr(options, "quiet", False), getattr(options, "verbose", False)
        if quiet and verbose:
            raise UsageError("--quiet and --verbose don't go together: choose one")
        with telling(verbose):
            code: int = command.run(options)
        return code
    except KeyboardInterrupt:
        return 130
    except SystemExit:  # Typer's answer to a pipe that was closed
        raise BrokenPipeError from None
    except GlassError as error:
        return complain(read.as_typed(str(error)), error.exit_code)
    except typer.BadParameter as error:
        from glasscli.cli.misused import bad_value

        return complain(bad_value(error, read), error.exit_code)
    except typer.TyperException as error:
        return complain(f"{error.format_message()}\nTry: glass {name} --help", error.exit_code)


def parser(name: str) -> "TyperCommand":
    """What makes a command's `Options` from a command line."""
    import typer

    from glasscli.cli.help.hook import HelpfulCommand

    command = load(name)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    settings = {"help_option_names": ["-h", "--help"]}
    app.command(name, cls=HelpfulCommand, context_settings=settings)(command.Options)
    made = typer.main.get_command(app)
    assert isinstance(made, typer.core.TyperCommand)
    return made


def complain(message: str, code: int) -> int:
    """Print `message` on stderr, the first line after `glass:`, and return `code`."""
    from glasscli.cli.console import note

    try:
        sys.stdout.flush()
    except (OSError, AttributeError):
        silence_stdout()
    note(message)
    return code


def silence_stdout() -> None:
    """Let nothing more be written to a stdout that failed, not even by the interpreter's own last flush."""
    with contextlib.suppress(OSError, AttributeError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
