"""The README's picture of the page: what a browser shows of a real one.

python tests/page_picture.py     writes tests/data/page.png anew
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from helpers.browser import Browser

from glasscli import dump_decode, export_dump, generate, load_model
from glasscli.generation.sampling import SamplingParams
from glasscli.inspect.reading import with_reading

PICTURE = Path(__file__).parent / "data" / "page.png"
PROMPT = "Once upon a time there was a little girl named Lily. One day,"
SIZE = (1280, 800)
PLACE = "#L2.H2.q15.k11"  # the head that brings the name back


def main() -> None:
    """Write eight tokens, make the page, open it, photograph it."""
    loaded = load_model()
    steps = generate(loaded, PROMPT, params=SamplingParams(temperature=0.0), max_new_tokens=8)
    dump = dump_decode(loaded, PROMPT, range(loaded.config.n_layers), [step.token_id for step in steps])
    with TemporaryDirectory() as folder, Browser(*SIZE) as browser:
        page = Path(folder) / "page.html"
        export_dump(with_reading(loaded, dump), page)
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.open(page, PLACE)
        browser.ask("new Promise(done => setTimeout(done, 500))", wait=True)  # tints come softly
        PICTURE.write_bytes(browser.picture())
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
