"""A dump as one HTML page that needs nothing else: no network, no library, no further file.

The page's style and script lie beside this module, its data come from `page_data`. A content security policy in the
page allows these two by their hashes and nothing besides, so whatever a prompt or a folder's name holds stays text.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from glasscli.export.page_data import MAX_NUMBERS, page_data
from glasscli.inspect.dump import Dump

# Drawing first; the last one begins.
SCRIPTS = ("page.draw.js", "page.text.js", "page.tell.js", "page.js")


def write_html(dump: Dump, path: Path, steps: Sequence[str] | None) -> None:
    """The page. Long maps are pooled by maximum, and say so."""
    del steps  # the page shows all of them
    path.write_text(page(dump), encoding="utf-8", errors="replace")  # a folder's name need not be Unicode


def page(dump: Dump, max_numbers: int = MAX_NUMBERS) -> str:
    """The HTML document. Maps are pooled until they hold no more than `max_numbers`."""
    style, script = _asset("page.css"), "".join(_asset(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # "<" never appears in the data, so that no text in it can end the element.
    data = json.dumps(page_data(dump, max_numbers), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    fields = {
        "@POLICY@": policy,
        "@TITLE@": escape(f"attention · {dump.title}"),
        "@STYLE@": style,
        "@DATA@": data,
        "@SCRIPT@": script,
    }
    # In one pass: what is filled in may itself look like a mark.
    return re.sub("@[A-Z]+@", lambda found: fields[found[0]], _asset("page.html"))


def _asset(name: str) -> str:
    return files("glasscli.export").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
