"""The turns of a chat, as JSON has them: who said what. Knows no template and no model."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from glasscli.errors import UsageError
from glasscli.untrusted_files import plain, quoted

Message = dict[str, Any]
# The names that a message's reasoning goes by; templates read the first, some the second.
REASONING = ("reasoning_content", "thinking", "reasoning")


def read_messages(text: str, source: str) -> list[Message]:
    """The messages of a JSON list, or of an object that has one called `messages`.

    Args:
        source: opens the message of an error.

    Raises:
        UsageError: not JSON, or not what `checked` expects.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source}: not valid JSON ({plain(str(error))})") from None
    if isinstance(found, dict) and "messages" in found:
        found = found["messages"]
    if not isinstance(found, list):
        raise UsageError(f'{source}: expected a JSON list of messages, such as [{{"role": "user", "content": "Hi"}}]')
    return checked(found, source)


def checked(messages: Sequence[Mapping[str, Any]], source: str = "the chat") -> list[Message]:
    """Messages as a template may see them: what is null left out, a message's reasoning under all its names.

    Raises:
        UsageError: there are none, or one is no object with a `role` and a `content` (a text or a list of parts) or
            something in place of a content, such as `tool_calls`.
    """
    if not messages:
        raise UsageError(f"{source}: has no messages")
    return [_checked(message, f"{source}: message {i}") for i, message in enumerate(messages, 1)]


def _checked(message: object, where: str) -> Message:
    if not isinstance(message, Mapping):
        raise UsageError(f'{where} is {quoted(str(message))}; expected an object with "role" and "content"')
    said = {key: value for key, value in message.items() if value is not None}
    role, content = said.get("role"), said.get("content", "" if len(said) > 1 else None)
    if not isinstance(role, str) or not role:
        raise UsageError(f'{where} has no "role", such as "user" or "assistant"')
    if not isinstance(content, str | list):
        raise UsageError(f'{where} has no "content": expected a text')
    reasoning = next((said[name] for name in REASONING if name in said), None)
    return said if reasoning is None else {"thinking": reasoning, **said, "reasoning_content": reasoning}
