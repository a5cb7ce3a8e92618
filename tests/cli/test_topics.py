"""`glass help`: what topics say is what the code does."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of
from helpers.terminal import environment

from glasscli.budget.engines import ENGINES
from glasscli.budget.model_facts import MODELS
from glasscli.cache.formats.names import NAMES
from glasscli.cli.commands import COMMANDS
from glasscli.cli.commands.kv_quality.screen import HEADERS
from glasscli.cli.help.described import described
from glasscli.cli.help.layout import lines_of
from glasscli.cli.help.parts import Table
from glasscli.cli.help.topics import TOPICS, topic_parts, topic_summary
from glasscli.cli.help.topics.exit_codes import CODES
from glasscli.cli.other_names import TOOLS
from glasscli.cli.page.cells import cells
from glasscli.dtypes import DTYPES, row_bytes
from glasscli.errors import GlassError
from glasscli.inspect.measures import MEANING
from glasscli.inspect.steps import EVERY_STEP
from glasscli.model.places import LAYER_PLACES, MODEL_PLACES

ROOT = Path(__file__).parents[2]


def rows(topic: str) -> dict[str, str]:
    return {row.name: row.text for part in topic_parts(topic) if isinstance(part, Table) for row in part.rows}


def test_every_file_is_a_topic_and_the_list_has_them_all() -> None:
    files = {path.stem.replace("_", "-") for path in (ROOT / "cli/help/topics").glob("*.py")} - {"--init--"}
    assert set(TOPICS) == files
    assert len(files) >= 8
    listed = " ".join(text_of(glass("help")).split())
    for topic in TOPICS:
        assert f"{topic} {topic_summary(topic)}" in listed


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_fits_every_width_and_an_ascii_terminal(topic: str) -> None:
    for width in range(40, 121):
        lines = ["".join(text for text, _ in line) for line in lines_of(topic_parts(topic), width)]
        assert [line for line in lines if cells(line) > width] == []
    ran = glass("help", topic, encoding="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert "\\u" not in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_its_own_help(name: str) -> None:
    assert text_of(glass("help", name)) == text_of(glass(name, "--help"))


def test_what_there_is_not() -> None:
    assert glass("help", "measurs").err == "glass: no topic 'measurs'. Did you mean measures?\n"
    ran = glass("help", "zzzzzzzz")
    assert (ran.code, ran.out) == (2, "")
    assert "Topics: engines," in ran.err
    assert "\x1b" not in glass("help", "\x1b[31m").err


def test_engines_are_told_with_all_their_settings() -> None:
    shown = text_of(glass("help", "engines", columns=200))
    for name, engine in ENGINES.items():
        part = shown.split(f"\n{name}:\n")[1].split("\n\n")[0]
        assert re.findall(r"^  (\w+)=", part, re.MULTILINE) == list(engine.options)
        for setting, option in engine.options.items():
            assert f"{setting}={str(option.default).lower()}" in part
    shown = text_of(glass("kv-budget", "--help"))
    assert "glass help engines" in shown
    assert "mamba_cache_mode" not in shown
    assert len(shown.splitlines()) < 104


def test_formats_are_those_there_are_with_their_bytes() -> None:
    said = rows("formats")
    assert set(said) == {*NAMES, *DTYPES}
    for name, dtype in DTYPES.items():
        if name != "fp8_ds_mla" and name not in NAMES:
            assert float(said[name].split(" B.")[0]) == pytest.approx(row_bytes(name, 128) / 128, rel=1e-3)
            assert dtype.says in said[name]
    # ggml-common.h: blocks of 32 in 34, 24, 22, 20 and 18 bytes.
    of_blocks = {"q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18}
    shown = text_of(glass("help", "formats"))
    for name, size in of_blocks.items():
        assert re.findall(rf"^  {name} +([\d.]+) B\.", shown, re.MULTILINE) == [f"{size / 32:.4g}"] * 2


def test_measures_explain_the_columns_of_screens() -> None:
    names = {name for key in rows("measures") for name in key.split(", ")} | set(MEANING)
    assert set(MEANING) <= set(rows("measures"))
    for header in HEADERS[1:]:
        assert header.removesuffix("/token") in names, header


def test_exit_codes_are_those_of_errors() -> None:
    def kinds(of: type[GlassError]) -> set[type[GlassError]]:
        return {of}.union(*map(kinds, of.__subclasses__()))

    assert {kind.exit_code for kind in kinds(GlassError)} <= set(CODES)
    source = (ROOT / "cli/app.py").read_text() + (ROOT / "cli/commands/generate/single.py").read_text()
    assert {int(code) for code in re.findall(r"(?:code = |return )(\d+)\b", source)} <= set(CODES)


def test_variables_are_all_that_the_source_reads() -> None:
    said = text_of(glass("help", "environment", columns=200))
    found = set()
    for path in [*(ROOT / "cli").rglob("*.py"), *(ROOT / "glasscli").rglob("*.py")]:
        text = path.read_text()
        if "os.environ" in text or "envvar=" in text or "constants." in text:
            words = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
            found |= {word for word in words if isinstance(word, str) and re.fullmatch(r"[A-Z][A-Z_]{3,}", word)}
    assert len(found) > 15
    metavars = {each.value for name in COMMANDS for each in described(name)}
    assert found - metavars - set(re.findall(r"\w+", said)) == set()
    sources = [*(ROOT / "cli").rglob("*.py"), *(ROOT / "glasscli").rglob("*.py")]
    read = "".join(path.read_text() for path in sources if "topics" not in path.parts)
    assert [variable for variable in rows("environment") if variable not in read] == []


def test_models_names_and_steps_are_those_there_are() -> None:
    shown = text_of(glass("help", "models", columns=200))
    assert {model.name for model in MODELS} <= set(re.findall(r"[\w.-]+", shown))
    steps = rows("steps")
    assert set(EVERY_STEP) <= set(steps)
    assert [steps["in a layer"], steps["of the model"]] == [", ".join(LAYER_PLACES), ", ".join(MODEL_PLACES)]
    shown = text_of(glass("help", "names", columns=200))
    for tool, said in TOOLS.items():
        part = shown.split(f"\n{tool}:\n")[1].split("\n\n")[0]
        for words in said.values():
            for word in words.split():
                assert re.search(rf"(?<!\S){re.escape(word.partition('=')[0])}\b", part), word


def test_a_topic_imports_what_it_needs_alone() -> None:
    program = (
        "import sys; from glasscli.cli.app import main; main(['help', sys.argv[1]]);"
        "print(sorted({'numpy', 'rich'} & set(sys.modules)))"
    )
    for topic in ("engines", "environment", "exit-codes", "models", "names"):
        command = [sys.executable, "-c", program, topic]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
        assert ran.stdout.splitlines()[-1] == "[]", topic
