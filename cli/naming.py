"""From names as typed to those that Typer knows: other tools' words, `_` for `-`, short names of many letters.

A command line is read word by word as Typer would, but by all names of the command, and written anew in its own. How
each option was typed is kept, so that a message can call it that. What can't be read is refused here, with what was
perhaps meant.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args, get_origin

from typer.models import ArgumentInfo, OptionInfo

from glasscli.cli.other_names import OF_ONE_REPLICA, TEXT, TEXTS, elsewhere, words
from glasscli.errors import UsageError
from glasscli.units import show


class Name(NamedTuple):
    """One way to write one option or argument.

    Attributes:
        field: what it sets.
        own: the command's own name for it, `--echo`; empty for an argument.
        all_own: every name of its own that means the same.
        form: how its value is written for `own`: `{}` as it is; without `{}` it takes none.
        metavar: what stands for it in the help.
        part: whether it says a part of the value, which others may add to.
        several: whether it may be given several times.
    """

    field: str
    own: str
    all_own: tuple[str, ...] = ()
    form: str = ""
    metavar: str = ""
    part: bool = False
    several: bool = False

    @property
    def takes(self) -> bool:
        """Whether a value follows."""
        return "{}" in self.form

    @property
    def long(self) -> str:
        """The own name that says most."""
        return max(self.all_own, key=len, default="")


class Read:
    """A command line in a command's own names.

    Attributes:
        options: names and values, as Typer is to read them.
        loose: arguments that were given without a name, in order.
        places: where those stand among the words.
        texts: arguments that were given by name.
        arguments: those that the command has, as its help calls them.
        typed: by what it sets, how each option was typed last and with which value.
    """

    def __init__(self) -> None:
        self.options: list[str] = []
        self.loose: list[str] = []
        self.arguments: list[str] = []
        self.places: list[int] = []
        self.texts: dict[str, str] = {}
        self.typed: dict[str, tuple[str, Name, str]] = {}

    @property
    def args(self) -> list[str]:
        """The whole line."""
        return [*self.options, *(["--", *self.loose] if self.loose else [])]

    def completed(self, options: Any) -> Any:
        """`options` with the arguments that were given by name.

        Raises:
            UsageError: one of them was given without it, too.
        """
        for key in self.texts:
            if getattr(options, key) is not None:
                raise UsageError(
                    f"{self.typed[key][0]} gives a text, and so does {show(getattr(options, key))}: choose one"
                )
        return replace(options, **self.texts) if self.texts else options

    def as_typed(self, message: str) -> str:
        """A message in which each option is called what it was typed as."""
        for typed, name, value in self.typed.values():
            own = "|".join(re.escape(own) for own in name.all_own if own != typed)
            found = re.compile(rf"(?<![\w-])({own})(?![\w-])") if own else None
            if found is None or not found.search(message):
                continue
            if name.form in ("", "{}"):
                message = found.sub(typed, message)
            else:
                message += f"\n{f'{typed} {value}'.rstrip()} is read as {name.own} {name.form.replace('{}', value)}"
        return message


def names_of(options: type) -> dict[str, Name]:
    """Every name of a command's options and arguments, its own and other tools'; none takes another's place."""
    own = {name: Name("", "--help", ("-h", "--help")) for name in ("-h", "--help")}
    texts = []
    for key, hint in options.__annotations__.items():
        kind, info = get_args(hint)
        if isinstance(info, OptionInfo):
            own |= _option_names(key, kind, info)
        elif isinstance(info, ArgumentInfo) and info.metavar in TEXTS:
            texts.append(Name(key, "", (), "{}", "TEXT"))
    others = {}
    for word in words():
        meant = own.get(word.own) if word.own != TEXT else texts[0] if texts else None
        if meant is not None and word.typed not in own:
            others[word.typed] = meant._replace(form=word.form if meant.form else "", part=word.part)
    return others | own


def _option_names(key: str, kind: Any, info: OptionInfo) -> dict[str, Name]:
    declared = [str(info.default), *(info.param_decls or ())]
    kinds = get_args(kind) or (kind,)
    if bool in kinds:
        pairs = [word.partition("/") for word in declared]
        sides = [tuple(filter(None, (pair[i] for pair in pairs))) for i in (0, 2)]
        return {word: Name(key, side[0], side) for side in sides for word in side}
    several = any(get_origin(part) is list for part in kinds)
    return dict.fromkeys(declared, Name(key, declared[0], tuple(declared), "{}", info.metavar or "", several=several))


