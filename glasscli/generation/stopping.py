"""Stop strings in a stream: what may be shown already, and what must wait.

Sits between the token decoder and whoever shows the text. Knows characters only, no tokens.
"""

from collections.abc import Sequence

from glasscli.errors import UsageError


class StopText:
    """Lets text through, but holds back whatever may turn out to be the start of a stop string.

    Feed it with `push`, end it with `finish`. Once `matched` tells a stop string, the text before it is out and
    nothing of it or after it ever will be. Where several match, the one that is complete first counts, then the
    longest: so the answer doesn't depend on how the text was cut into pieces.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        if "" in stops:
            raise UsageError("a stop string is empty: every text would stop before it starts")
        self._stops = tuple(dict.fromkeys(stops))
        self._held = ""
        self.matched: str | None = None

    def push(self, text: str) -> str:
        """Take in more text; return what can be shown now."""
        if not self._stops:
            return text
        if self.matched is not None:
            return ""
        held = self._held + text
        found = [(held.find(stop) + len(stop), -len(stop), stop) for stop in self._stops if stop in held]
        if found:
            end, minus_length, self.matched = min(found)
            self._held = ""
            return held[: end + minus_length]
        keep = max(_overlap(held, stop) for stop in self._stops)
        self._held = held[len(held) - keep :]
        return held[: len(held) - keep]

    def finish(self) -> str:
        """The text still held back, now that none will follow."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of `text` are the start of `stop`."""
    for n in range(min(len(text), len(stop) - 1), 0, -1):
        if stop.startswith(text[len(text) - n :]):
            return n
    return 0
