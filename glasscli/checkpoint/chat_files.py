"""Where a model's files keep the template for the turns of a chat, and the marks that it may name.

Reads them; `generation.chat` fills them in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasscli.config.source import read_object
from glasscli.errors import CheckpointError, ConfigError
from glasscli.untrusted_files import file_inside, quoted, read_limited

TOKENIZER_CONFIG, CHAT_TEMPLATE = "tokenizer_config.json", "chat_template.jinja"
DEFAULT = "default"
LIMIT = 1024**2  # bytes of a template; the longest in use have some 20,000
# The marks that a template may name, and what a GGUF calls them before `_token_id`.
MARKS = {
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "sep_token": "seperator",
    "pad_token": "padding",
    "cls_token": "cls",
    "mask_token": "mask",
}


@dataclass(frozen=True)
class ChatTemplates:
    """The templates of a model.

    Attributes:
        templates: by name; the usual one is called `default`.
        marks: what a template may name beside the messages, such as `bos_token`.
        source: the file, as messages say it.
    """

    templates: Mapping[str, str]
    marks: Mapping[str, str]
    source: str

    def template(self) -> str:
        """The usual one.

        Raises:
            CheckpointError: none of several is called `default`, or it is longer than 1 MiB.
        """
        if DEFAULT not in self.templates:
            names = ", ".join(map(quoted, list(self.templates)[:6]))
            raise CheckpointError(f"{self.source}: has the chat templates {names}, and none called {DEFAULT!r}")
        found = self.templates[DEFAULT]
        if len(found) > LIMIT:
            raise CheckpointError(f"{self.source}: a chat template of {len(found):,} characters; glass reads {LIMIT:,}")
        return found


def folder_settings(folder: Path) -> dict[str, Any]:
    """tokenizer_config.json of a folder, empty where there is none.

    Raises:
        ConfigError: it is damaged, or leads out of the folder.
    """
    path = folder / TOKENIZER_CONFIG
    return read_object(path) if path.exists() else {}


def folder_templates(folder: Path, settings: Mapping[str, Any]) -> ChatTemplates | None:
    """The templates of a folder: chat_template.jinja, else `chat_template` of tokenizer_config.json; None for neither.

    Raises:
        CheckpointError, ConfigError: it is no text and no list of named texts, not UTF-8, or leads out of the folder.
    """
    marks = {name: mark for name in MARKS if (mark := token_name(settings.get(name))) is not None}
    path = folder / CHAT_TEMPLATE
    if path.exists():
        data = read_limited(file_inside(folder, CHAT_TEMPLATE), LIMIT)
        try:
            return ChatTemplates({DEFAULT: data.decode()}, marks, str(path))
        except UnicodeDecodeError as error:
            raise CheckpointError(f"{path}: is not UTF-8 (byte {error.start:,})") from None
    said = settings.get("chat_template")
    source = str(folder / TOKENIZER_CONFIG)
    return None if said is None else ChatTemplates(_named(said, source), marks, source)


def token_name(value: object) -> str | None:
    """The text of a mark in tokenizer_config.json: it is written as a text, or as an object with `content`."""
    found = value.get("content") if isinstance(value, dict) else value
    return found if isinstance(found, str) and found else None


def _named(said: object, source: str) -> dict[str, str]:
    if isinstance(said, str):
        return {DEFAULT: said}
    rows = said if isinstance(said, list) else []
    pairs = [(row.get("name"), row.get("template")) for row in rows if isinstance(row, dict)]
    named = {name: text for name, text in pairs if isinstance(name, str) and isinstance(text, str)}
    if not named or len(named) != len(rows):
        raise ConfigError(f"{source}: chat_template is neither a text nor a list of texts with names", "chat_template")
    return named
