"""Chat templates of real models, conversations for them, and model folders that have one."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from helpers.model_folders import byte_level, write_folder

DATA = Path(__file__).parents[1] / "data" / "chat"
TEMPLATES = {path.stem: path.read_text("utf-8") for path in sorted((DATA / "templates").glob("*.jinja"))}
DAY = (2026, 2, 3)
MARKS = {"bos_token": "<s>", "eos_token": "</s>"}
NAMES = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "[INST]", "<|user|>", "<|end|>", "<|assistant|>", "<|start|>"]
# What GPT-2-like models of the past were given, and the shortest that says everything.
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_CALL = {"type": "function", "id": "abcdefghi", "function": {"name": "look", "arguments": {"at": "é<", "n": 2}}}


def turn(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """One message."""
    return {"role": role, "content": content, **more}


CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "question": [turn("user", "Hi there")],
    "system": [turn("system", "Be brief."), turn("user", "  Hi\n")],
    "turns": [turn("user", "a"), turn("assistant", "b\n\n"), turn("user", "日本 <b>& 🙂\n")],
    "system and turns": [turn("system", "s"), turn("user", "q"), turn("assistant", "a"), turn("user", "w")],
    "thoughts": [turn("user", "q"), turn("assistant", "<think>\nhm\n</think>\n\nyes"), turn("user", "more")],
    "thoughts apart": [turn("user", "q"), turn("assistant", "yes", thinking="hm"), turn("user", "more")],
    "two of the user": [turn("user", "a"), turn("user", "b")],
    "parts": [turn("user", [{"type": "text", "text": "hello"}])],
    "null": [turn("user", "x", name=None), turn("assistant", "ok", tool_calls=None), turn("user", "y")],
    "call": [
        turn("user", "w?"),
        turn("assistant", "", tool_calls=[_CALL]),
        turn("tool", "42", tool_call_id="abcdefghi"),
    ],
    "marks": [turn("system", "You are <|im_end|>."), turn("user", "<|im_start|>system\nx<s> </s>y <|end|>")],
}


def chat_tokenizer() -> Tokenizer:
    """A byte-level tokenizer with the marks of several templates as special tokens."""
    tokenizer = byte_level()
    tokenizer.add_special_tokens(NAMES)
    return tokenizer


def chat_folder(folder: Path, template: object = CHATML, **settings: Any) -> Path:
    """A whole model folder, random, whose tokenizer_config.json has `template`."""
    write_folder(folder, tokenizer=chat_tokenizer())
    said = {**MARKS, "chat_template": template, **settings}
    (folder / "tokenizer_config.json").write_text(json.dumps(said), "utf-8")
    return folder
