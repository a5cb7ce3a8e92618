"""The line of one command up to the cursor: which options are given, and whether an option or a value is next."""

from collections.abc import Sequence
from importlib import import_module

from glasscli.cli.commands import options_module
from glasscli.cli.completion.values import FILES, values_of
from glasscli.cli.help.described import Described, described
from glasscli.cli.naming import Name, names_of

Choice = tuple[str, str]


class Line:
    """The words behind a command's name, the last perhaps empty or half typed.

    Attributes:
        given: what options before the cursor were given, by their own first name.
    """

    def __init__(self, command: str, words: Sequence[str]) -> None:
        *before, self.last = words
        self.command = command
        self.options = described(command, whole=False)
        self.names = names_of(import_module(options_module(command)).Options)
        self.given: dict[str, str] = {}
        self.n_arguments = 0
        self.only_arguments = False
        self.asked: Name | None = None  # the option whose value is next
        for word in before:
            self._read(word)

    def _read(self, word: str) -> None:
        if self.asked is not None:
            self.given[self.asked.own] = word
            self.asked = None
        elif self.only_arguments or len(word) < 2 or not word.startswith("-"):
            self.n_arguments += 1
        elif word == "--":
            self.only_arguments = True
        else:
            typed, equals, value = word.partition("=")
            name = self.names.get(typed)
            if name is not None:
                self.given[name.own] = value
                self.asked = name if name.form and not equals else None

    def choices(self) -> list[Choice] | None:
        """What may stand in place of the last word; None where that is a file."""
        if self.asked is not None:
            return self._values(self.asked, "", self.last)
        if self.last.startswith("-") and not self.only_arguments:
            typed, equals, value = self.last.partition("=")
            if equals:
                name = self.names.get(typed)
                return self._values(name, f"{typed}=", value) if name is not None and name.form else []
            return self._options()
        arguments = [each for each in self.options if not each.names]
        if self.n_arguments >= len(arguments):
            return []
        return self._choices(arguments[self.n_arguments], "", self.last)

    def _options(self) -> list[Choice]:
        """Options that can still be given; those of other tools where no name of ours begins like the last word."""
        free = [each for each in self.options if each.names and (each.many or each.names[0] not in self._taken())]
        short = len(self.last) == 2 and self.last != "--"
        own = [
            (name, _brief(each.help))
            for each in free
            for name in each.names
            if name.startswith(self.last) and (name.startswith("--") or short or len(each.names) == 1)
        ]
        others = [(name, f"is {meant.long or 'the text'}") for name, meant in self.names.items()]
        return own or [(name, about) for name, about in others if name.startswith(self.last)]

    def _taken(self) -> set[str]:
        owns = set(self.given)
        return {each.names[0] for each in self.options if owns & set(each.names)}

    def _values(self, name: Name, prefix: str, typed: str) -> list[Choice] | None:
        found = [each for each in self.options if name.own in each.names]
        return self._choices(found[0], prefix, typed) if found and name.form == "{}" else []

    def _choices(self, asked: Described, prefix: str, typed: str) -> list[Choice] | None:
        if asked.choices:
            return [(prefix + word, "") for word in asked.choices]
        if asked.value == "FILE" and typed.startswith((".", "/", "~")):
            return None
        found = [(prefix + word, about) for word, about in values_of(asked, typed, self.command, self.given)]
        near = any(word.startswith(self.last) for word, _ in found)
        return found if near or asked.value not in FILES else None


def _brief(text: str) -> str:
    """The first sentence."""
    return text.split(". ")[0].split(" [default")[0].rstrip(".")
