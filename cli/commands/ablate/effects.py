"""What the next token, or a whole text, becomes without each part: run, then show or tell."""

from collections.abc import Sequence

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.ablate.options import Options
from glasscli.cli.console import write_csv, write_json
from glasscli.cli.page.page import Page
from glasscli.errors import UsageError
from glasscli.generation.prompts import ContextError, read_prompt
from glasscli.inspect.ablation import Part, ablate_prompt, ablate_text
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import one_token


def run_prompt(options: Options, loaded: LoadedModel, text: str, parts: Sequence[Part] | None) -> None:
    """The next token without each part."""
    from glasscli.cli.commands.ablate import documents
    from glasscli.cli.commands.ablate.screen import prompt_screen

    try:
        ids = read_prompt(loaded, text, parse_special=options.special).token_ids
    except ContextError as error:
        raise UsageError(f"{error}.\n--loss reads a text of any length") from None
    found = ablate_prompt(loaded, ids, token=watched(options.token, loaded), method=options.to, parts=parts)
    if options.as_json:
        write_json(documents.prompt_document(loaded, text, found))
    elif options.as_csv:
        write_csv(documents.PROMPT_COLUMNS, documents.prompt_rows(found))
    else:
        page = Page.of_stdout(options.color)
        page.show(prompt_screen(page, options, text, found))


def run_loss(options: Options, loaded: LoadedModel, text: str, parts: Sequence[Part] | None) -> None:
    """The loss over a text without each part."""
    from glasscli.cli.commands.ablate import documents
    from glasscli.cli.commands.ablate.screen import loss_screen

    ids = loaded.encode(text, parse_special=options.special)
    found = ablate_text(loaded, ids, method=options.to, parts=parts)
    if options.as_json:
        write_json(documents.loss_document(loaded, text, found))
    elif options.as_csv:
        write_csv(documents.LOSS_COLUMNS, documents.loss_rows(found))
    else:
        page = Page.of_stdout(options.color)
        page.show(loss_screen(page, options, text, found))


def watched(text: str | None, loaded: LoadedModel) -> Token | None:
    """The token that `--token` names: a word as it stands in a sentence, or `#` and an id."""
    if text is None:
        return None
    is_id = text[:1] == "#" and text[1:].isdecimal() and len(text) < 12
    try:
        return one_token(loaded, int(text[1:]) if is_id else text)
    except UsageError as error:
        raise UsageError(f"--token {text}: {error}") from None