def read_names(options: type, args: Sequence[str]) -> Read:
    """A command line in the command's own names.

    Raises:
        UsageError: an option that there is not, one without its value, two names of one option that differ.
    """
    reader = _Reader(names_of(options), list(args))
    reader.run()
    infos = [get_args(hint)[1] for hint in options.__annotations__.values()]
    reader.read.arguments = [str(info.metavar) for info in infos if isinstance(info, ArgumentInfo)]
    _check_replicas(reader.read)
    return reader.read


def _check_replicas(read: Read) -> None:
    """Refuse a count of one replica's sequences where there are several: ours is of all."""
    (typed, _, value), (ranks, _, n) = (read.typed.get(key, ("", None, "1")) for key in ("batch", "dp"))
    if typed in OF_ONE_REPLICA and n != "1":
        raise UsageError(f"{typed} {value} is of one replica, and there are {ranks} {n}: --batch N for all of them")


class _Reader:
    """Reads words from the left."""

    def __init__(self, names: Mapping[str, Name], words: list[str]) -> None:
        self.names, self.words, self.n_words = names, words, len(words)
        self.read = Read()
        self._said: dict[str, dict[str, str]] = {}  # of each option of one value: the whole, and the parts by name

    def run(self) -> None:
        while self.words:
            word = self.words.pop(0)
            if word == "--":
                self.read.places += range(self.n_words - len(self.words), self.n_words)
                self.read.loose += self.words
                break
            if len(word) > 1 and word.startswith("-"):
                self._option(word)
            else:
                self.read.places.append(self.n_words - len(self.words) - 1)
                self.read.loose.append(word)
        for own, said in self._said.items():
            self.read.options += [own, ",".join(said.values())]

    def _option(self, word: str) -> None:
        typed, equals, value = word.partition("=")
        name = self._named(typed)
        if name is not None:
            self._found(typed, name, value if equals else None)
        elif word.startswith("--"):
            raise self._unknown(typed)
        else:
            self._letters(word)

    def _unknown(self, typed: str) -> UsageError:
        from glasscli.cli.misused import unknown_option

        return UsageError(unknown_option(typed, self.names))

    def _named(self, typed: str) -> Name | None:
        """What has that name; a `_` in a long one is a `-`."""
        return self.names.get(typed.replace("_", "-") if typed.startswith("--") else typed)

    def _letters(self, word: str) -> None:
        """`-qn5`: short names in one word, the last perhaps with its value."""
        long = f"-{word.partition('=')[0]}"
        if len(long) > 3 and self._named(long) is not None:
            raise UsageError(f"no option {long[1:]}. A long name has two hyphens: {long}")
        if elsewhere(long[1:], self.names.__contains__) or any(long[1:] == other.typed for other in words()):
            raise self._unknown(long[1:])
        for i, letter in enumerate(word[1:], 1):
            name = self.names.get(f"-{letter}")
            if name is None:
                raise self._unknown(word)
            rest = word[i + 1 :]
            self._found(f"-{letter}", name, rest if name.takes and rest else None)
            if name.takes:
                return

    def _found(self, typed: str, name: Name, value: str | None) -> None:
        """Keep an option, with the value that stands in its word, else with the next word where it takes one."""
        if not name.takes:
            if value is not None:
                raise UsageError(f"{typed} takes no value; {show(value)} was found")
            self._keep(typed, name, "")
            return
        if value is None:
            if not self.words:
                raise UsageError(f"{typed} needs a value: {typed} {name.metavar or 'VALUE'}")
            value = self.words.pop(0)
        self._keep(typed, name, value)

    def _keep(self, typed: str, name: Name, value: str) -> None:
        said = name.form.replace("{}", value)
        if name.part:
            self._said.setdefault(name.own, {})[name.form] = said
            self.read.typed[f"{name.field} {typed}"] = typed, name, value
            return
        before = self.read.typed.get(name.field)
        if before is not None and before[2] != value and not name.several:
            met = {before[0], typed}
            if len(met) == 2 and not met <= set(name.all_own):  # the other may mean another thing elsewhere
                raise UsageError(f"{before[0]} and {typed} are one option here. Give one of them.")
        self.read.typed[name.field] = typed, name, value
        if not name.own:
            self.read.texts[name.field] = said
        elif not name.form:
            self.read.options.append(name.own)
        elif name.several:
            self.read.options += [name.own, said]
        else:
            self._said[name.own] = {"": said} | {k: v for k, v in self._said.get(name.own, {}).items() if k}
