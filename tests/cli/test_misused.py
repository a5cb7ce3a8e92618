"""Command lines that can't be used: each gets an exit code of 2, one or two lines, and what to type instead."""

import pytest
from helpers.in_process import glass

from glasscli.cli.app import parser
from glasscli.cli.commands import COMMANDS, load
from glasscli.cli.misused import COMMANDS_ELSEWHERE, quoted
from glasscli.cli.naming import names_of, read_names
from glasscli.cli.other_names import ELSEWHERE, words

HEADS = ["kv-budget", "--hq", "8"]
NEAR = [  # the words, and what is said after `glass: `
    # options
    (["generate", "Hi", "--tempp", "1"], "no option --tempp. Did you mean --temperature?"),
    (["generate", "Hi", "--tmeperature", "1"], "no option --tmeperature. Did you mean --temperature?"),
    (["generate", "Hi", "--topp", "1"], "no option --topp. Did you mean --top-p?"),
    (["generate", "Hi", "--max-token", "1"], "no option --max-token. Did you mean --max-new-tokens?"),
    (["generate", "Hi", "--tokens", "1"], "no option --tokens. Did you mean --max-new-tokens?"),
    (["generate", "Hi", "--sede", "1"], "no option --sede. Did you mean --seed?"),
    ([*HEADS, "--weights", "1"], "no option --weights. --help lists those there are."),
    ([*HEADS, "--tensor-paralel-size", "1"], "no option --tensor-paralel-size. Did you mean --tp?"),
    ([*HEADS, "-hkv", "2"], "no option -hkv. A long name has two hyphens: --hkv"),
    (["dump-attn", "--layers", "1"], "no option --layers. Did you mean --layer?"),
    (["generate", "Hi", "--merges"], "no option --merges. glass tokenize has it."),
    (["generate", "Hi", "-tp", "2"], "no option -tp. glass kv-budget has it."),
    (["info", "--seed", "3"], "no option --seed. glass generate and dump-attn have it."),
    (["info", "--ablate", "2.1"], "no option --ablate. glass generate, dump-attn, lens, compare and score have it."),
    (["tokenize", "--merge", "Hi"], "no option --merge. Did you mean --merges?"),
    (["generate", "- a point"], "no option - a point. A text that begins with a hyphen goes behind -p, or behind --"),
    (["generate", "-5 degrees"], "no option -5 degrees. A text that begins with a hyphen goes behind -p, or behind --"),
    # their values
    ([*HEADS, "--dtype", "q4"], "--dtype: 'q4' is not a cache dtype. Did you mean q4_0 or q4_1?"),
    ([*HEADS, "-ctk", "q4"], "-ctk: 'q4' is not a cache dtype. Did you mean q4_0 or q4_1?"),
    (["kv-budget", "-m", "gpt-2", "--gpu", "80"], "--gpu: '80' has no unit. Write 80GB, or the name of a device"),
    (["generate", "Hi", "--show", "attention"], "--show: 'attention' is not one of probs, attn, colour, color. Did yo"),
    (["kv-budget", "-m", "gpt-2", "--gpu", "h10"], "--gpu: no device is called 'h10'. Did you mean h100"),
    (["kv-budget", "-m", "lama-3.1-8b"], "no model is called 'lama-3.1-8b'. Did you mean llama-3.1-8b?"),
    ([*HEADS, "-s", "blocksize"], "-s blocksize: logical has no such setting. Did you mean block_size?"),
    ([*HEADS, "-s", "dcp=8"], "-s dcp=8: here it is an option of its own: --dcp"),
    ([*HEADS, "-s", "mamba-ssm-dtype=f32"], "-s mamba-ssm-dtype=f32: here it is an option of its own: --state-dtype"),
    ([*HEADS, "-s", "block_size"], "-s block_size: write NAME=VALUE, like block_size=1"),
    ([*HEADS, "--swa-full"], "--setting swa_full=true: a setting of llama.cpp, not of logical."),
    (["dump-attn", "--what-if", "nomask"], "--what-if: 'nomask' is not one of no-mask, no-scale. Did you mean no-"),
    (["dump-attn", "--step", "sofmax"], "no step 'sofmax'. Did you mean softmax?"),
    (["dump-attn", "--step", "rope"], "no step 'rope'. Did you mean rope_k or rope_q?"),
    (["generate", "Hi", "--overflow", "slid"], "--overflow: 'slid' is not one of error, left, slide. Did you mean sl"),
    (["generate", "Hi", "--cache", "kiv4"], "--cache 'kiv4': 'kiv4' is not known. Did you mean kivi4?"),
    (["kv-quality", "--spec", "q4"], "--spec 'q4': 'q4' is not known. Did you mean q4_0 or q4_1?"),
    (["generate", "Hi", "--cache", "int4"], "--cache 'int4': 'int4' is not known. Did you mean q4_1, q4_0 or kivi4?"),
    (["kv-quality", "--cache", "8bit"], "--cache '8bit': '8bit' is not known. Did you mean q8_0?"),
    (["kv-quality", "q4_0"], "'q4_0' stands where the text goes. A cache: --spec q4_0"),
    (["lesson", "sofmax"], "there is no chapter 'sofmax'. Did you mean softmax?"),
    (["info", "--color", "nevr"], "--color: 'nevr' is not one of auto, always, never. Did you mean never?"),
    # commands
    (["genrate"], "no command 'genrate'. Did you mean generate?"),
    (["dumpattn"], "no command 'dumpattn'. Did you mean dump-attn?"),
    (["perplexity", "Hi"], "no command 'perplexity'. Here it is glass score"),
    (["version"], "no command 'version'. Here it is glass --version"),
    (["--hlp"], "no option --hlp in front of a command. Did you mean --help?"),
    (["xyz"], "no command 'xyz'. Commands: generate, "),
    (["--temp", "1"], "no option --temp in front of a command. Options follow it"),
]  # fmt: skip
NUMBERS = [
    (["generate", "Hi", "--temperature", "0,7"], "--temperature: '0,7' is not a number. With a point: 0.7"),
    (["generate", "Hi", "--temp", ",5"], "--temp: ',5' is not a number. With a point: .5"),
    (["generate", "Hi", "--temp", "warm"], "--temp: 'warm' is not a number."),
    (["generate", "Hi", "--top-k", "many"], "--top-k: 'many' is not a whole number."),
    (["compare", "a", "b", "--patch", "all", "--at", "x"], "--at: 'x' is not a whole number."),
    (["generate", "Hi", "-s", "1.5"], "-s: '1.5' is not a whole number."),
    (["generate", "Hi", "--max-tokens", "-1"], "--max-tokens: -1 is too small: at least 0."),
    (["generate", "Hi", "-n", "1,02"], "-n: '1,02' is not a whole number."),
    (["generate", "Hi", "-n", "1,000,00"], "-n: '1,000,00' is not a whole number."),
    (["generate", "Hi", "-n", "0.3k"], "-n: '0.3k' is not a whole number."),
    (["kv-quality", "--ctx", "x"], "--ctx: 'x' is not a number of tokens."),
    (["kv-quality", "-c", "x"], "-c: 'x' is not a number of tokens."),
    ([*HEADS, "--ctx-size", "x"], "--ctx-size: 'x' is not a number of tokens."),
    (["score", "Hi", "--max-model-len", "1"], "--max-model-len: 1 is too small: at least 2."),
]
QUOTES = [
    (["generate", "Once", "upon", "a", "time"], 'glass generate "Once upon a time"'),
    (["generate", "-n", "5", "Once", "upon", "-q", "a"], 'glass generate -n 5 "Once upon a" -q'),
    (["generate", "--", "-5", "is", "cold"], 'glass generate -- "-5 is cold"'),
    (["dump-attn", "It's", "$5"], 'glass dump-attn "It\'s \\$5"'),
    (["lesson", "4", "Lily", "ran"], 'glass lesson 4 "Lily ran"'),
    (["tokenize", "Oh", "no!"], "glass tokenize 'Oh no!'"),
]


