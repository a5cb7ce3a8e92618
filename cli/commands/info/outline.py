"""What a folder of a model that glass does not run holds, as a page."""

from glasscli.checkpoint.outline import Outline
from glasscli.cli.commands.info.screen import called, tensor_table, tokenizer_words
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.units import format_bytes


def outline_screen(page: Page, outline: Outline, every: bool) -> list[Line]:
    """The whole page; no line is wider than the terminal."""
    dtypes = "+".join(sorted({info.dtype for info in outline.tensors})) or "no weights"
    stored = f"{dtypes}, {format_bytes(outline.stored_bytes)}"
    named = ", ".join(outline.class_names) or outline.model_type
    title = page.say(called(outline.folder), "bold")
    title += page.flow("", [f"{outline.n_stored:,} stored numbers", stored, named, "not run by glass"], gap=3)
    layers = [f"{n:,} × {label} attention" for label, n in outline.layers] or ["unknown"]
    words = tokenizer_words(outline.tokenizer, ())[:-1] or ["can't be read"]
    files = [f"{name} {format_bytes(size)}" for name, size in outline.files]
    sections = [("layers", layers), ("tokenizer", words), ("files", files)]
    lines = [line for label, pieces in sections for line in page.flow(f"{label:<11}", pieces, gap=3)]
    return spaced(title, lines, tensor_table(page, outline.tensors, every) if outline.tensors else [])
