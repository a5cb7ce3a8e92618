"""Chats beside transformers' `apply_chat_template`, text and tokens, over conversations drawn at random."""

from functools import cache
from typing import Any

import pytest
from helpers.chats import CONVERSATIONS, MARKS, NAMES, TEMPLATES, chat_tokenizer, turn
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from glasscli.checkpoint.chat_files import ChatTemplates
from glasscli.errors import GlassError
from glasscli.generation.chat import chat_ids, chat_prompt
from glasscli.tokenizer.tokenizer import Tokenizer

OURS = Tokenizer(chat_tokenizer())
# transformers marks what must stay text with two characters of the private use area, and drops them from messages.
LETTERS = st.characters(exclude_categories=("Cs", "Co", "Cn"))
CONTENTS = st.lists(st.one_of(st.text(LETTERS, max_size=8), st.sampled_from([*NAMES, "\n", " "])), max_size=4).map(
    "".join
)
TURNS = st.lists(st.tuples(CONTENTS, CONTENTS), max_size=2)


def messages(system: str | None, turns: list[tuple[str, str]], last: str) -> list[dict[str, Any]]:
    """A conversation as most templates want it: perhaps a system message, then turns by turns."""
    first = [] if system is None else [turn("system", system)]
    pairs = [message for asked, said in turns for message in (turn("user", asked), turn("assistant", said))]
    return [*first, *pairs, turn("user", last)]


@cache
def transformers_tokenizer(name: str) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=chat_tokenizer(), chat_template=TEMPLATES[name], **MARKS)


def compare(name: str, conversation: list[dict[str, Any]]) -> None:
    """The same text and the same tokens, or refused by both."""
    theirs = transformers_tokenizer(name)
    found = ChatTemplates({"default": TEMPLATES[name]}, MARKS, name)
    asked: dict[str, Any] = {"add_generation_prompt": True, "return_dict": False}
    try:
        text = theirs.apply_chat_template(conversation, tokenize=False, **asked)
    except Exception:
        with pytest.raises(GlassError):
            chat_prompt(found, conversation)
        return
    assert chat_prompt(found, conversation) == text
    plain = theirs.apply_chat_template(conversation, **asked)
    assert chat_ids(found, conversation, OURS, parse_special=True) == plain
    safe = theirs.apply_chat_template(conversation, sanitize_control_tokens=True, **asked)
    assert chat_ids(found, conversation, OURS) == safe


@pytest.mark.parametrize("name", TEMPLATES)
def test_chosen_conversations(name: str) -> None:
    for conversation in CONVERSATIONS.values():
        compare(name, conversation)


@pytest.mark.parametrize("name", TEMPLATES)
@given(st.none() | CONTENTS, TURNS, CONTENTS)
def test_random_conversations(name: str, system: str | None, turns: list[tuple[str, str]], last: str) -> None:
    compare(name, messages(system, turns, last))
