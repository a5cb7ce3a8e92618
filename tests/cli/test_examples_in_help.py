"""The examples at the end of a command's help do what they say, on a tiny model as well as on the shipped one."""

import shlex

import pytest
from helpers.dump_cases import tiny_folder
from helpers.in_process import glass

from glasscli.cli.commands import COMMANDS, load

IN_TINY = {"Lily": "t", "He": "t", "3.1,mlp0": "2.1,mlp0"}  # words and parts that the tiny model lacks


@pytest.mark.parametrize("name", ["ablate", "attend", "compare"])
def test_they_run(name: str) -> None:
    examples = [line.strip() for line in load(name).EPILOG.splitlines() if line.strip().startswith(f"glass {name} ")]
    assert len(examples) >= 3
    shown = glass(name, "--help", columns=200).out
    for example in examples:
        assert f"  {example}\n" in shown
        words = [IN_TINY.get(word, word) for word in shlex.split(example)[1:]]
        model = {} if name == "attend" else {"GLASS_MODEL": str(tiny_folder())}
        ran = glass(*words, env=model)
        assert (ran.code, ran.err) == (0, ""), example


@pytest.mark.parametrize("name", COMMANDS)
def test_they_fit_a_terminal_of_80_columns(name: str) -> None:
    lines = glass(name, "--help", columns=80).out.splitlines()
    assert [line for line in lines if line.startswith("    glass ") and len(line) > 80] == []
