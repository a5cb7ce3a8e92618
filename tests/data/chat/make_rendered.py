"""Write rendered.json: what transformers makes of conversations with the chat templates of real models.

Needs transformers (`make parity` installs it); run from the repository root.
"""

import datetime
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import transformers
from transformers import PreTrainedTokenizerFast

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
from helpers.chats import CONVERSATIONS, DAY, MARKS, TEMPLATES, chat_tokenizer  # noqa: E402


class _Day(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> "_Day":
        return cls(*DAY)


def rendered(template: str, messages: list[dict[str, Any]]) -> str | None:
    """The prompt, or None if the template refuses."""
    theirs = PreTrainedTokenizerFast(tokenizer_object=chat_tokenizer(), chat_template=template, **MARKS)
    try:
        text: str = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:
        print(f"refused: {error}")
        return None
    return text


def main() -> None:
    """Every template with every conversation."""
    with patch("transformers.utils.chat_template_utils.datetime", _Day):
        found = {
            name: {which: rendered(text, messages) for which, messages in CONVERSATIONS.items()}
            for name, text in TEMPLATES.items()
        }
    document = {
        "made_by": "python tests/data/chat/make_rendered.py",
        "made_with": f"transformers {transformers.__version__}, today taken for {'-'.join(map(str, DAY))}",
        "rendered": found,
    }
    (HERE / "rendered.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
