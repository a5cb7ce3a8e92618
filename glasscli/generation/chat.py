"""Messages to one prompt, by the model's own chat template, and to the tokens it is read as.

A template is a program in Jinja2's language, written for transformers, so it gets what transformers gives it and runs
in Jinja2's sandbox: no files, no network, no Python beyond strings, lists and numbers. It is a stranger's all the same:
how much it may write is bounded. Jinja2 is an extra, imported here and only when there is a template to fill in.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any

from glasscli.checkpoint.chat_files import ChatTemplates
from glasscli.errors import CheckpointError, GlassError, UsageError
from glasscli.generation.messages import checked
from glasscli.untrusted_files import plain

if TYPE_CHECKING:
    import jinja2

    from glasscli.tokenizer.tokenizer import Tokenizer

LONGEST = 16 * 1024**2  # characters that a template may write
LEAST_JINJA = (3, 1, 6)  # older sandboxes have known ways out
# Code points that no text means anything by; two that a chat does not hold stand around what must stay text.
NONCHARACTERS = [chr(code) for code in range(0xFDD0, 0xFDF0)]


def chat_prompt(found: ChatTemplates, messages: Sequence[Mapping[str, Any]]) -> str:
    """What the model reads of `messages`, up to the mark that opens its own next turn.

    Equal to transformers' `apply_chat_template(messages, tokenize=False, add_generation_prompt=True)`.

    Raises:
        GlassError: Jinja2 is missing or too old.
        UsageError: no messages, or some that the template refuses.
        CheckpointError: the template is damaged, does what the sandbox forbids, or writes without end.
    """
    return _filled(found, checked(messages))


def chat_ids(
    found: ChatTemplates, messages: Sequence[Mapping[str, Any]], tokenizer: "Tokenizer", *, parse_special: bool = False
) -> list[int]:
    """The tokens of `chat_prompt`: the template's own marks count as such, those that a message names are text.

    Args:
        parse_special: names of special tokens in the messages count as those tokens, too.

    Raises:
        UsageError: as `chat_prompt`, or the template takes a name apart that must stay text.
    """
    messages = checked(messages)
    text, told = _filled(found, messages), "\n".join(_texts(messages))
    names = sorted(tokenizer.special_in(told), key=len, reverse=True)
    if parse_special or not names:
        return tokenizer.encode(text, parse_special=True, framed=False)
    unused = [c for c in NONCHARACTERS if c not in text and c not in told]
    if len(unused) < 2:
        raise UsageError("the messages hold characters that Unicode keeps for programs: leave those out")
    begin, end = unused[:2]
    marked = _marked(messages, re.compile("|".join(map(re.escape, names))), begin, end)
    filled = _filled(found, marked)
    if filled.replace(begin, "").replace(end, "") != text:
        raise UsageError("the chat template looks for a special token's name in the messages: leave that name out")
    return _in_pieces(filled, names, begin, end, tokenizer)


def _texts(value: Any) -> Iterator[str]:
    """Every text in `value`, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _marked(value: Any, names: "re.Pattern[str]", begin: str, end: str) -> Any:
    """`value` with every name in its texts between `begin` and `end`."""
    if isinstance(value, str):
        return names.sub(lambda match: begin + match[0] + end, value)
    if isinstance(value, dict):
        return {key: _marked(one, names, begin, end) for key, one in value.items()}
    return [_marked(one, names, begin, end) for one in value] if isinstance(value, list) else value


def _in_pieces(text: str, names: Sequence[str], begin: str, end: str, tokenizer: "Tokenizer") -> list[int]:
    """The tokens of a text in which names between `begin` and `end` are text, and others are tokens."""
    inside = "|".join(map(re.escape, names))
    first, *rest = re.split(f"{begin}({inside}){end}|[{begin}{end}]", text)
    ids = tokenizer.encode(first, parse_special=True, framed=False)
    newline = tokenizer.encode("\n", framed=False)
    for i, piece in enumerate(rest):
        if piece:  # behind a newline, whose tokens are taken off: some tokenizers put a space before a text
            own = tokenizer.encode("\n" + piece, parse_special=i % 2 == 1, framed=False)
            behind = own[: len(newline)] == newline
            ids += own[len(newline) :] if behind else tokenizer.encode(piece, parse_special=i % 2 == 1, framed=False)
    return ids


def _filled(found: ChatTemplates, messages: Sequence[Mapping[str, Any]]) -> str:
    sandbox = environment()
    import jinja2

    source = f"{found.source}: its chat template"
    try:
        template = sandbox.from_string(found.template())
        given = {**found.marks, "messages": list(messages), "tools": None, "documents": None}
        return _joined(template.generate(**given, add_generation_prompt=True), source)
    except _RefusedError as error:
        raise UsageError(f"the model's chat template refuses these messages: {plain(str(error))}") from None
    except jinja2.TemplateSyntaxError as error:
        raise CheckpointError(f"{source} is no valid one: line {error.lineno}, {plain(str(error.message))}") from None
    except GlassError:
        raise
    except RecursionError:
        raise CheckpointError(f"{source} is nested too deep") from None
    except Exception as error:  # whatever a stranger's program raises: it is at fault, or these messages are
        raise CheckpointError(
            f"{source} failed on these messages ({plain(str(error) or type(error).__name__)})"
        ) from None


def _joined(parts: Any, source: str) -> str:
    texts: list[str] = []
    length = 0
    for part in parts:
        texts.append(part)
        length += len(part)
        if length > LONGEST:
            raise CheckpointError(f"{source} wrote more than {LONGEST:,} characters")
    return "".join(texts)


class _RefusedError(Exception):
    """A template's own complaint about the messages."""


def _refuse(message: str) -> None:
    raise _RefusedError(message)


def _as_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """JSON as it is: Jinja2's own filter writes it for web pages."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment() -> "jinja2.Environment":
    """The sandbox, with what templates written for transformers expect of it.

    Raises:
        GlassError: Jinja2 is missing or too old.
    """
    try:
        version = metadata.version("jinja2")
        from glasscli.generation.sandbox import Sandbox
    except (ImportError, metadata.PackageNotFoundError):
        raise GlassError("a chat template needs Jinja2, which is not installed: pip install 'glasscli[chat]'") from None
    if tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < LEAST_JINJA:
        least = ".".join(map(str, LEAST_JINJA))
        raise GlassError(f"Jinja2 {version} has known ways out of its sandbox: pip install 'jinja2>={least}'")
    sandbox = Sandbox()
    sandbox.filters["tojson"] = _as_json
    sandbox.globals["raise_exception"] = _refuse
    sandbox.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return sandbox
