"""What to say of a command line that can't be used: what was found, what was perhaps meant, what to type."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from glasscli.cli.console import printable
from glasscli.cli.other_names import TEXTS, elsewhere
from glasscli.likeness import asked, did_you_mean, enumerated, nearest
from glasscli.units import show

if TYPE_CHECKING:
    from typer import BadParameter

    from glasscli.cli.naming import Name, Read

FRONT = ("--help", "--version", "--install-completion", "--show-completion")  # options that stand without a command
DASHES = "‐‑‒–—―−"  # what a page or an editor makes of hyphens
NUMBERS = {"float": "a number", "int": "a whole number"}  # Typer's types
LONGEST = 300  # characters of a command that is shown anew
# What programs of other tools are called → the command that does it.
COMMANDS_ELSEWHERE = {
    "run": "generate", "complete": "generate", "chat": "generate --chat", "infer": "generate", "sample": "generate",
    "perplexity": "score", "ppl": "score", "eval": "score", "encode": "tokenize", "tokens": "tokenize",
    "heads": "dump-attn --heads", "attention": "dump-attn", "attn": "dump-attn", "trace": "dump-attn",
    "memory": "kv-budget", "budget": "kv-budget", "fit": "kv-budget --gpu", "show": "info", "inspect": "info",
    "models": "kv-budget --list", "list": "kv-budget --list", "quantize": "kv-quality", "quality": "kv-quality",
    "logits": "generate --logprobs", "size": "kv-budget", "learn": "lesson", "patch": "compare --patch",
    "diff": "compare", "logit-lens": "lens",
}  # fmt: skip


def unknown_command(name: str, commands: Sequence[str]) -> str:
    """What to say of a command that does not exist."""
    if name.startswith("-"):
        hint = did_you_mean(name, FRONT) or "Options follow it: glass COMMAND [OPTIONS]"
        return f"no option {printable(name)} in front of a command. {hint}"
    if f"--{name}" in FRONT:
        return f"no command {printable(name)!r}. Here it is glass --{name}"
    if name in COMMANDS_ELSEWHERE:
        hint = f"Here it is glass {COMMANDS_ELSEWHERE[name]}"
    else:
        hint = did_you_mean(name, commands) or f"Commands: {', '.join(commands)}."
    return f"no command {printable(name)!r}. {hint}"


def unknown_option(typed: str, names: "Mapping[str, Name]") -> str:
    """What to say of an option that there is not."""
    said = f"no option {printable(typed if len(typed) <= 40 else typed[:40] + '…')}."
    if word := elsewhere(typed.replace("_", "-"), names.__contains__):
        return f"{said} {word}"
    if not re.fullmatch(r"--?[A-Za-z][\w-]*", typed) and "--prompt" in names:
        return f"{said} A text that begins with a hyphen goes behind -p, or behind --"
    near = [name if name in names[name].all_own else names[name].long or name for name in nearest(typed, names)]
    if near:
        return f"{said} {asked(list(dict.fromkeys(near)))}"
    return f"{said} {having(typed) or '--help lists those there are.'}"


def having(typed: str) -> str:
    """Which commands have an option that is none of this one's. Imports them all, which takes its time."""
    from glasscli.cli.commands import COMMANDS, load
    from glasscli.cli.naming import names_of

    found = [name for name in COMMANDS if typed in names_of(load(name).Options)]
    return f"glass {enumerated(found, 'and')} {'has' if len(found) == 1 else 'have'} it." if found else ""


def bad_value(error: "BadParameter", read: "Read") -> str:
    """What Typer found wrong with a value, under the name that was typed."""
    param = error.param
    if param is None:
        return error.format_message()
    typed, _, value = read.typed.get(param.name or "", ("", None, ""))
    name = typed or (str(param.envvar) if param.envvar else max(param.opts, key=len))
    choices = [str(getattr(choice, "value", choice)) for choice in getattr(param.type, "choices", ())]
    if choices:
        return f"{name}: {not_one_of(value, choices)}"
    if (kind := NUMBERS.get(param.type.name)) is not None:
        return f"{name}: {not_a_number(value, kind)}"
    return f"{name}: {error.message}"


def not_a_number(value: str, kind: str) -> str:
    """What to say of a value that is none; a comma for a point is the usual slip."""
    pointed = value.strip().replace(",", ".")
    hint = f" With a point: {pointed}" if re.fullmatch(r"[+-]?\d*\.\d+", pointed) and "," in value else ""
    return f"{show(value)} is not {kind}.{hint}"


def not_one_of(value: str, choices: Iterable[str]) -> str:
    """What to say of a word that is none of a few."""
    known = list(choices)
    hint = did_you_mean(value, known)
    return f"{show(value)} is not one of {', '.join(known)}.{' ' if hint else ''}{hint}"


def too_many(name: str, args: Sequence[str], read: "Read") -> str:
    """What to say of more arguments than a command has; of a text without quotes, the same with them."""
    arguments = read.arguments
    word = read.loose[len(arguments)]
    dashed = next((loose for loose in read.loose if re.fullmatch(rf"[{DASHES}]+[a-z][a-z0-9_-]*", loose)), None)
    if dashed is not None:
        return f"{show(dashed)} begins with a dash, as pages print it. Hyphens: --{printable(dashed.lstrip(DASHES))}"
    if line := with_commas(args, read):
        return f"{show(word)} stands alone: values of one option have commas between\nTry: glass {name} {line}"
    if not arguments:
        hint = f" A model is named by -m: -m {quoted(word)}" if name in ("info", "kv-budget") else ""
        return f"{name} takes no text; {show(word)} was found.{hint}"
    if arguments[-1] not in TEXTS:
        if len(arguments) == 1:
            return f"{name} takes one {arguments[0].strip('[]').lower()}, and {show(word)} is one more"
        return f"{len(read.loose)} texts, where {len(arguments)} are expected. A text of several words goes in quotes"
    first = len(arguments) - 1
    text = " ".join(read.loose[first:])
    words = [*args]
    for place in reversed(read.places[first + 1 :]):
        del words[place]
    words[read.places[first]] = text
    line = f"glass {name} {' '.join(map(quoted, words))}"
    said = f"a text of several words goes in quotes, and {show(word)} stands outside"
    return f"{said}\nTry: {line}" if len(line) <= LONGEST else said


def with_commas(args: Sequence[str], read: "Read") -> str:
    """The same line with commas, where words stand behind the value of an option of several: `--compare a b`."""
    first, words = read.places[len(read.arguments)], [*args]
    before = words[max(0, first - 2) : first]
    listed = [[typed, value] for typed, name, value in read.typed.values() if name.metavar.endswith(",…")]
    if before not in listed:
        return ""
    end = next((i for i in range(first, len(words)) if i not in read.places), len(words))
    values = ",".join(word.strip(",") for word in words[first - 1 : end])
    return " ".join(map(quoted, [*words[: first - 1], values, *words[end:]]))


def quoted(word: str) -> str:
    """A word as a shell reads it, in double quotes where that will do."""
    plain = shlex.quote(word)
    if plain == word or "!" in word:  # which an interactive shell replaces in double quotes
        return plain
    escaped = re.sub(r'(["$`\\])', r"\\\1", word)
    return f'"{escaped}"'
