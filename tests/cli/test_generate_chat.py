"""`glass generate --chat` and its kin: what is read, what is shown of it, and notes about prompts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.chats import CHATML, chat_folder
from helpers.in_process import glass, text_of
from helpers.model_folders import sentencepiece_like, write_folder
from helpers.terminal import environment

from glasscli import load_model

SYSTEM = "<|im_start|>system\nBe brief.<|im_end|>\n"
USER = "<|im_start|>user\nHi<|im_end|>\n"
ASSISTANT = "<|im_start|>assistant\n"


@pytest.fixture(scope="module")
def chatty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return chat_folder(tmp_path_factory.mktemp("chat") / "chatty")


@pytest.fixture
def chat(chatty: Path) -> list[str]:
    return ["generate", "-m", str(chatty), "-n", "3", "--seed", "1"]


def test_the_prompt_is_shown_as_it_is_read(chat: list[str], tmp_path: Path) -> None:
    assert text_of(glass(*chat, "--chat", "Hi", "--show-prompt")) == USER + ASSISTANT + "\n"
    assert text_of(glass(*chat, "--chat", "--show-prompt", stdin=b"Hi\n")) == USER + ASSISTANT + "\n"
    given = ["--chat", "--system", "Be brief.", "Hi", "--show-prompt"]
    assert text_of(glass(*chat, *given)) == SYSTEM + USER + ASSISTANT + "\n"
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    (tmp_path / "turns.json").write_text("\ufeff" + json.dumps(turns), "utf-8")
    before = USER + ASSISTANT + "Yes?<|im_end|>\n"
    shown = text_of(glass(*chat, "--messages", str(tmp_path / "turns.json"), "--show-prompt"))
    assert shown == before + ASSISTANT + "\n"
    more = glass(
        *chat, "--messages", "-", "Hi", "--system", "Be brief.", "--show-prompt", stdin=json.dumps(turns).encode()
    )
    assert text_of(more) == SYSTEM + before + USER + ASSISTANT + "\n"
    assert text_of(glass(*chat, "plain", "--show-prompt")) == "plain\n"


def test_the_text_follows_the_prompt_that_was_shown(chat: list[str], chatty: Path) -> None:
    document = json.loads(text_of(glass(*chat, "--chat", "Hi", "--json")))
    shown = json.loads(text_of(glass(*chat, "--chat", "Hi", "--json", "--show-prompt")))
    assert document["prompt"] == shown["prompt"] == USER + ASSISTANT
    assert document["messages"] == shown["messages"] == [{"role": "user", "content": "Hi"}]
    loaded = load_model(chatty)
    ids = loaded.tokenizer.encode(USER + ASSISTANT, parse_special=True, framed=False)
    assert document["prompt_ids"] == shown["prompt_ids"] == ids
    assert text_of(glass(*chat, "--chat", "Hi", "--echo")) == "Hi\n" + document["text"] + "\n"
    assert document["sampling"]["chat"] is True


def test_every_line_of_a_file_is_a_chat_of_its_own(chat: list[str], tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes("\ufeffHi\r\nHi\n".encode())
    given = ["--prompts", str(tmp_path / "p"), "--chat", "--system", "Be brief.", "--json"]
    results = json.loads(text_of(glass(*chat, *given)))["results"]
    assert [result["prompt"] for result in results] == [SYSTEM + USER + ASSISTANT] * 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["x", "--system", "y"], "--system has no chat to go into"),
        (["--messages", "f", "--prompts", "g"], "--messages and --prompts are two sources"),
        (["--messages", "no such file"], "no such file: can't be read"),
        (["--prompts", "-", "--show-prompt"], "--show-prompt prints one prompt"),
    ],
)
def test_wrong_usage(chat: list[str], args: list[str], says: str) -> None:
    ran = glass(*chat, *args)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) <= 2


def test_two_system_messages_are_one_too_many(chat: list[str]) -> None:
    turns = b'[{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]'
    ran = glass(*chat, "--messages", "-", "--system", "c", stdin=turns)
    assert (ran.code, "both have a system message" in ran.err) == (2, True)


def test_a_model_without_a_template_says_so(model: list[str]) -> None:
    ran = glass(*model, "--chat", "Hi")
    assert (ran.code, ran.out) == (2, "")
    assert "has no chat template" in ran.err


def test_without_jinja_nothing_is_loaded(chat: list[str]) -> None:
    code = (
        "import sys; sys.modules['jinja2'] = None; from glasscli.cli.app import main; "
        "code = main(sys.argv[1:]); assert 'numpy' not in sys.modules or code; sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *chat, "--chat", "Hi"], capture_output=True, env=environment(), check=False
    )
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.decode() == (
        "glass: a chat template needs Jinja2, which is not installed: pip install 'glasscli[chat]'\n"
    )


def test_a_turn_ends_where_the_tokenizer_says(chatty: Path) -> None:
    """tokenizer_config.json alone calls `</s>` the end; config.json says 0."""
    loaded = load_model(chatty)
    assert loaded.config.eos_ids == (0, loaded.tokenizer.id_of("</s>"))
    shown = json.loads(text_of(glass("info", "-m", str(chatty), "--json")))
    assert shown["config"]["eos_ids"] == list(loaded.config.eos_ids)


# Notes.


def said(*args: str, stdin: bytes = b"") -> list[str]:
    ran = glass(*args, stdin=stdin)
    assert ran.code == 0, ran.err
    return [line.removeprefix("glass: ") for line in ran.err.splitlines()]


def test_a_template_that_is_not_used_gets_one_note(chat: list[str], model: list[str]) -> None:
    (note,) = said(*chat, "Hi")
    assert note.startswith("this model has a chat template: --chat ")
    assert said(*chat, "Hi", "--chat") == said(*chat, "Hi", "-q") == said(*model, "Hi", "-n", "1", "--seed", "1") == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["a <|endoftext|> b"], "<|endoftext|> in the prompt is read as text: --special reads it as a token"),
        (["<|endoftext|>b", "--special"], "<|endoftext|> begins the prompt, and the tokenizer puts one in front of"),
        ([r"one\ntwo"], r"\n in the prompt is two characters"),
        (["x", "--stop", r"\n\n"], r"\n in --stop is two characters"),
        (["x "], "the prompt ends in a space"),
    ],
)
def test_a_slip_in_a_prompt_gets_one_note(model: list[str], args: list[str], says: str) -> None:
    given = [*model, *args, "-n", "1", "--seed", "1"]
    (note,) = said(*given)
    assert note.startswith(says)
    assert said(*given, "-q") == []


def test_what_is_right_gets_none(model: list[str]) -> None:
    more = ["-n", "1", "--seed", "1"]
    assert said(*model, "a <|endoftext|> b", "--special", *more) == []
    assert said(*model, *more, stdin=rb"a regular expression: \n+") == []
    assert said(*model, "one\ntwo", "--stop", "\n", *more) == []


def test_samples_of_a_chat_are_those_of_their_seeds(chat: list[str]) -> None:
    args = (*chat, "--chat", "--system", "Be brief.", "Hi", "--json")
    results = json.loads(text_of(glass(*args, "--samples", "2")))["results"]
    for i, result in enumerate(results):
        alone = json.loads(text_of(glass(*args, "--seed", str(1 + i))))
        assert [result[key] for key in ("text", "prompt", "messages")] == [
            alone[key] for key in ("text", "prompt", "messages")
        ]


def test_several_prompts_are_numbered(model: list[str]) -> None:
    text = b"good\n<|endoftext|> bad\n ok {}\n<|endoftext|> {bad} \n"
    names, space = said(*model, "--prompts", "-", "-n", "1", "--seed", "1", stdin=text)
    assert names.startswith("<|endoftext|> in prompts 2, 4 is read as text")
    assert space.startswith("prompt 4 ends in a space")


def test_what_has_no_token_is_told(tmp_path: Path) -> None:
    tokenizer = sentencepiece_like()
    tokenizer.model.byte_fallback = False
    folder = write_folder(tmp_path / "m", tokenizer=tokenizer)
    (note,) = said("generate", "-m", str(folder), "a é cat 本 é", "-n", "1", "--seed", "1")
    assert note == "3 pieces of the prompt have no token, read as <unk>: 'é', '本'"
    assert said("generate", "-m", str(folder), "a cat", "-n", "1", "--seed", "1") == []


def test_a_byte_order_mark_is_no_text(model: list[str]) -> None:
    more = ["-n", "1", "--seed", "1", "--json"]
    assert json.loads(text_of(glass(*model, *more, stdin="\ufeffHi".encode())))["prompt"] == "Hi"
    results = json.loads(text_of(glass(*model, "--prompts", "-", *more, stdin="\ufeffa\nb".encode())))["results"]
    assert [result["prompt"] for result in results] == ["a", "b"]


def test_the_template_in_use_is_chatml(chat: list[str]) -> None:
    assert CHATML.count("<|im_end|>") == 1
    assert text_of(glass(*chat, "--chat", "<|im_end|>", "--show-prompt")).count("<|im_end|>") == 2
