"""What `glass ablate` finds, for machines: JSON documents and CSV rows. Nats and logprobs are natural logarithms."""

from typing import Any

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.generate.json_view import model_fields
from glasscli.cli.guesses import guess_fields, token_fields
from glasscli.inspect.ablation import Part, PromptAblation, TextAblation
from glasscli.inspect.circuits import Feeds

PROMPT_COLUMNS = ("part", "layer", "head", "token_id", "token", "logprob", "logprob_whole", "kl_bits", "top", "p_top")
LOSS_COLUMNS = ("part", "layer", "head", "delta_nats", "delta_nats_words", "delta_nats_pairs")
FEED_COLUMNS = (
    *("writer", "reader", "role", "before", "after", "change"),
    *("before_sd", "after_sd", "change_sd", "n_draws"),
)


def prompt_document(loaded: LoadedModel, text: str, found: PromptAblation) -> dict[str, Any]:
    """Every part taken out of a prompt."""
    return {
        "schema": "glass.ablate/1",
        "model": model_fields(loaded),
        "prompt": text,
        "tokens": [token_fields(each) for each in found.tokens],
        "set_to": found.method,
        "watched": guess_fields(found.whole),
        "top": [guess_fields(each) for each in found.top],
        "parts": [
            {
                **_part(effect.part),
                "logprob": effect.watched.logprob,
                "kl_bits": effect.kl_bits,
                "top": [guess_fields(each) for each in effect.top],
            }
            for effect in found.effects
        ],
    }


def prompt_rows(found: PromptAblation) -> list[dict[str, object]]:
    """A row a part."""
    return [
        {
            **_part(effect.part),
            "token_id": found.whole.token.id,
            "token": found.whole.token.label,
            "logprob": effect.watched.logprob,
            "logprob_whole": found.whole.logprob,
            "kl_bits": effect.kl_bits,
            "top": effect.top[0].token.label,
            "p_top": effect.top[0].p,
        }
        for effect in found.effects
    ]


def loss_document(loaded: LoadedModel, text: str, found: TextAblation) -> dict[str, Any]:
    """Every part taken out of a text. Deltas are nats per token, null where there is no such token."""
    return {
        "schema": "glass.ablate-text/1",
        "model": model_fields(loaded),
        "text": text,
        "set_to": found.method,
        "nats_per_token": found.score.nats_per_token,
        "context": found.score.context,
        "n_tokens": len(found.score.tokens),
        "n_word_tokens": found.n_words,
        "n_pair_tokens": found.n_pairs,
        "parts": loss_rows(found),
    }


def loss_rows(found: TextAblation) -> list[dict[str, object]]:
    """A row a part."""
    return [
        {
            **_part(effect.part),
            "delta_nats": effect.delta,
            "delta_nats_words": effect.on_words,
            "delta_nats_pairs": effect.on_pairs,
        }
        for effect in found.effects
    ]


def feeds_document(loaded: LoadedModel, found: Feeds) -> dict[str, Any]:
    """All pairs of heads and roles, largest change first."""
    return {
        "schema": "glass.feeds/1",
        "model": model_fields(loaded),
        "n_draws": found.n_draws,
        "pairs": feed_rows(found),
    }


def feed_rows(found: Feeds) -> list[dict[str, object]]:
    """A row a pair and role."""
    return [
        {
            "writer": feed.writer.label,
            "reader": feed.reader.label,
            "role": feed.role,
            "before": feed.before,
            "after": feed.after,
            "change": feed.change,
            "before_sd": feed.before_sd,
            "after_sd": feed.after_sd,
            "change_sd": feed.change_sd,
            "n_draws": found.n_draws,
        }
        for feed in found.pairs
    ]


def _part(part: Part) -> dict[str, object]:
    """`head` is null of an MLP."""
    return {"part": part.label, "layer": part.layer, "head": part.head}
