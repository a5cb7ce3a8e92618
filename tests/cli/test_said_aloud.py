"""-q, -v, --color and what the environment says of colour mean the same in every command."""

import re
from pathlib import Path

import pytest
from helpers.dump_cases import tiny_folder
from helpers.in_process import Ran, glass, text_of

from glasscli.cli.commands import COMMANDS, load
from glasscli.cli.help.described import described

ROOT = Path(__file__).parents[2]
ASKING = [name for name in COMMANDS if name != "help"]
LINES = {
    "generate": ["ab", "-n", "3", "--seed", "1"],
    "dump-attn": ["ab"],
    "kv-budget": ["--hq", "8", "--hkv", "2"],
    "kv-quality": ["ab" * 300, "--spec", "q8_0", "--ctx", "16", "--chunks", "1"],
    "score": ["abab"],
    "lens": ["ab"],
    "tokenize": ["ab"],
    "info": [],
    "ablate": ["ab"],
    "attend": ["--scores", "1 0; 0 1"],
    "compare": ["ab", "ba"],
    "lesson": ["mask"],
}


def run(name: str, *more: str, **env: str) -> Ran:
    model = {} if name in ("attend", "kv-budget", "lesson", "kv-quality") else {"GLASS_MODEL": str(tiny_folder())}
    return glass(name, *LINES[name], *more, env={**model, **env})


@pytest.mark.parametrize("name", ASKING)
def test_every_command_has_them_from_one_place(name: str) -> None:
    said = {each.title: each for each in described(name)}
    first = {each.title: each for each in described(ASKING[0])}
    for title in ("-q, --quiet", "-v, --verbose", "--color", "-h, --help"):
        assert said[title] == first[title]
    assert {"quiet", "verbose", "color"} <= set(load(name).Options.__dataclass_fields__)


@pytest.mark.parametrize("name", ASKING)
def test_verbose_tells_on_stderr_how_the_answer_came_about(name: str) -> None:
    plain, told = run(name), run(name, "-v")
    assert (plain.code, told.code) == (0, 0)
    if name != "kv-budget":  # whose screen has more to say
        assert told.out == plain.out
    assert re.search(r"^glass: \d+\.\d\d s in all\n\Z", told.err, re.MULTILINE)
    assert "s in all" not in plain.err
    if name not in ("attend", "kv-budget"):
        assert told.err.count("glass: model: ") == 1


@pytest.mark.parametrize("name", ASKING)
def test_quiet_says_nothing_beside_an_answer_that_stays(name: str) -> None:
    plain, quiet = run(name), run(name, "-q")
    assert (quiet.code, quiet.err) == (0, "")
    numbers = set(re.findall(r"\d+\.\d+", quiet.out))
    assert quiet.out.strip()
    assert numbers <= set(re.findall(r"\d+\.\d+", plain.out))
    assert run(name, "-q", "-v").code == 2


@pytest.mark.parametrize("name", ["dump-attn", "score", "lens", "info", "ablate", "attend", "compare"])
def test_quiet_leaves_a_page_in_a_pipe_as_it_is(name: str) -> None:
    assert run(name, "-q").out == run(name).out


def test_quiet_keeps_what_was_asked_for() -> None:
    asked = ["kv-budget", "--hq", "32", "--hkv", "8", "--ctx", "8k", "-q"]
    assert "a decode step" in text_of(glass(*asked, "--bandwidth", "1TB/s"))
    assert "a decode step" not in text_of(glass(*asked))
    assert "does not fit" in text_of(glass(*asked, "--budget", "64MiB"))
    assert text_of(glass(*asked, "--emit", "vllm")).startswith("vllm serve ")


def test_both_at_once_are_refused() -> None:
    for name in ASKING:
        assert "don't go together: choose one" in run(name, "--quiet", "--verbose").err


@pytest.mark.parametrize("name", ["dump-attn", "kv-budget", "lens", "info", "ablate", "compare", "lesson"])
@pytest.mark.parametrize(
    ("env", "more", "coloured"),
    [
        ({"CLICOLOR_FORCE": "1"}, [], True),
        ({"CLICOLOR_FORCE": "0"}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, [], False),
        ({"CLICOLOR_FORCE": "1"}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
    ],
)
def test_colour(name: str, env: dict[str, str], more: list[str], coloured: bool) -> None:
    assert ("\x1b[" in run(name, *more, **env).out) is coloured


def test_one_place_decides_about_colour() -> None:
    for path in (ROOT / "cli").rglob("*.py"):
        if path.name != "console.py" and "topics" not in path.parts:
            assert not re.search(r"NO_COLOR|FORCE_COLOR|CLICOLOR|COLORTERM", path.read_text()), path
