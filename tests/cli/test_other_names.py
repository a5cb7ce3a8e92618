"""Other tools' names: each is accepted by every command that has the option, and none takes another's place."""

import re
import shlex
from typing import Any

import pytest
from helpers.in_process import glass

from glasscli.cli.app import parser
from glasscli.cli.commands import COMMANDS, load
from glasscli.cli.naming import names_of, read_names
from glasscli.cli.other_names import OURS, TEXT, TOOLS, Word, short_list, words
from glasscli.errors import UsageError


def options_of(name: str, *args: str) -> Any:
    """What a command makes of its words."""
    read = read_names(load(name).Options, args)
    return read.completed(parser(name).main(read.args, standalone_mode=False))


def having(word: Word) -> list[str]:
    """The commands that have what a word means."""
    metavars = ("[TEXT]", "[PROMPT]")
    found = []
    for name in COMMANDS:
        hints = load(name).Options.__annotations__.values()
        infos = [hint.__metadata__[0] for hint in hints]
        owned = [decl for info in infos for decl in (info.default, *(info.param_decls or ()))]
        if word.own in owned or (word.own == TEXT and any(info.metavar in metavars for info in infos)):
            found.append(name)
    return found


@pytest.mark.parametrize("word", list(words()), ids=lambda word: f"{word.own} {word.typed}")
def test_every_name_is_accepted_where_the_option_is(word: Word) -> None:
    commands = having(word)
    assert commands, "no command has this option"
    for name in commands:
        known = names_of(load(name).Options)
        meant = known[word.typed]
        if word.own == TEXT:
            assert getattr(options_of(name, word.typed, "a text"), meant.field) == "a text"
        elif word.typed in meant.all_own:
            assert word.own in meant.all_own, f"{name}: {word.typed} is {meant.all_own}, not {word.own}"
        elif not meant.form:
            assert options_of(name, word.typed) == options_of(name, word.own)
        elif not meant.takes:
            assert options_of(name, word.typed) == options_of(name, word.own, word.form)
        else:
            value = "never" if word.own == "--color" else "8"
            assert options_of(name, word.typed, value) == options_of(name, word.own, word.form.replace("{}", value))
            assert options_of(name, f"{word.typed}={value}") == options_of(name, word.typed, value)


def test_a_name_means_one_thing_in_a_command() -> None:
    """Whatever the tool: two meanings of a name never meet in one command."""
    for name in COMMANDS:
        meant: dict[str, set[tuple[str, str]]] = {}
        for word in words():
            if name in having(word):
                field = names_of(load(name).Options)[word.own].field if word.own != TEXT else TEXT
                meant.setdefault(word.typed, set()).add((field, word.form))
        assert {typed: several for typed, several in meant.items() if len(several) > 1} == {}


def test_own_names_come_first() -> None:
    for name in COMMANDS:
        for hint in load(name).Options.__annotations__.values():
            for decl in (hint.__metadata__[0].default, *(hint.__metadata__[0].param_decls or ())):
                for side in str(decl).split("/") if str(decl).startswith("-") else ():
                    assert side in names_of(load(name).Options)[side].all_own, f"{name} {side}"


def test_the_short_list_holds_every_name_once_a_tool() -> None:
    lines = short_list()
    others = {tool: said for tool, said in TOOLS.items() if tool != OURS}
    assert [line.split(":")[0] for line in lines] == [f"* **{tool}**" for tool in others]
    for line, said in zip(lines, others.values(), strict=True):
        names = re.findall(r"`(\S+)`", line)
        assert len(names) == len(set(names))
        assert set(names) == {word.partition("=")[0] for text in said.values() for word in text.split()}


def test_tools_are_spelled_alike() -> None:
    spelled = [typed for said in TOOLS.values() for text in said.values() for typed in text.split()]
    for typed in spelled:
        name = typed.partition("=")[0]
        assert name.startswith("-"), typed
        assert "_" not in name, f"{typed}: an underscore is read as a hyphen"
        assert re.fullmatch(r"--[a-z][a-z0-9-]+|-[a-z]{1,3}|-no-kvu", name), typed


