"""A text on a terminal is broken at words while it streams; a pipe, a file and `--no-wrap` leave it alone."""

import pytest
from helpers.in_process import glass, text_of
from helpers.screen import screen
from helpers.terminal import in_terminal

STORY = ("generate", "Once upon a time", "--seed", "7", "-n", "120")


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("args", [[], ["--show", "colour"]])
def test_lines_end_at_words_and_the_text_is_the_same(columns: int, args: list[str]) -> None:
    text = "Once upon a time" + text_of(glass(*STORY))
    code, written = in_terminal(*STORY, *args, "-q", columns=columns)
    assert code == 0
    lines = screen(written, columns)
    assert "\x1b[2mOnce upon a time" in written  # the prompt is dim
    assert not any(line.startswith(">") for line in lines)  # what the terminal had to break
    assert [word for line in lines for word in line.split()] == text.split()
    own = text.split("\n")
    assert len(lines) > len(own)
    starts = [paragraph.split()[:1] for paragraph in own if paragraph]
    assert all(start in [line.split()[:1] for line in lines] for start in starts)  # its own newlines stay


@pytest.mark.parametrize("command", [[*STORY, "--no-wrap"], [*STORY, "--no-wrap", "--samples", "1"]])
def test_without_it_lines_are_the_text_s_own(command: list[str]) -> None:
    _, written = in_terminal(*command, "-q", "--color", "never", columns=40)
    assert "Once upon a time" + text_of(glass(*STORY)) in written
    assert "\b" not in written


def test_wide_and_very_long_words(model: list[str]) -> None:
    """A prompt of wide characters and one of a single word, echoed: no line is wider than the terminal."""
    for prompt in ("日本語 " * 12 + "🙂" * 30, "x" * 130):
        _, written = in_terminal(*model, prompt, "-n", "1", "--seed", "1", "-q", "--color", "never", columns=40)
        lines = screen(written, 40)
        assert not any(line.startswith(">") for line in lines)
        assert "".join("".join(lines).split()).startswith("".join(prompt.split()))
