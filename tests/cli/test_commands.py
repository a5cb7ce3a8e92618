"""Commands and their options: none can be forgotten, each option is described whole and written once."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from helpers.in_process import glass
from typer.models import ArgumentInfo, OptionInfo

from glasscli.cli.app import parser
from glasscli.cli.commands import COMMANDS, load, summary
from glasscli.cli.options import Group

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "cli" / "commands"


def described(name: str) -> dict[str, tuple[Any, OptionInfo | ArgumentInfo]]:
    """The fields of a command's `Options`: type, and what the command line says of it."""
    found = {}
    for field, hint in get_type_hints(load(name).Options, include_extras=True).items():
        assert get_origin(hint) is Annotated, f"{name}: {field}"
        kind, info = get_args(hint)
        found[field] = (kind, info)
    return found


def names_of(info: OptionInfo | ArgumentInfo) -> tuple[str, ...]:
    return (info.default, *info.param_decls) if isinstance(info, OptionInfo) else ()


def test_every_file_and_folder_is_a_command() -> None:
    files = {path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"}
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert {name.replace("-", "_") for name in COMMANDS} == files | folders
    assert len(COMMANDS) == len(set(COMMANDS)) >= 5


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_whole(name: str) -> None:
    module = load(name)
    assert callable(module.run)
    assert "Examples:" in module.EPILOG
    assert f"glass {name}" in module.EPILOG
    package = import_module(f"glasscli.cli.commands.{name.replace('-', '_')}")
    assert package.__doc__ is not None
    assert summary(name) == package.__doc__.splitlines()[0]
    assert f"  {name:<10}  {summary(name)}\n" in glass("--help").out
    assert " ".join(module.Options.__doc__.split()) in " ".join(glass(name, "--help").out.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_a_frozen_dataclass_with_defaults(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = load(name).Options
    assert dataclasses.is_dataclass(options)
    assert options.__dataclass_params__.frozen
    monkeypatch.delenv("GLASS_MODEL", raising=False)
    assert parser(name).main([], standalone_mode=False) == options()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_is_about(name: str) -> None:
    shown = glass(name, "--help", columns=200).out
    for field, (_, info) in described(name).items():
        assert info.help, field
        assert info.rich_help_panel in Group, field
        for decl in names_of(info):
            assert decl.split("/")[0] in shown, field


def test_what_several_commands_share_is_written_once() -> None:
    """Two options of the same name and the same words are one and the same."""
    seen: dict[tuple[tuple[str, ...], str | None], OptionInfo] = {}
    shared = 0
    for name in COMMANDS:
        for _, info in described(name).values():
            if isinstance(info, OptionInfo):
                first = seen.setdefault((names_of(info), info.help), info)
                assert first is info, f"{name}: {names_of(info)} is written twice; glasscli.cli.options has room for it"
                shared += 1
    assert shared > len(seen)


HELLO = '''"""Say hello"""

from dataclasses import dataclass
from typing import Annotated

from glasscli.cli.options import Group, Quiet, argument, option
from glasscli.cli.page.page import Page

EPILOG = "Examples:\\n  glass say-hello world"


@dataclass(frozen=True)
class Options:
    """Greet somebody."""

    name: Annotated[str | None, argument("[NAME]", "Whom to greet.")] = None
    times: Annotated[int, option("-n --times", "How often.", Group.view, metavar="N", min=1)] = 1
    quiet: Quiet = False


def run(options: Options) -> int:
    """Greet."""
    page = Page.of_stdout()
    page.show(page.flow("hello ", [options.name or "you"] * options.times))
    return 3
'''


def test_a_command_takes_one_file(tmp_path: Path) -> None:
    for name in ("glasscli", "cli"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "cli/commands/say_hello.py").write_text(HELLO)

    def run(*args: str) -> tuple[int, str]:
        env = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
        command = [sys.executable, "-m", "glasscli", *args]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, shown = run("--help")
    assert code == 0
    assert "\n  say-hello   Say hello\n" in shown
    assert shown.index(f"  info        {summary('info')}\n") < shown.index("  say-hello")
    code, shown = run("say-hello", "--help")
    assert code == 0
    assert "Greet somebody." in shown
    assert "-n, --times N" in shown
    assert shown.rstrip().endswith("glass say-hello world")
    assert run("say-hello", "Lily", "-n", "2") == (3, "hello Lily  Lily\n")
    assert run("say-hello", "-n", "0")[0] == 2
    assert "Did you mean say-hello?" in run("sayhello")[1]


def test_every_command_finds_and_loads_models_in_one_way() -> None:
    """`cli.models` is where a name, a path and a download are told apart; no command goes round it."""
    for path in sorted((ROOT / "cli").rglob("*.py")):
        if path.name != "models.py":
            assert not re.search(r"import .*\bload_model\b", path.read_text()), path
