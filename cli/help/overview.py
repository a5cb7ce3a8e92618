"""What `glass --help` says: the commands, where to read on. Answered without Typer."""

from glasscli.cli.commands import COMMANDS, summary
from glasscli.cli.help.parts import Heading, Part, Prose, Sample, Usage, table

TITLE = "glass: run a small Llama-style model, look inside, size any model's KV cache."
EXAMPLES = (
    'glass generate "Once upon a time" -n 60 --seed 1',
    'glass dump-attn --layer 2 "The cat sat on the mat. The cat"',
    "glass lesson",
    "glass kv-budget --hq 32 --hkv 8 --ctx 8k,128k",
    "glass kv-budget --config path/to/config.json --budget 24GiB",
    'echo "Lily had a red" | glass generate --json',
)
MORE = (
    ("glass COMMAND --help", "The options of a command."),
    ("glass help", "Topics: what measures mean, cache formats, engines and their settings, exit codes …"),
    ("glass --version", "Which glass this is."),
    ("glass --install-completion", "Let the shell complete commands, options and their values (bash, zsh, fish)."),
)


def overview() -> list[Part]:
    """The page."""
    return [
        Prose(TITLE),
        Usage("glass COMMAND [OPTIONS]"),
        Heading("Commands"),
        table((name, summary(name)) for name in COMMANDS),
        Heading("Examples"),
        Sample(EXAMPLES),
        Heading("More"),
        table(MORE),
    ]
