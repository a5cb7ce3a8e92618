"""What a folder of a model that glass does not run holds, as a page or as JSON."""

from glasscli.checkpoint.outline import Outline
from glasscli.cli.console import Color, note, write_json
from glasscli.cli.views.info import tensor_table, tokenizer_words
from glasscli.cli.views.info_json import outline_document
from glasscli.cli.views.screen import Screen
from glasscli.units import format_bytes


def show_outline(outline: Outline, every: bool, as_json: bool, color: Color, quiet: bool) -> None:
    """Write what could be told to stdout; on stderr, why glass does not run it."""
    if as_json:
        write_json(outline_document(outline))
        return
    screen = Screen(color)
    dtypes = "+".join(sorted({info.dtype for info in outline.tensors})) or "no weights"
    stored = f"{dtypes}, {format_bytes(outline.stored_bytes)}"
    named = ", ".join(map(screen.plain, outline.class_names)) or screen.plain(outline.model_type)
    screen.say(screen.plain(str(outline.folder)), "bold")
    screen.flow("", [f"{outline.n_stored:,} stored numbers", stored, named, "not run by glass"], gap=3)
    screen.blank()
    layers = [f"{n:,} × {label} attention" for label, n in outline.layers] or ["unknown"]
    screen.flow(f"{'layers':<11}", layers, gap=3)
    screen.flow(f"{'tokenizer':<11}", tokenizer_words(outline.tokenizer, ())[:-1] or ["can't be read"], gap=3)
    screen.flow(f"{'files':<11}", [f"{name} {format_bytes(size)}" for name, size in outline.files], gap=3)
    if outline.tensors:
        screen.blank()
        tensor_table(screen, outline.tensors, every)
    screen.show()
    if not quiet:
        note(f"glass does not run this model: {outline.reason}")
        for text in outline.notes:
            note(text)
