"""The line that says how far a download or a load is: on a terminal's stderr, after a second, and gone at the end."""

import io
import time
from contextlib import redirect_stderr, suppress

import pytest

from glasscli import load_model
from glasscli.checkpoint import safetensors_file
from glasscli.cli import models
from glasscli.cli.models import Bar, bar_line
from glasscli.locate.shipped import shipped_folder
from glasscli.progress import Progress, told


class Screen(io.StringIO):
    """A terminal, or what only looks like a file."""

    def __init__(self, terminal: bool = True) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def row(self) -> str:
        """What the cursor's row shows once everything has been written."""
        shown: list[str] = []
        for part in self.getvalue().split("\r"):
            shown[: len(part)] = part
        return "".join(shown)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setattr(models, "PATIENCE", 0.0)
    monkeypatch.setattr(models, "BREATH", 0.01)
    monkeypatch.setenv("COLUMNS", "60")
    return Screen()


def wait_for(text: str, screen: Screen) -> None:
    end = time.monotonic() + 20
    while text not in screen.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    assert text in screen.getvalue()


def test_a_line_is_drawn_and_taken_away(screen: Screen) -> None:
    with redirect_stderr(screen):
        bar = Bar()
        bar.moved("model.safetensors", 0, 1000)
        wait_for("0 B of 1,000 B", screen)
        bar.moved("model.safetensors", 500, 1000)
        wait_for("500 B of 1,000 B", screen)
        bar.over()
        assert screen.row().strip() == ""
        before = screen.getvalue()
        bar.over()
        assert screen.getvalue() == before


def test_what_a_terminal_echoes_of_an_interruption_is_taken_away_too(screen: Screen) -> None:
    with redirect_stderr(screen):
        bar = Bar()
        bar.moved("caches", 500, None)
        wait_for("500 B", screen)
        screen.write("^C")
        bar.over()
        assert screen.row().strip() == ""
        bar.moved("a name that takes all the columns of a terminal, and more of them", 500, None)
        wait_for("a name that takes", screen)
        bar.over()
        assert screen.row().strip() == ""
        assert max(map(len, screen.getvalue().split("\r"))) < 60


def test_what_is_quick_shows_nothing(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "PATIENCE", 60.0)
    with redirect_stderr(screen):
        bar = Bar()
        bar.moved("loading", 0, 1000)
        time.sleep(0.1)
        bar.over()
        assert screen.getvalue() == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_no_bar_in_a_pipe_nor_when_quiet(quiet: bool, screen: Screen) -> None:
    with redirect_stderr(screen):
        screen.terminal = quiet
        bar = Bar(quiet=quiet)
        bar.moved("loading", 0, 1000)
        time.sleep(0.1)
        bar.note("a word")
        bar.over()
        assert screen.getvalue() == ("" if quiet else "glass: a word\n")


@pytest.mark.parametrize("width", [19, 39, 79, 199])
@pytest.mark.parametrize("what", ["loading", "model-00001-of-00030.safetensors", "\x1b[31m日本語.gguf" * 9, ""])
@pytest.mark.parametrize(("done", "total"), [(0, None), (5, None), (0, 0), (0, 9), (7 * 2**40, 9 * 2**40), (9, 9)])
def test_lines_fit(width: int, what: str, done: int, total: int | None) -> None:
    line = bar_line(what, done, total, width, blocks=False)
    assert len(line) <= width
    assert line.isascii()
    assert line.isprintable()


def test_a_bar_is_as_full_as_the_work_is_done() -> None:
    half = bar_line("loading", 50, 100, 79, blocks=True)
    assert half.count("█") == half.count("░") == 20
    assert half.endswith("50 B of 100 B")


def test_pieces_of_work_are_counted(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bar_line("parts taken out", 1200, 2400, 79, True, "{:,}".format).endswith("1,200 of 2,400")
    heard: list[tuple[str, int, int]] = []

    class Kept(Progress):
        def counted(self, what: str, done: int, total: int) -> None:
            heard.append((what, done, total))

    assert list(told("abc", "letters", Kept())) == ["a", "b", "c"]
    assert heard == [("letters", 0, 3), ("letters", 1, 3), ("letters", 2, 3)]
    assert list(told("abc", "letters", None)) == ["a", "b", "c"]
    monkeypatch.setattr(models, "PATIENCE", 0.0)
    with redirect_stderr(screen), suppress(KeyboardInterrupt), models.working(quiet=False) as bar:
        bar.counted("letters", 1, 3)
        time.sleep(0.3)
        assert "1 of 3" in screen.getvalue()
        raise KeyboardInterrupt
    assert screen.getvalue().endswith("\r")


def test_loading_tells_every_byte() -> None:
    told: list[tuple[int, int | None]] = []

    class Kept(Progress):
        def moved(self, what: str, done: int, total: int | None) -> None:
            told.append((done, total))

        def over(self) -> None:
            told.append((-1, None))

    load_model(progress=Kept())
    header = safetensors_file.read_header(shipped_folder() / "model.safetensors")
    total = sum(info.n_bytes for info in header.values())
    assert told[0] == (0, None)
    assert told[-1] == (-1, None)
    assert {all_bytes for _, all_bytes in told[1:-1]} == {total}
    assert [done for done, _ in told[1:-1]] == sorted(done for done, _ in told[1:-1])
