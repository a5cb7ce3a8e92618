"""Scores of a text against transformers' own loss in float64."""

import math
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from glasscli import load_model
from glasscli.inspect.scoring import score_stories, score_text
from glasscli.locate.shipped import shipped_folder

STORY = "Once upon a time there was a little girl named Lily. One day, Lily saw a big red ball. She said, “日本語 🙂”."


@pytest.fixture(scope="module")
def theirs() -> Any:
    return AutoModelForCausalLM.from_pretrained(shipped_folder(), dtype=torch.float64).eval()


def loss(model: Any, ids: list[int], labels: list[int] | None = None) -> float:
    """transformers' mean of −ln p over the tokens of `labels` that are not −100."""
    with torch.no_grad():
        return model(torch.tensor([ids]), labels=torch.tensor([ids if labels is None else labels])).loss.item()


def test_a_text_scores_their_loss(theirs: Any) -> None:
    loaded = load_model()
    ids = loaded.encode(STORY)
    score = score_text(loaded, STORY, n_top=5)
    assert score.nats_per_token == pytest.approx(loss(theirs, ids), abs=1e-5)
    with torch.no_grad():
        logprobs = theirs(torch.tensor([ids])).logits[0].log_softmax(-1)
    for token, row in zip(score.tokens, logprobs, strict=False):
        assert token.logprob == pytest.approx(row[token.token.id].item(), abs=1e-4)
        assert token.rank == 1 + (row > row[token.token.id]).sum().item()
        assert [guess.token.id for guess in token.top] == row.topk(5).indices.tolist()


@pytest.mark.parametrize(("context", "stride"), [(512, 256), (200, 50), (300, 300)])
def test_windows_score_their_loss(theirs: Any, context: int, stride: int) -> None:
    """As their guide to the perplexity of long texts does: labels −100 for what an earlier window has scored."""
    loaded = load_model()
    text = STORY * 20
    ids = loaded.encode(text)
    nats, end = 0.0, 1
    for start in range(0, len(ids), stride):
        stop = min(start + context + 1, len(ids))
        labels = [-100] * (end - start) + ids[end:stop]
        nats += loss(theirs, ids[start:stop], labels) * (stop - end)
        end = stop
        if stop == len(ids):
            break
    assert len(ids) > 900
    assert score_text(loaded, text, context=context, stride=stride).nats == pytest.approx(nats, rel=1e-6)


def test_stories_score_their_loss(theirs: Any) -> None:
    loaded = load_model()
    stories = [STORY, "The dog ran to the tree.\nHe was happy."]
    nats = n_tokens = 0.0
    for story in stories:
        ids = [*loaded.encode(story), 0]
        nats += loss(theirs, ids) * (len(ids) - 1)
        n_tokens += len(ids) - 1
    score = score_stories(loaded, "\n<|endoftext|>\n".join([*stories, ""]))
    assert len(score.tokens) == n_tokens
    assert score.nats == pytest.approx(nats, rel=1e-6)
    n_bytes = sum(len(story.encode()) for story in stories)
    assert score.bits_per_byte == pytest.approx(nats / math.log(2) / n_bytes, rel=1e-6)
