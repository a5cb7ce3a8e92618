"""`glass kv-budget` on every terminal: no line too wide, nothing cut without a mark, colours only where wanted."""

import json
import os
import re
import subprocess
import sys
import unicodedata

import pytest
from helpers.in_process import glass

COMMANDS = [
    "--hq 32 --hkv 8",
    "--hq 32 --hkv 8 --ctx 1k,8k,1M --budget 24GiB --batch 64 --tp 8",
    "--hq 1000000000000 --hkv 1000000000000 --ctx 1000000000",
    "--hq 12 --k-dtype q8_0 --v-dtype q4_0",
    "--model gemma-3-27b --engine vllm --batch 7 --budget 80GB --tp 2",
    "--model deepseek-v3.2",
    "--model nemotron-3-nano --engine llama.cpp --batch 2",
    "--compare gpt-3-175b,deepseek-v3,qwen3.5-397b-a17b --budget 80GB",
    "--compare gpt-3-175b,deepseek-v3,gemma-3-27b --sweep --budget 20GB",
    "--hq 32 --hkv 8 --sweep --axis linear",
    "--list",
]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def cells(line: str) -> int:
    """Columns of a terminal that `line` takes."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in ESCAPE.sub("", line)
    )


@pytest.mark.parametrize("columns", [20, 30, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal(command: str, columns: int) -> None:
    ran = glass("kv-budget", *command.split(), columns=columns)
    assert ran.code == 0
    widest = max(ran.out.splitlines(), key=cells)
    assert cells(widest) <= columns, widest
    assert "…" not in ran.out  # nothing is cut


@pytest.mark.parametrize("command", [command for command in COMMANDS if "--sweep" not in command])
def test_every_number_is_there_at_every_width(command: str) -> None:
    """Plots apart: they have as many labels as they have room for."""
    sizes = [sizes_in(glass("kv-budget", *command.split(), "-q", columns=n).out) for n in (40, 200)]
    assert sizes[0] == sizes[1]


def sizes_in(screen: str) -> set[str]:
    """All the sizes on a screen, but those in footnotes that a narrow list leaves out."""
    return set(re.findall(r"[\d,.]+ [KMGTPEZY]iB", screen.replace("\n", " ")))


@pytest.mark.parametrize("command", COMMANDS)
def test_ascii_where_nothing_else_can_be_shown(command: str) -> None:
    ran = glass("kv-budget", *command.split(), columns=80, encoding="ascii")
    assert ran.code == 0
    assert ran.out.isascii()
    assert "\\u" not in ran.out
    assert "\\x" not in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_colours(command: str) -> None:
    args = ("kv-budget", *command.split())
    plain = glass(*args).out
    assert "\x1b" not in plain
    for env in ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "", "TERM": "xterm"}):
        assert glass(*args, env=env).out == plain
    colored = glass(*args, "--color", "always", env={"NO_COLOR": "1", "TERM": "dumb"}).out
    assert "\x1b" in colored
    assert ESCAPE.sub("", colored) == plain
    assert "\x1b" in glass(*args, env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in glass(*args, "--color", "never", env={"FORCE_COLOR": "1"}).out


@pytest.mark.parametrize("form", ["--json", "--csv", "--emit vllm"])
def test_data_is_never_decorated(form: str) -> None:
    args = ("kv-budget", "--model", "gemma-3-27b", *form.split())
    plain = glass(*args)
    for columns in (20, 200):
        ran = glass(*args, "--color", "always", columns=columns)
        assert ran == plain
        assert "\x1b" not in ran.out


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The real program in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    return subprocess.run(
        [sys.executable, *args], env={**kept, **env}, capture_output=True, text=True, encoding="utf-8", check=False
    )


MODULES = """
import sys
from glasscli.cli.app import main
code = main({args!r})
print(code, [name for name in {names!r} if name in sys.modules], file=sys.stderr)
"""
HEAVY = ("numpy", "tokenizers", "safetensors", "rich", "pydantic")


@pytest.mark.parametrize(
    ("args", "loaded"),
    [
        (["kv-budget", "--hq", "32", "--hkv", "8", "--json"], []),
        (["kv-budget", "--model", "gemma-3-27b", "--csv"], []),
        (["kv-budget", "--model", "gemma-3-27b", "--emit", "vllm", "-q"], []),
        (["kv-budget", "--model", "gemma-3-27b", "--sweep"], []),
        (["kv-budget", "--help"], []),
        (["kv-budget", "--hq", "32", "--hkv", "8"], []),
        (["kv-budget", "--compare", "gemma-3-27b,llama-3.1-8b"], []),
    ],
)
def test_nothing_heavy_is_imported(args: list[str], loaded: list[str]) -> None:
    ran = run("-c", MODULES.format(args=args, names=HEAVY))
    assert ran.stderr.strip() == f"0 {loaded}"


def test_a_reader_who_has_seen_enough() -> None:
    command = f"{sys.executable} -m glasscli kv-budget --list | head -c 5"
    ran = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert len(ran.stdout) == 5
    assert ran.stderr == ""
    assert ran.returncode in (0, 141)


def test_a_full_disk() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    command = f"{sys.executable} -m glasscli kv-budget --hq 8 > /dev/full"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "glass: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(
    ("args", "code"),
    [(["--hq", "8"], 0), (["--hq", "8", "--json"], 0), (["--config", "-"], 1), (["--config", "-", "--json"], 1)],
)
def test_closed_streams(args: list[str], code: int) -> None:
    command = f"{sys.executable} -m glasscli kv-budget {' '.join(args)} <&-"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ran.returncode == code
    assert "Traceback" not in ran.stderr
    if "--json" in args:
        json.loads(ran.stdout)
