"""Completion: what glass answers a shell, and that real shells show it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.in_process import Ran, glass
from helpers.terminal import environment

from glasscli.budget.devices import devices
from glasscli.budget.engines import ENGINES
from glasscli.budget.engines.vllm import Vllm
from glasscli.cache.formats.names import NAMES
from glasscli.cli.commands import COMMANDS, summary
from glasscli.cli.completion.answer import joined
from glasscli.cli.completion.scripts import SCRIPTS
from glasscli.cli.completion.values import FILES, VALUES
from glasscli.cli.help.described import described
from glasscli.cli.help.topics import TOPICS
from glasscli.inspect.steps import EVERY_STEP
from glasscli.lesson.chapters import CHAPTERS

# What stands for values that no list can hold.
OPEN = {
    "N", "N,…", "X", "T", "K", "P", "R", "S", "Q", "V", "Q,K", "A", "B", "TEXT", "TOKEN", "PARTS", "POSITION", "ROWS",
    "RATE", "SHARE", "SIZE", "F", "TOKEN=±X", "The,cat,…", "3.2,mlp1", "[PROMPT]", "[TEXT]",
}  # fmt: skip


def ask(*words: str, shell: str = "fish", **env: str) -> Ran:
    return glass(*words, env={"_GLASS_COMPLETE": shell, **env})


def offered(*words: str, shell: str = "fish", **env: str) -> list[str]:
    ran = ask(*words, shell=shell, **env)
    assert (ran.code, ran.err) == (0, "")
    return [line.split("\t")[0] for line in ran.out.splitlines()]


def test_commands() -> None:
    assert offered("") == list(COMMANDS)
    assert offered("kv") == ["kv-budget", "kv-quality"]
    assert ask("kv-b").out == f"kv-budget\t{summary('kv-budget')}\n"
    assert offered("--v") == ["--version"]
    assert offered("--install-completion", "") == ["bash", "zsh", "fish"]
    assert offered("no-such-command", "") == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_offered(name: str) -> None:
    own = [word for each in described(name) for word in each.names if word.startswith("--")]
    assert set(own) <= set(offered(name, "--"))


def test_options() -> None:
    assert offered("lens", "--to") == ["--token", "--top"]
    assert offered("lens", "--token", "Lily", "--to") == ["--top"]  # given already
    assert offered("kv-budget", "-s", "block_size=16", "--sett") == ["--setting"]  # may be repeated
    assert offered("lens", "-m") == ["-m"]
    assert offered("generate", "--max-tok") == ["--max-tokens"]  # another tool's name
    assert offered("generate", "--", "--t") == []  # a text
    assert offered("generate", "--stop", "--t") == []  # the value of --stop


def test_values() -> None:
    assert offered("kv-budget", "--engine", "") == list(ENGINES)
    assert offered("kv-budget", "--engine=v") == ["--engine=vllm"]
    assert offered("kv-budget", "--emit", "") == ["vllm", "llama.cpp", "sglang", "mlx"]
    assert offered("kv-budget", "--engine", "vllm", "-s", "") == [f"{name}=" for name in Vllm.options]
    assert offered("kv-budget", "--engine", "vllm", "-s", "async_scheduling=") == [
        "async_scheduling=true", "async_scheduling=false"
    ]  # fmt: skip
    assert offered("kv-budget", "--gpu", "") == [device.name for device in devices()]
    assert "8xh100" in offered("kv-budget", "--gpu", "8xh")
    assert "llama-3.1-8b" in offered("kv-budget", "-m", "llama-3")
    assert offered("kv-budget", "--compare", "gpt-2,llama-3.3") == ["gpt-2,llama-3.3-70b"]
    assert set(NAMES) < set(offered("generate", "--cache", ""))
    assert offered("generate", "--cache", "window=4,k=q4") == ["window=4,k=q4_1", "window=4,k=q4_0"]
    assert offered("kv-budget", "-ctk", "q4") == offered("kv-budget", "--k-dtype", "q4") == ["q4_1", "q4_0"]
    assert offered("generate", "--color", "") == ["auto", "always", "never"]
    assert set(offered("dump-attn", "--step", "")) == {*EVERY_STEP, "jacobian"}
    assert offered("dump-attn", "--step", "q,soft") == ["q,softcap", "q,softmax"]
    assert set(offered("lesson", "")) == {chapter.name for chapter in CHAPTERS}
    assert set(offered("help", "")) == {*TOPICS, *COMMANDS}
    assert offered("generate", "Once upon") == []


def test_models_of_the_download_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hub" / "models--org--some-name").mkdir(parents=True)
    (tmp_path / "hub" / "datasets--org--no").mkdir()
    hub = str(tmp_path / "hub")
    assert offered("generate", "-m", "", HF_HUB_CACHE=hub) == ["glass-1m", "org/some-name", "hub/"]
    assert offered("generate", "-m", "o", HF_HUB_CACHE=hub) == ["org/some-name"]


def test_of_files_only_those_of_models_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for name in ("a.gguf", "models/b.gguf", "config.json", "notes.txt", ".hidden.gguf", "two words.gguf", "$x.gguf"):
        (tmp_path / name).touch()
    assert offered("generate", "-m", "./") == ["./a.gguf", "./models/"]
    assert offered("generate", "--model=models/") == ["--model=models/b.gguf"]
    assert offered("info", "-m", ".h") == [".hidden.gguf"]
    assert offered("info", "-m", f"{tmp_path}/m") == [f"{tmp_path}/models/"]
    assert offered("kv-budget", "-m", "./") == ["./a.gguf", "./config.json", "./models/"]
    assert offered("kv-budget", "--compare", "gpt-2,./") == ["gpt-2,./a.gguf", "gpt-2,./config.json", "gpt-2,./models/"]


@pytest.mark.parametrize("words", [("generate", "-m", "./tw"), ("info", "-m", "~/m"), ("score", "--file", "")])
def test_other_files_are_left_to_the_shell(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = ask(*words, HF_HUB_CACHE=str(tmp_path))
    assert (ran.code, ran.out) == (1, "")


def test_every_kind_of_value_is_known() -> None:
    """A new word for a value in the help is listed here, or has values that can be completed."""
    words = {each.value for name in COMMANDS for each in described(name) if each.value and not each.choices}
    assert words - set(VALUES) - set(FILES) - OPEN == set()


def test_what_bash_breaks_is_joined() -> None:
    assert joined(["kv-budget", "--engine", "=", "v"]) == ["kv-budget", "--engine=v"]
    assert joined(["kv-budget", "-s", "block_size", "="]) == ["kv-budget", "-s", "block_size="]
    assert joined(["kv-budget", "-m", "hf", ":", "org/x"]) == ["kv-budget", "-m", "hf:org/x"]
    assert offered("kv-budget", "--engine", "=", "v", shell="bash") == ["vllm"]
    assert offered("generate", "--cache", "k", "=", "q8", shell="bash") == ["q8_0"]


def test_nothing_steers_a_shell(tmp_path: Path) -> None:
    (tmp_path / "models--a--b\x1b[31m\n$(touch x)").mkdir()
    shown = ask("generate", "-m", "", shell="zsh", HF_HUB_CACHE=str(tmp_path)).out
    assert shown.splitlines()[1] == "a/b?[31m?$(touch x):in Hugging Face's cache"
    assert "block_size=:tokens" in ask("kv-budget", "-s", "", shell="zsh").out


def test_a_mistake_is_silent() -> None:
    ran = ask("kv-budget", "--engine", "nonsense", "-s", "")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_scripts_are_shown_and_installed_once(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("alias ll=ls")
    env = {"HOME": str(tmp_path), "ZDOTDIR": "", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    for shell, script in SCRIPTS.items():
        assert glass("--show-completion", shell).out == script
        for _ in range(2):
            ran = glass("--install-completion", shell, env=env)
            assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / ".local/share/glass/completion.bash").read_text() == SCRIPTS["bash"]
    first, line = (tmp_path / ".bashrc").read_text().splitlines()
    assert first == "alias ll=ls"
    assert "completion.bash" in line
    assert (tmp_path / ".zshrc").read_text().count("completion.zsh") == 2  # in one line
    assert (tmp_path / ".config/fish/completions/glass.fish").read_text() == SCRIPTS["fish"]


def test_what_can_not_be_installed(tmp_path: Path) -> None:
    ran = glass("--install-completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert "'tcsh' is not one of bash, zsh, fish" in ran.err
    (tmp_path / ".local").write_text("")
    ran = glass("--install-completion", "bash", env={"HOME": str(tmp_path), "XDG_DATA_HOME": ""})
    assert ran.code == 1
    assert "can't be installed" in ran.err
    assert glass("--show-completion", "bash", "zsh").code == 2


def test_it_imports_little() -> None:
    program = (
        "import sys; from glasscli.cli.app import main; code = main(sys.argv[1:]);"
        "print(code, sorted({'numpy', 'rich', 'tokenizers', 'safetensors', 'typer'} & set(sys.modules)))"
    )
    for words in ([""], ["kv-budget", "-m", ""], ["dump-attn", "--step", ""], ["lesson", ""], ["kv-quality", "--"]):
        command = [sys.executable, "-c", program, *words]
        env = environment(_GLASS_COMPLETE="bash")
        ran = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
        assert ran.stdout.splitlines()[-1] == ("0 []" if words == [""] else "0 ['typer']"), words


@pytest.mark.parametrize("shell", SCRIPTS)
def test_in_a_real_shell(shell: str, tmp_path: Path) -> None:
    """Each shell reads its script, asks glass and has the one answer. bash and fish say it without a terminal."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    (tmp_path / "glass").write_text(f'#!/bin/sh\nexec {sys.executable} -m glasscli "$@"\n')
    (tmp_path / "glass").chmod(0o755)
    (tmp_path / "script").write_text(SCRIPTS[shell])
    asks = {
        "bash": ". ./script; COMP_WORDS=(glass kv-budget --engine = vl); COMP_CWORD=4; _glass_completion glass; "
        'printf "%s\\n" "${COMPREPLY[@]}"',
        "fish": "source ./script; complete --do-complete 'glass kv-budget --engine=vl' | string replace -r '\\t.*' ''",
        # zsh completes on a terminal alone: what it would offer is told here by stand-ins for its builtins.
        "zsh": "compdef() { }; _describe() { print -rl -- ${(P)${argv[3]}}; }; _files() { print files; }; . ./script; "
        "words=(glass kv-budget --engine=vl); CURRENT=3; _glass_completion",
    }
    env = {**environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [shell, "-c", asks[shell]], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60, check=False
    )
    assert re.fullmatch(r"(--engine=)?vllm\n", ran.stdout), ran.stderr