@pytest.mark.parametrize(
    ("name", "typed", "own"),
    [
        ("generate", "-p Hi -n 5 --temp 0.5 -s 3", "Hi -n 5 -t 0.5 --seed 3"),
        ("generate", "Hi --repeat-penalty 1.1 --predict 4", "Hi --repetition-penalty 1.1 -n 4"),
        ("generate", "--prompt=Hi --max_new_tokens=5 --top_k 4 --no_cache", "Hi -n 5 --top-k 4 --no-cache"),
        ("generate", "Hi -ctk q8_0 -ctv q4_0", "Hi --cache k=q8_0,v=q4_0"),
        ("generate", "-ctv q4_0 Hi --cache sinks=4,window=8", "Hi --cache sinks=4,window=8,v=q4_0"),
        ("generate", "-hf org/name -sys Be -p -5", "-m hf:org/name --system Be -- -5"),
        ("generate", "-qn5 -t.5 Hi", "-q -n 5 -t .5 Hi"),
        ("generate", "-n=5 -r a -r b", "-n 5 --stop a --stop b"),
        ("generate", "-p Hi --no-echo -- ", "Hi --no-echo"),
        ("kv-budget", "--hq 8 -c 8k -c 4k --max-num-seqs 2", "--hq 8 --ctx 8k --ctx 4k --batch 2"),
        ("kv-budget", "-tp 2 -pp 3 -dp 4 -dcp 2 -ep", "--tp 2 --pp 3 --dp 4 --dcp 2 --ep"),
        ("kv-budget", "-ctk q8_0 --kv-bits 4", "--k-dtype q8_0 --dtype mlx_q4"),
        ("kv-budget", "-sblock_size=16 -s a=b", "-s block_size=16 -s a=b"),
        ("kv-budget", "--swa-full -ub 256 -no-kvu", "-s swa_full=true -s n_ubatch=256 -s kv_unified=false"),
        ("dump-attn", "Hi -n 3 -s 4", "Hi --new 3 --seed 4"),
    ],
)
def test_lines_mean_the_same(name: str, typed: str, own: str) -> None:
    assert options_of(name, *typed.split()) == options_of(name, *own.split())


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("generate", "--nonsense", "no option --nonsense. --help lists those there are."),
        ("generate", "-z", "no option -z."),
        ("generate", "-qz", "no option -qz."),
        ("generate", "--tempp 1", "no option --tempp. Did you mean --temperature?"),
        ("generate", "-layer 1", "no option -layer. A long name has two hyphens: --layer"),
        ("kv-budget", "-hq 32", "no option -hq. A long name has two hyphens: --hq"),
        ("kv-budget", "--weights 8", "no option --weights."),
        ("kv-budget", "--swa-full=1", "--swa-full takes no value; '1' was found"),
        ("generate", "--json=1", "--json takes no value; '1' was found"),
        ("generate", "Hi --temp", "--temp needs a value: --temp T"),
        ("generate", "Hi -p Ho", "-p gives a text, and so does 'Hi': choose one"),
        ("generate", "--temp 1 -t 2", "--temp and -t are one option here. Give one of them."),
        ("kv-budget", "--dtype f16 --kv-cache-dtype fp8", "--dtype and --kv-cache-dtype are one option here."),
    ],
)
def test_what_can_not_be_read(name: str, args: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        options_of(name, *args.split())
    assert str(caught.value).startswith(says)


def test_short_names_in_one_word_may_ask_for_help() -> None:
    assert options_of("generate", "-hq") == 0


def test_a_second_argument_may_be_given_by_name_alone() -> None:
    assert options_of("lesson", "-p", "Hi") == load("lesson").Options(text="Hi")


def test_an_option_given_again_by_its_name_or_with_its_value_counts_last() -> None:
    assert options_of("generate", "-n", "5", "-n", "6").max_new_tokens == 6
    assert options_of("generate", "-n", "5", "--max-new-tokens", "6").max_new_tokens == 6
    assert options_of("generate", "--temp", "1", "-t", "1").temperature == 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["kv-budget", "--hq", "8", "--max-model-len", "x"], "glass: --max-model-len: 'x' is not a number of tokens."),
        (["kv-budget", "--hq", "8", "--ctx", "x"], "glass: --ctx: 'x' is not a number of tokens."),
        (["kv-budget", "--hq", "8", "--tokens", "x"], "glass: --tokens: 'x' is not a number of tokens."),
        (["kv-budget", "--hq", "8", "-tp", "x"], "glass: -tp: 'x' is not a count."),
        (["dump-attn", "--heads", "-l", "1"], "glass: -l has no effect with --heads"),
    ],
)
def test_a_message_names_an_option_as_it_was_typed(args: list[str], says: str) -> None:
    ran = glass(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(says)


def test_a_name_that_changes_its_value_says_so() -> None:
    ran = glass("generate", "Hi", "-ctk", "q9_0")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "       -ctk q9_0 is read as --cache k=q9_0"


LOADED = {"--model", "--model-path"}  # what an engine is to load: an emitted line leaves its name open
PLANS = [  # and an option of the engine that a plan implies
    (["--engine", "vllm", "--tp", "2", "--dtype", "fp8", "--page", "32"], ""),
    (["--engine", "vllm", "--dcp", "2", "--tp", "16", "--ep", "-s", "max_num_batched_tokens=4096"], ""),
    (["--engine", "sglang", "--tp", "2", "--pp", "2", "-s", "page_size=64"], "--max-total-tokens"),
    (["--engine", "sglang", "--dtype", "fp8", "-s", "disable_radix_cache=true"], "--max-total-tokens"),
]


@pytest.mark.parametrize(("plan", "apart"), PLANS)
def test_an_engines_own_command_line_is_read(plan: list[str], apart: str) -> None:
    """What --emit writes for an engine, given back to kv-budget as it stands, is the same plan."""
    asked = ["kv-budget", "-m", "deepseek-v3" if "--ep" in plan else "llama-3.1-8b", "--ctx", "8k", "--batch", "4"]
    emitted = glass(*asked, *plan, "--emit", plan[1])
    assert emitted.code == 0, emitted.err
    words = shlex.split(emitted.out)
    words = words[next(i for i, word in enumerate(words) if word.startswith("--") and word not in LOADED) :]
    for name in LOADED & set(words):
        del words[words.index(name) : words.index(name) + 2]
    if apart in words:
        del words[words.index(apart) : words.index(apart) + 2]
    again = glass(*asked[:3], "--engine", plan[1], *words, "--json")
    assert again.code == 0, again.err
    assert again.out == glass(*asked, *plan, "--json").out
