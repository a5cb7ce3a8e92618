"""`glass lens`: check what was asked, read the stream, show it."""

from glasscli.cli.blas import pin_threads
from glasscli.cli.commands.lens.options import Options
from glasscli.cli.console import note, write_json
from glasscli.errors import UsageError

EPILOG = """\
Each row reads the residual stream at one place, after the embedding or after attention or the MLP of a layer, by the
model's last norm and its head, as if the layers behind were not there. With several rows of tokens, a table of the
likeliest token in each place; with --token, of that token's p.

--token also tells what each head and MLP writes into that token's logit directly, or with --not into how far it is
above another's: each part through the last norm, its scale frozen, times the tokens' rows of the head. The parts sum
to the logit, which is checked. What later parts make of it is counted as theirs.

\b
Examples:
  glass lens "Once upon a time there was a little girl named Lily. One day,"
  glass lens --token Lily --not she
  glass lens --token Lily --ablate 3.1
  glass lens --rows :
  glass lens --rows 8:14 --token Lily
  glass lens "The cat sat on the" --json --top 10
"""
DEMO = "Once upon a time there was a little girl named Lily. One day,"


def run(options: Options) -> int:
    """Show what each layer would say; the exit code."""
    options.check()
    pin_threads(options.model, options.quiet)
    from glasscli.cli.ablated import ablated
    from glasscli.cli.commands.dump_attn.pick import pick_rows
    from glasscli.cli.guesses import named_token
    from glasscli.cli.models import load
    from glasscli.cli.prompt_notes import prompt_notes
    from glasscli.cli.prompt_text import given_text
    from glasscli.generation.prompts import read_prompt
    from glasscli.inspect.attribution import attribute
    from glasscli.inspect.lens import read_lens

    text = given_text(options.prompt, options.file, DEMO)
    loaded = load(options.model, quiet=options.quiet)
    about = prompt_notes(loaded.tokenizer, [text], special=options.special)
    for remark in () if options.quiet else [*loaded.notes, *about]:
        note(remark)
    ids = read_prompt(loaded, text, parse_special=options.special).token_ids
    loaded = ablated(loaded, options.ablate, lambda: ids)
    positions = range(*pick_rows(options.rows, 0, len(ids)))
    token, minus = named_token(loaded, "--token", options.token), named_token(loaded, "--not", options.minus)
    if minus is not None and len(positions) > 1:
        raise UsageError(f"--not compares after one token: --rows {options.rows} names {len(positions)}")
    lenses = read_lens(loaded, ids, positions, token=token, n_top=options.top)
    found = None
    if token is not None and len(positions) == 1:
        found = attribute(loaded, ids, token, minus, position=positions[0])
    if options.as_json:
        from glasscli.cli.commands.lens.document import document

        write_json(document(loaded, text, lenses, found))
    else:
        from glasscli.cli.commands.lens.screen import show

        show(options, loaded, text, lenses, found)
    return 0
