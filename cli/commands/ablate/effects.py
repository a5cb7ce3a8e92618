"""What the next token, or a whole text, becomes without each part: run, then show or tell."""

from collections.abc import Sequence

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.ablate.options import Options
from glasscli.cli.console import note, write_csv, write_json
from glasscli.cli.guesses import named_token
from glasscli.cli.models import working
from glasscli.cli.page.page import Page
from glasscli.cli.prompt_notes import prompt_notes
from glasscli.errors import UsageError
from glasscli.generation.prompts import ContextError, read_prompt
from glasscli.inspect.ablation import Part, ablate_prompt, ablate_text


def run_prompt(options: Options, loaded: LoadedModel, text: str, parts: Sequence[Part] | None) -> None:
    """The next token without each part."""
    from glasscli.cli.commands.ablate import documents
    from glasscli.cli.commands.ablate.screen import prompt_screen

    try:
        ids = read_prompt(loaded, text, parse_special=options.special).token_ids
    except ContextError as error:
        raise UsageError(f"{error}.\n--loss reads a text of any length") from None
    for remark in () if options.quiet else prompt_notes(loaded.tokenizer, [text], special=options.special):
        note(remark)
    token = named_token(loaded, "--token", options.token)
    with working(options.quiet) as bar:
        found = ablate_prompt(loaded, ids, token=token, method=options.to, parts=parts, progress=bar)
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
    with working(options.quiet) as bar:
        found = ablate_text(loaded, ids, method=options.to, parts=parts, progress=bar)
    if options.as_json:
        write_json(documents.loss_document(loaded, text, found))
    elif options.as_csv:
        write_csv(documents.LOSS_COLUMNS, documents.loss_rows(found))
    else:
        page = Page.of_stdout(options.color)
        page.show(loss_screen(page, options, text, found))
