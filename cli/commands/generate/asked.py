"""What `generate` is to read: a text as it is, or turns of a chat put into the model's own template."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from glasscli.checkpoint.chat_files import ChatTemplates
from glasscli.checkpoint.checkpoint import Checkpoint, open_checkpoint
from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.console import is_terminal, write_json, write_text
from glasscli.cli.models import model_path
from glasscli.cli.prompt_notes import escapes, prompt_notes
from glasscli.cli.prompt_text import file_text, given_text, is_typed
from glasscli.errors import UsageError
from glasscli.generation.messages import Message, read_messages
from glasscli.locate.need import Need
from glasscli.tokenizer.tokenizer import Tokenizer

DEMO = "Once upon a time"
HOT = 3  # a temperature that is asked for by mistake


@dataclass(frozen=True)
class Asked:
    """One prompt.

    Attributes:
        shown: what the user said, as an echo of it.
        text: what the model reads.
        prompt: the same for `generate`: the text, or the tokens of a chat.
        messages: the turns of the chat; none for a text.
    """

    shown: str
    text: str
    prompt: str | list[int]
    messages: list[Message] = field(default_factory=list)


def said(options: Options) -> tuple[str | None, list[Message]]:
    """What was given: a text, if one was or must be, and the turns before it.

    Raises:
        UsageError: what was given can't be read, or contradicts itself.
        GlassError: a chat was asked for, and what fills in templates is not installed.
    """
    if options.in_chat:
        from glasscli.generation.chat import environment

        environment()
    if options.messages is None:
        before = []
        text: str | None = given_text(options.prompt, options.file, DEMO if is_demo(options) else None)
    else:
        before = read_messages(file_text(options.messages), options.messages)
        bare = options.prompt is None and options.file is None
        text = None if bare else given_text(options.prompt, options.file)
    first = system_turn(options)
    if first and any(message["role"] == "system" for message in before):
        raise UsageError("--system and the file of --messages both have a system message: choose one")
    return text, [*first, *before]


def is_demo(options: Options) -> bool:
    """Whether a text was neither given nor can be read: on a terminal, which nobody wants to type one into."""
    given = (options.prompt, options.file, options.prompts, options.messages)
    return set(given) == {None} and not options.in_chat and sys.stdin is not None and is_terminal(sys.stdin)


def system_turn(options: Options) -> list[Message]:
    """What `--system` says, as a message."""
    return [] if options.system is None else [{"role": "system", "content": options.system}]


def asked(
    options: Options, checkpoint: Checkpoint, tokenizer: Tokenizer, text: str | None, before: list[Message]
) -> Asked:
    """The prompt that `said` makes with a model.

    Raises:
        UsageError: a chat was asked for and the model has no template, or its template refuses these turns.
    """
    if not options.in_chat:
        assert text is not None
        return Asked(text, text, text)
    from glasscli.generation.chat import chat_ids, chat_prompt

    found = templates(checkpoint)
    messages = [*before, *([] if text is None else [{"role": "user", "content": text}])]
    ids = chat_ids(found, messages, tokenizer, parse_special=options.special)
    last = messages[-1].get("content")
    shown = last if isinstance(last, str) else ""
    return Asked(shown + "\n" * (shown[-1:] not in ("", "\n")), chat_prompt(found, messages), ids, messages)


def asked_notes(options: Options, loaded: LoadedModel, made: Sequence[Asked]) -> list[str]:
    """What is worth a word about the prompts."""
    texts = [_told(one) for one in made]
    typed = is_typed(options.prompt)
    notes = prompt_notes(loaded.tokenizer, texts, special=options.special, typed=typed, chat=options.in_chat)
    if not options.in_chat and loaded.checkpoint.has_chat_template:
        notes.insert(0, "this model has a chat template: --chat reads the prompt as a turn of a chat")
    if is_demo(options):
        notes.insert(0, f'demo text "{DEMO}": give your own, glass generate "A dog named Max"')
    if escaped := next(filter(None, (escapes(stop, "--stop") for stop in options.stop or [])), ""):
        notes.append(escaped)
    if (options.temperature or 0) >= HOT:
        notes.append(
            f"temperature {options.temperature:g} draws nearly any token. Threads, which -t is in other tools, "
            "are OPENBLAS_NUM_THREADS in the environment"
        )
    return notes


def _told(one: Asked) -> str:
    """All that the user said."""
    contents = [message.get("content") for message in one.messages]
    return "\n".join(text for text in contents if isinstance(text, str)) if contents else one.text


def templates(checkpoint: Checkpoint) -> ChatTemplates:
    """The model's chat templates, which it must have."""
    found = checkpoint.chat_templates()
    if found is None:
        raise UsageError(
            f"{checkpoint.name} has no chat template: it continues texts. Leave out --chat, --system and --messages"
        )
    return found


def show_prompt(options: Options) -> None:
    """Print what the model would read, and write nothing. Loads no weights."""
    text, before = said(options)
    checkpoint = open_checkpoint(model_path(options.model, Need.tokenizer, quiet=options.quiet))
    tokenizer = checkpoint.tokenizer()
    made = asked(options, checkpoint, tokenizer, text, before)
    if options.as_json:
        read = made.prompt
        ids = tokenizer.encode(read, parse_special=options.special) if isinstance(read, str) else read
        write_json({"schema": "glass.prompt/1", "prompt": made.text, "prompt_ids": ids, "messages": made.messages})
    else:
        write_text(made.text + "\n")
