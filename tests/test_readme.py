"""The README is true: its examples show what it says, its commands run, its links lead somewhere."""

import re
import shlex

import pytest
from helpers.terminal import glass
from readme_examples import README, ROOT, Example, comparable, examples, names

from glasscli.budget.engines import ENGINES
from glasscli.cli.commands import COMMANDS

TEXT = README.read_text()
EXAMPLES = list(examples(TEXT))
FIRST_SCREEN = TEXT.split("\n## ")[0]
ROWS = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| `(glass [^`]+)` \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES, ids=[e.source.splitlines()[0][:60] for e in EXAMPLES])
def test_examples_print_what_is_shown(example: Example) -> None:
    assert comparable(example.run()) == comparable(example.shown)


def test_the_main_commands_are_shown() -> None:
    shown = " ".join(e.source for e in EXAMPLES)
    for command in ("glass generate", "glass dump-attn", "glass kv-budget", "load_model"):
        assert command in shown


def test_the_table_of_commands_has_them_all() -> None:
    assert {name for name, _ in ROWS} == set(COMMANDS)
    assert all(line.split()[1] == name for name, line in ROWS)


def test_the_table_of_engines_has_them_all() -> None:
    """But the mathematics, which is no engine's; with the version whose rules are followed."""
    rows = dict(re.findall(r"^\| `([\w.-]+)` \| ([^|]+) \|$", TEXT.split("| `--engine` |")[1].split("\n\n")[0], re.M))
    assert set(rows) == set(ENGINES) - {"logical"}
    assert all(re.search(r"\d", what) for what in rows.values())


def test_the_list_of_other_tools_names_is_current() -> None:
    assert f"\n\n{names()}\n" in TEXT
    said = re.findall(r"`(-[^`]+)`", names())
    assert {"--ctx-size", "--max-tokens", "--max-model-len", "--tp-size", "--num-ctx"} <= set(said)


@pytest.mark.parametrize("line", [line for _, line in ROWS])
def test_what_the_table_says_to_try_runs(line: str) -> None:
    args = shlex.split(line)[1:]
    if args[0] == "generate" and "--seed" not in args:  # a text that is drawn may end with its first token
        args += ["--seed", "1"]
    ran = glass(*args)
    assert (ran.returncode, bool(ran.stdout.strip())) == (0, True), ran.stderr


def test_the_first_screen_shows_what_it_is_and_how_to_start() -> None:
    """A name, a sentence, three promises of a line each, the two commands, two pictures; 40 lines at most."""
    assert FIRST_SCREEN.startswith("# glass\n")
    assert len(FIRST_SCREEN.splitlines()) <= 40
    promises = re.findall(r"^\* \*\*.*", FIRST_SCREEN, re.MULTILINE)
    assert len(promises) == 3
    assert "\n\n" + "\n".join(promises) + "\n\n" in FIRST_SCREEN
    commands = re.findall(r"^(make \w+) ", FIRST_SCREEN, re.MULTILINE)
    assert commands == ["make run", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{command.split()[1]}: " in makefile for command in commands)
    assert re.findall(r'<img src="([^"]+)"', FIRST_SCREEN) == ["tests/data/terminal.svg", "tests/data/page.png"]


def test_relative_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT) + re.findall(r'(?:src|href)="([^"]+)"', TEXT)
    assert len(targets) >= 6
    for target in targets:
        assert (ROOT / target).exists(), target


def test_pictures_say_what_they_show() -> None:
    """To those who can't see them."""
    pictures = re.findall(r"<img [^>]*>", TEXT)
    assert all(re.search(r'alt="[^"]{40,}"', picture) for picture in pictures)


def test_the_picture_of_the_page_is_there_and_small() -> None:
    data = (ROOT / "tests" / "data" / "page.png").read_bytes()
    assert data[:16] == b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert width >= 1000
    assert height >= 600
    assert len(data) <= 200_000