@pytest.mark.parametrize(("args", "says"), [*NEAR, *NUMBERS], ids=lambda value: " ".join(value)[:60])
def test_it_says_what_was_perhaps_meant(args: list[str], says: str) -> None:
    ran = glass(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"glass: {says}")
    assert len(ran.err.splitlines()) <= 2


@pytest.mark.parametrize("command", [["generate", "Hi"], ["tokenize", "Hi"], ["info"]])
def test_a_name_that_kv_budget_alone_knows_is_said_to_be_that(command: list[str]) -> None:
    says = "glass: gpt-2: glass has its sizes, for kv-budget, and no weights of it. hf:org/name is fetched from"
    ran = glass(*command, "-m", "gpt-2")
    assert (ran.code, ran.out, ran.err.startswith(says)) == (1, "", True)
    assert "does not exist" in glass(*command, "-m", "gpt-9").err


@pytest.mark.parametrize(("args", "line"), QUOTES, ids=lambda value: " ".join(value))
def test_a_text_without_quotes_is_shown_with_them(args: list[str], line: str) -> None:
    ran = glass(*args)
    assert (ran.code, ran.out) == (2, "")
    said, shown = ran.err.splitlines()
    assert said.startswith("glass: a text of several words goes in quotes, and '")
    assert shown == f"       Try: {line}"


