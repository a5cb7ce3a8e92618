"""`--help`: all is said, in groups, at any width, coloured where that is wanted."""

import re
import shlex
from itertools import pairwise

import pytest
from helpers.in_process import glass
from helpers.terminal import in_terminal

from glasscli.cli.commands import COMMANDS, load
from glasscli.cli.help.command import command_parts
from glasscli.cli.help.described import described
from glasscli.cli.help.layout import command_lines, lines_of, text_of
from glasscli.cli.help.overview import overview
from glasscli.cli.help.parts import Heading, Part, Prose, Row, Sample, Table, Usage, parts_of, table
from glasscli.cli.options import Group
from glasscli.cli.page.cells import cells

PAGES = {"glass": overview, **{name: lambda name=name: command_parts(name) for name in COMMANDS}}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def shown(parts: list[Part], width: int) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines_of(parts, width)]


def words(text: str) -> list[str]:
    return ESCAPE.sub("", text).replace(" \\\n", " ").split()


@pytest.mark.parametrize("page", PAGES)
def test_nothing_stands_beyond_the_edge_and_nothing_is_lost(page: str) -> None:
    parts = PAGES[page]()
    whole = words("\n".join(shown(parts, 120)))
    for width in range(40, 121):
        lines = shown(parts, width)
        assert [line for line in lines if cells(line) > width] == []
        assert [line for line in lines if line != line.rstrip()] == []
        assert words("\n".join(lines)) == whole, width


def test_a_command_has_one_line_of_80_columns() -> None:
    shown = glass("--help", columns=80).out.split("Commands:\n")[1].split("\n\n")[0]
    assert [line.split()[0] for line in shown.splitlines()] == list(COMMANDS)


def test_text_goes_below_an_option_where_there_is_no_room_beside_it() -> None:
    parts = [Heading("Size"), Table([Row("-n, --number", "N", "How many there are of them, at most.")])]
    assert shown(parts, 80) == ["Size:", "  -n, --number N  How many there are of them, at most."]
    assert shown(parts, 40) == ["Size:", "  -n, --number N", "      How many there are of them, at", "      most."]


def test_a_name_too_long_for_its_column_has_a_line_of_its_own() -> None:
    rows = [Row("--short", "", "One."), Row("--an-option-with-a-name", "<like|this|long>", "Two.")]
    assert shown([Table(rows)], 80) == [
        "  --short  One.",
        "  --an-option-with-a-name <like|this|long>",
        "           Two.",
    ]


def test_a_command_line_is_broken_as_a_shell_reads_it() -> None:
    command = 'echo "a long text in double quotes" | glass generate --json --top-k 5 \'and "more" of it\''
    for width in range(30, 90):
        lines = command_lines(command, width)
        assert all(line.endswith(" \\") for line in lines[:-1])
        joined = "\n".join(lines).replace("\\\n", "")
        assert shlex.split(joined) == shlex.split(command)
    assert len(command_lines(command, 40)) > 2


def test_an_option_and_its_value_stay_on_one_line() -> None:
    command = 'echo "The dog" | glass generate --top-k 40 --stop "." --cache sinks=4+window=28 "a text of words" -n 60'
    for width in range(36, 90):
        lines = [line.removesuffix(" \\") for line in command_lines(command, width)]
        assert not any(line.endswith(("--top-k", "--stop", "--cache", "-n", "|", "glass")) for line in lines)


def test_blocks_of_an_epilog() -> None:
    text = "Some words,\nand more.\n\n\b\nFormats:\n  q8_0       eight bits,\n             in blocks\n  window=256 "
    parts = parts_of(text + " the last\n\n\b\nExamples:\n  glass info\n  glass info --json")
    assert [type(part) for part in parts] == [Prose, Heading, Table, Heading, Sample]
    prose, _, rows, examples, sample = parts
    assert isinstance(prose, Prose)
    assert prose.text == "Some words, and more."
    assert isinstance(rows, Table)
    assert [(row.name, row.text) for row in rows.rows] == [
        ("q8_0", "eight bits, in blocks"),
        ("window=256", "the last"),
    ]
    assert isinstance(examples, Heading)
    assert isinstance(sample, Sample)
    assert (examples.text, sample.lines) == ("Examples", ("glass info", "glass info --json"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_its_group_with_its_default(name: str) -> None:
    parts = command_parts(name)
    groups = {a.text: b for a, b in pairwise(parts) if isinstance(a, Heading) and isinstance(b, Table)}
    order = [a for a in groups if a in set(Group)]
    assert order == [group for group in Group if group in groups]
    options = load(name).Options()
    for asked, (field, value) in zip(described(name), vars(options).items(), strict=False):
        rows = groups[asked.group if asked.names else "Arguments"].rows
        (row,) = [row for row in rows if (row.name == asked.title if asked.names else row.name == asked.value)]
        assert asked.help in row.text
        if value is not None and not isinstance(value, bool):
            assert f"[default: {f'{value:g}' if isinstance(value, float) else value}]" in row.text, field
    assert any(row.name == "-h, --help" for row in groups[Group.output].rows)


@pytest.mark.parametrize(
    ("env", "args", "coloured"),
    [
        ({}, [], False),
        ({"CLICOLOR_FORCE": "1"}, [], True),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"CLICOLOR_FORCE": "0"}, [], False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, [], False),
        ({"CLICOLOR_FORCE": "1"}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color=always"], True),
    ],
)
@pytest.mark.parametrize("command", [[], ["lens"]], ids=["glass", "lens"])
def test_colour(command: list[str], env: dict[str, str], args: list[str], coloured: bool) -> None:
    plain = glass(*command, "--help").out
    out = glass(*command, "--help", *args, env=env).out
    assert ("\x1b[1;38;5;28mExamples:\x1b[0m" in out) is coloured
    assert ("\x1b" in out) is coloured
    assert ESCAPE.sub("", out) == plain


def test_defaults_are_dimmed_over_line_ends() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLICOLOR_FORCE", "1")
        patch.setenv("COLUMNS", "40")
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("TERM", "xterm")
        text = text_of([table([("name", "It is a number [x] of them [default: the number that was] and [y]")])])
    dimmed = "".join(re.findall(r"\x1b\[2m([^\x1b]*)", text))
    assert dimmed.split() == ["[default:", "the", "number", "that", "was]"]


def test_on_a_terminal_as_wide_as_it_is() -> None:
    for columns in (40, 80, 200):
        code, text = in_terminal("kv-budget", "--help", columns=columns)
        assert code == 0
        assert "\x1b[1;" in text
        assert max(map(cells, ESCAPE.sub("", text).splitlines())) <= min(columns, 120)


def test_an_ascii_terminal_gets_ascii() -> None:
    for command in ([], *([name] for name in COMMANDS)):
        ran = glass(*command, "--help", encoding="ascii")
        assert ran.code == 0
        escaped = [line for line in ran.out.splitlines() if "\\u" in line or "\\x" in line]
        assert [line for line in escaped if 'glass tokenize "' not in line] == [], command  # a text to be typed


def test_usage_is_one_line() -> None:
    assert shown([Usage("glass lens [OPTIONS] [PROMPT]")], 80) == ["Usage: glass lens [OPTIONS] [PROMPT]"]
    assert "Usage: glass lens [OPTIONS] [PROMPT]\n" in glass("lens", "--help").out
