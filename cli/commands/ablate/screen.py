"""What parts are needed for, as pages: the next token without each, and the loss of a text without each."""

from collections.abc import Sequence

from glasscli.cli.commands.ablate.options import Options, To
from glasscli.cli.commands.dump_attn.layer_screen import text_lines
from glasscli.cli.guesses import guesses_text
from glasscli.cli.page.cells import join_fitting
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span, spaced
from glasscli.cli.page.stack import table_or_stack
from glasscli.cli.page.style import ACCENT, DIM, HEAD
from glasscli.inspect.ablation import PromptAblation, PromptEffect, TextAblation
from glasscli.inspect.predictions import Guess


def prompt_screen(page: Page, options: Options, text: str, found: PromptAblation) -> list[Line]:
    """The next token without each part, largest KL first."""
    label = page.label(found.whole.token.raw)
    effects = found.effects[: options.top or None]
    names = ("without", f"p {label}", "change", "KL", "then the likeliest")
    rows = [_effect(page, effect, found.whole) for effect in effects]
    whole: list[Span] = [
        ("nothing", DIM),
        (probability(found.whole.p), ""),
        ("", ""),
        ("", ""),
        (guesses_text(page, found.top, 60), ""),
    ]
    table = table_or_stack(page, names, [whole, *rows], (False, True, True, True, False))
    top = [*page.listed(_title(options, found.effects, "the next token"), "  ", HEAD)]
    top += text_lines(page, text, len(found.tokens), _is_demo(options))
    return spaced(
        top, table, _more(page, len(found.effects) - len(effects)), _summary(page, found), _hint(page, options)
    )


def loss_screen(page: Page, options: Options, text: str, found: TextAblation) -> list[Line]:
    """The loss of a text without each part, largest change first."""
    score, effects = found.score, found.effects[: options.top or None]
    names = ("without", "Δ nats a token", "on words again", "on pairs again")
    rows: list[list[Span]] = [
        [
            (effect.part.label, ACCENT),
            (signed(effect.delta), ""),
            (signed(effect.on_words), ""),
            (signed(effect.on_pairs), ""),
        ]
        for effect in effects
    ]
    counts: list[Span] = [
        (text, DIM) for text in ("tokens", f"{len(score.tokens):,}", f"{found.n_words:,}", f"{found.n_pairs:,}")
    ]
    table = table_or_stack(page, names, [counts, *rows], (False, True, True, True))
    top = [*page.listed(_title(options, found.effects, "the loss of a text"), "  ", HEAD)]
    top += text_lines(page, text, len(score.tokens) + 1, _is_demo(options))
    top += page.flow("whole   ", [f"{score.nats_per_token:.4f} nats a token", f"perplexity {score.perplexity:.2f}"])
    meaning = (
        "Above 0: the text is harder to foresee without the part. Words again: tokens of words used before; pairs "
        "again: tokens that followed the same token before, which is all an induction head can know."
    )
    return spaced(
        top, table, _more(page, len(found.effects) - len(effects)), page.wrap(meaning, " ", DIM), _hint(page, options)
    )


def signed(value: float | None) -> str:
    """A change with its sign and three digits; `–` for none."""
    if value is None:
        return "–"
    text = f"{value:+.3f}"
    return ".000" if float(text) == 0 else text.replace("+0.", "+.").replace("-0.", "-.")


def three(value: float) -> str:
    """A share with three digits and no zero in front."""
    return f"{value:.3f}".removeprefix("0")


def _effect(page: Page, effect: PromptEffect, whole: Guess) -> list[Span]:
    return [
        (effect.part.label, ACCENT),
        (probability(effect.watched.p), ""),
        (signed(effect.watched.p - whole.p), ""),
        (f"{effect.kl_bits:.3f} b", ""),
        (guesses_text(page, effect.top, 60), ""),
    ]


def _title(options: Options, effects: Sequence[object], about: str) -> list[str]:
    n = f"{len(effects):,} part{'s' * (len(effects) != 1)}"
    return [f"{n} set to {_to(options)}, one at a time", about]


def _to(options: Options) -> str:
    return "zero" if options.to is To.zero else "their mean over the text"


def _summary(page: Page, found: PromptAblation) -> list[Line]:
    """Which head raises the watched token most, which holds it down most."""
    label = page.label(found.whole.token.raw)
    heads = [effect for effect in found.effects if effect.part.head is not None]
    if len(heads) < 2:
        return []
    least = min(heads, key=lambda effect: effect.watched.p)
    most = max(heads, key=lambda effect: effect.watched.p)
    said = []
    if least.watched.p < found.whole.p:
        said.append(f"Of the heads, {label} needs {least.part.label} most: {_from_to(found.whole, least)} without it.")
    if most.watched.p > found.whole.p:
        said.append(f"{most.part.label} holds it down most: {_from_to(found.whole, most)} without it.")
    return page.wrap(" ".join(said), " ") if said else []


def _from_to(whole: Guess, effect: PromptEffect) -> str:
    return f"{probability(whole.p)} → {probability(effect.watched.p)}"


def _more(page: Page, n: int) -> list[Line]:
    return page.wrap(f"… {n:,} more with smaller changes (--top 0 shows all)", " ", DIM) if n else []


def _is_demo(options: Options) -> bool:
    return options.prompt is None and options.file is None


def _hint(page: Page, options: Options) -> list[Line]:
    if not page.terminal or options.quiet:
        return []
    ideas = [
        ("--to mean", options.to is To.zero),
        ("--loss (the whole text)", not options.loss),
        ("--feeds (which head needs which)", True),
        ("--json", True),
    ]
    return [[(join_fitting(" try", (text for text, fits in ideas if fits), page.width), DIM)]]