def test_a_long_text_without_quotes_is_not_shown_again() -> None:
    ran = glass("generate", *["word"] * 500)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["compare", "The", "cat", "ran."], "3 texts, where 2 are expected. A text of several words goes in quotes"),
        (
            ["kv-budget", "llama-3.1-8b"],
            "kv-budget takes no text; 'llama-3.1-8b' was found. A model is named by -m: -m ",
        ),
        (
            ["kv-budget", "--compare", "gpt-2", "qwen3-8b", "gemma-2-2b", "--ctx", "8k"],
            "'qwen3-8b' stands alone: values of one option have commas between\n"
            "       Try: glass kv-budget --compare gpt-2,qwen3-8b,gemma-2-2b --ctx 8k\n",
        ),
        (
            ["kv-budget", "-m", "gpt-2", "--tokens", "8k,", "32k"],
            "'32k' stands alone: values of one option have commas between\n"
            "       Try: glass kv-budget -m gpt-2 --tokens 8k,32k\n",
        ),
        (["help", "steps", "now"], "help takes one topic, and 'now' is one more"),
        (["attend", "1 0"], "attend takes no text; '1 0' was found."),
        (["generate", "Hi", "—seed", "3"], "'—seed' begins with a dash, as pages print it. Hyphens: --seed"),
        (["generate", "—Hi", "he", "said"], "a text of several words goes in quotes, and 'he' stands outside"),
        (["generate", f"-- {'x' * 99}"], f"no option -- {'x' * 37}…. A text that begins with a hyphen goes behind -p"),
        (["generate", "Hi", "-p", "Ho"], "-p gives a text, and so does 'Hi': choose one"),
    ],
)
def test_other_arguments_too_many(args: list[str], says: str) -> None:
    ran = glass(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"glass: {says}")


def test_what_other_tools_have_and_we_have_not_is_told() -> None:
    """Each name of the list is refused with its word by every command that has the option the word is about."""
    for names, need, word in ELSEWHERE:
        having = [name for name in COMMANDS if need in names_of(load(name).Options)]
        assert having, need
        for name in having:
            known = names_of(load(name).Options)
            for typed in names.split():
                if typed not in known:
                    assert glass(name, typed, "8").err == f"glass: no option {typed}. {word}\n"


def test_commands_of_other_tools_lead_to_ours() -> None:
    for typed, ours in COMMANDS_ELSEWHERE.items():
        assert typed not in COMMANDS
        name, *option = ours.split()
        assert name in COMMANDS
        assert all(word in names_of(load(name).Options) for word in option)


def test_a_count_of_one_replica_is_refused_beside_several() -> None:
    for typed in ("--max-num-seqs", "--max-running-requests"):
        assert typed in [word.typed for word in words()]
        ran = glass(*HEADS, typed, "4", "-dp", "2")
        said = f"glass: {typed} 4 is of one replica, and there are -dp 2: --batch N for all of them\n"
        assert (ran.code, ran.err) == (2, said)
        assert glass(*HEADS, typed, "4", "--dp", "1").code == 0


@pytest.mark.parametrize("text", ["8192", "8k", "8K", "8,192", " 8192 "])
def test_lengths_read_alike(text: str) -> None:
    """Whatever the command and whatever the option is called."""
    named = [("score", "--ctx", "context"), ("score", "-c", "context"), ("score", "--stride", "stride")]
    named += [("generate", "-n", "max_new_tokens"), ("generate", "--max-tokens", "max_new_tokens")]
    named += [("dump-attn", "--new", "new"), ("kv-quality", "--ctx", "context"), ("kv-quality", "-c", "context")]
    named += [("generate", "--top-k", "top_k"), ("compare", "--at", "at"), ("generate", "-s", "seed")]
    for name, typed, field in named:
        read = read_names(load(name).Options, [typed, text])
        assert getattr(parser(name).main(read.args, standalone_mode=False), field) == 8192, (name, typed)
    shown = glass(*HEADS, "-c", text, "--json")
    if "," in text:  # a list, which may mean 8 and 192
        assert "may be one number or several" in shown.err
        return
    assert (shown.code, shown.out) == (0, glass(*HEADS, "-c", "8192", "--json").out)


@pytest.mark.parametrize(
    ("word", "shell"),
    [
        ("a", "a"),
        ("a b", '"a b"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("$a", '"\\$a"'),
        ("a\\b", '"a\\\\b"'),
        ("!", "'!'"),
    ],
)
def test_words_as_a_shell_reads_them(word: str, shell: str) -> None:
    assert quoted(word) == shell
