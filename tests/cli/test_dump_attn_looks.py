"""`glass dump-attn`: every screen at every width, with hostile texts, in ASCII, in colour and without."""

import re
import shlex
import subprocess

import pytest
from helpers.dump_cases import PROMPT, tiny_folder
from helpers.in_process import dump_attn
from helpers.terminal import GLASS, environment, in_terminal
from helpers.terminal import glass as piped
from rich.cells import cell_len

HOSTILE = "a\x1b]52;c;aGk=\x07b\x9b31m\u202ec\u2028[bold][/]{x}\t日本語 👩‍👩‍👧 e\u0301 ́"


SCREENS = {
    "whole": [],
    "log": ["--scale", "log"],
    "head": ["--head", "1"],
    "decode": ["--decode"],
    "decode head": ["--decode", "--head", "3"],
    "new": ["--new", "3", "--seed", "1"],
    "new row": ["--new", "3", "--rows", "last"],
    "rows": ["--rows", "3:6"],
    "row": ["--rows", "5"],
    "scores": ["--step", "scores"],
    "cache": ["--step", "cache"],
    "mask": ["--step", "mask"],
    "jacobian": ["--step", "jacobian"],
    "no-mask": ["--what-if", "no-mask"],
    "no-scale": ["--what-if", "no-scale"],
    "weighted": ["--weighted"],
    "cell": ["--cell", "9,4", "--head", "1"],
    "heads": ["--heads"],
    "explain": ["--explain"],
    "blocked": ["--blocked", "--all"],
}
TEXTS = {"plain": PROMPT, "long": "the dog and the cat " * 7 + "the dog and the cat", "hostile": HOSTILE}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("screen", SCREENS)
def test_no_line_is_wider_than_the_page(screen: str, text: str) -> None:
    for columns in (40, 60, 80, 100, 200, 250):
        ran = dump_attn(*SCREENS[screen], TEXTS[text], columns=columns)
        assert (ran.code, ran.err) == (0, "")
        wide = [line for line in ran.out.splitlines() if cell_len(line) > columns]
        assert wide == [], columns


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_steers_the_terminal(screen: str) -> None:
    out = dump_attn(*SCREENS[screen], HOSTILE).out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u200d]", out)


@pytest.mark.parametrize("screen", SCREENS)
def test_ascii_pages_hold_ascii(screen: str) -> None:
    for text in TEXTS.values():
        ran = dump_attn(*SCREENS[screen], text, encoding="ascii")
        assert ran.code == 0
        assert ran.out.isascii()
        assert max(len(line) for line in ran.out.splitlines()) <= 100


def test_the_ascii_ramp_says_the_same() -> None:
    def maps(out: str) -> list[str]:
        lines = out.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith(" o  0"))
        return [line[6:] for line in lines[first : first + 15]]

    shaded, plain = maps(dump_attn(PROMPT).out), maps(dump_attn(PROMPT, encoding="ascii").out)
    assert [line.translate(str.maketrans("░▒▓█", ":-=#")) for line in shaded] == plain


def test_columns_stay_aligned_under_wide_characters() -> None:
    lines = dump_attn("--step", "softmax", "日本 🙂x", columns=100).out.splitlines()
    rows = [line for line in lines if re.match(r"^ +\S+ +\d+( +\d\.\d{3})+", line)]
    ends = {cell_len(line.split("0.")[0]) if "0." in line else None for line in rows if not line.startswith(" " * 20)}
    assert len({cell_len(re.match(r"^ +\S+ +\d+ ", line)[0]) for line in rows}) == 1, ends  # type: ignore[index]


COLOURS: dict[str, tuple[dict[str, str], list[str], bool]] = {
    "pipe": ({}, [], False),
    "always": ({}, ["--color", "always"], True),
    "never beats force": ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
    "force": ({"FORCE_COLOR": "1"}, [], True),
    "no color": ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, [], False),
    "always beats no color": ({"NO_COLOR": "1"}, ["--color", "always"], True),
    "dumb": ({"TERM": "dumb"}, [], False),
}


@pytest.mark.parametrize("case", COLOURS)
def test_colour_is_given_where_it_is_wanted(case: str) -> None:
    env, options, coloured = COLOURS[case]
    plain = dump_attn(PROMPT).out
    out = dump_attn(*options, PROMPT, env=env).out
    assert ("\x1b[" in out) is coloured
    without = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines())
    assert without == plain.rstrip("\n")  # colour only repeats what the characters say, at the same width


def test_a_terminal_is_told_what_to_try_and_a_pipe_is_not() -> None:
    code, shown = in_terminal("dump-attn", "-m", tiny_folder(), PROMPT, columns=100)
    assert code == 0
    assert "try  --head 1 (numbers)" in shown.splitlines()[-1]
    assert "\x1b[" in shown
    assert "try  " not in dump_attn(PROMPT).out
    assert "try  " not in in_terminal("dump-attn", "-m", tiny_folder(), "-q", PROMPT)[1]


def test_long_maps_are_pooled_and_say_so() -> None:
    out = dump_attn("--layer", "1", "ab" * 100).out
    found = re.search(r"each cell = max of (\d+)×\1", out)
    assert found
    step = int(found[1])
    rows = [int(n) for n in re.findall(r"^ [ab] +(\d+) \S", out, re.MULTILINE)]
    assert rows[:3] == [0, step, 2 * step]


@pytest.mark.parametrize(
    "env", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}]
)
def test_poor_locales_get_a_readable_page(env: dict[str, str]) -> None:
    ran = piped("dump-attn", "-m", tiny_folder(), "日本 🙂", **env)
    assert (ran.returncode, ran.stderr) == (0, b"")
    text = ran.stdout.decode("utf-8")
    assert "prefill 11 " in text
    assert "\N{REPLACEMENT CHARACTER}" not in text


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = shlex.join([*GLASS, "dump-attn", "-m", str(tiny_folder()), "--step", "out", "ab" * 200])
    script = f"set -o pipefail; {command} | head -c 20"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, env=environment(), check=False)
    assert ran.stderr == b""
    assert len(ran.stdout) == 20
    assert ran.returncode in (0, 141)
