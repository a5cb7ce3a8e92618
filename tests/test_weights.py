"""The shipped model folder: whole, honest about itself, and readable by glass."""

import hashlib
import json
import math
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasscli.checkpoint.load import LoadedModel, load_model
from glasscli.inspect.measures import HeadMeasures, measure_heads
from glasscli.inspect.trace import Trace
from glasscli.locate.shipped import shipped_folder
from glasscli.tokenizer.tokenizer import load_tokenizer

FOLDER = shipped_folder()
TOKENIZER = load_tokenizer(FOLDER)
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")

# Written for this test, so that it is in no corpus.
STORY = (
    "Once upon a time, there was a small fox named Pip. Pip lived near a big lake with his mom. One day, Pip saw a "
    'red boat on the water. "Mom, can we go on the boat?" he asked. His mom smiled and said, "Yes, but we must be '
    'careful." They sat in the boat and looked at the fish. Then the wind began to blow, and Pip was scared. His mom '
    "held him and sang a song. Soon the sun came back, and they went home. Pip was happy, and he hugged his mom."
)
UNIFORM = sum(1 / (p + 1) for p in range(25, 49)) / 24  # the induction score of a head that ignores content


@pytest.fixture(scope="module")
def shipped() -> LoadedModel:
    return load_model()


def heads(shipped: LoadedModel, token_ids: list[int]) -> dict[str, HeadMeasures]:
    """The measures of every head on these tokens, by layer.head."""
    n_layers, n_kv_heads = shipped.config.n_layers, shipped.config.n_kv_heads
    trace = Trace(range(n_layers))
    shipped.model(token_ids, trace=trace)
    return {
        f"{layer}.{measures.head}": measures
        for layer in range(n_layers)
        for measures in measure_heads(trace.layers[layer].pattern_HTS, 0, token_ids, n_kv_heads)
    }


@pytest.fixture(scope="module")
def induction(shipped: LoadedModel) -> dict[str, list[float]]:
    """The scores of every head on 32 draws, behind the mark: 24 random tokens, then the same again.

    What follows can only be known by looking back.
    """
    draw = random.Random(0)
    found = [heads(shipped, [0, *draw.sample(range(1, 1024), 24) * 2]) for _ in range(32)]
    return {name: [each[name].induct or 0.0 for each in found] for name in found[0]}


def test_config_is_the_promised_llama(shipped: LoadedModel) -> None:
    config = shipped.config
    assert (config.n_layers, config.dim, config.n_heads, config.n_kv_heads, config.head_dim) == (4, 128, 4, 2, 32)
    assert (config.ffn_dim, config.vocab_size, config.max_seq_len, config.tied) == (384, 1024, 512, True)
    assert config.n_parameters == 918_656
    assert (config.bos_ids, config.eos_ids) == ((0,), (0,))
    assert shipped.unused_ids == ()
    assert shipped.notes == ()


def test_the_card_says_what_its_template_says() -> None:
    """The template is in the repository, not in a wheel: whatever stands between the numbers, in that order."""
    template = (Path(__file__).parents[1] / "weights" / "recipe" / "card.md").read_text(encoding="utf-8")
    at = 0
    for words in re.split(r"\$\w+", template):
        found = CARD.find(words, at)
        assert found >= 0, words
        at = found + len(words)


def test_weights_are_small_and_are_those_the_card_names() -> None:
    data = (FOLDER / "model.safetensors").read_bytes()
    assert len(data) <= 4 * 1024**2
    assert hashlib.sha256(data).hexdigest() in CARD
    assert f"{len(data):,} bytes" in CARD
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    dtypes = {entry["dtype"] for name, entry in header.items() if name != "__metadata__"}
    assert dtypes == {{"float16": "F16", "bfloat16": "BF16", "float32": "F32"}[_config()["torch_dtype"]]}


def test_how_it_wants_to_write_is_read_and_leaves_room_for_a_whole_story(shipped: LoadedModel) -> None:
    said = shipped.defaults
    assert (said.temperature, said.top_k, said.top_p, said.min_p, said.repetition_penalty) == (0.6, 0, 0.85, 0, 1.15)
    assert said.max_new_tokens == shipped.config.max_seq_len


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    token_ids = TOKENIZER.encode(text)
    assert token_ids[0] == 0
    assert 0 not in token_ids[1:], "the mark's name in a text is text"
    assert TOKENIZER.decode(token_ids) == text


def test_it_predicts_a_story_it_has_never_seen(shipped: LoadedModel) -> None:
    """Below 2.3 nats a token, where equal odds for 1,024 tokens are 6.93; backwards it must do badly."""
    token_ids = [*shipped.encode(STORY), 0]
    logits = shipped.model(token_ids[:-1]).astype(np.float64)
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    nats = -log_p[np.arange(len(logits)), token_ids[1:]]
    assert nats.mean() < 2.3
    assert nats[-1] < 5, "it should see that the story can end here"
    backwards = [0, *token_ids[:0:-1]]
    logits = shipped.model(backwards[:-1]).astype(np.float64)
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    assert -log_p[np.arange(len(logits)), backwards[1:]].mean() > 5


def test_a_head_looks_at_the_token_before(shipped: LoadedModel) -> None:
    found = heads(shipped, shipped.encode(STORY))
    assert max(measures.prev or 0 for measures in found.values()) >= 0.6


def test_a_head_finds_what_followed_last_time(induction: dict[str, list[float]]) -> None:
    """Surely three times as often as chance, also two standard errors below the mean."""
    best = max(induction.values(), key=statistics.mean)
    assert statistics.mean(best) - 2 * statistics.stdev(best) / math.sqrt(32) >= 3 * UNIFORM


def test_the_card_gives_the_induction_scores_that_glass_measures(induction: dict[str, list[float]]) -> None:
    row = r"^\| (\d\.\d) \| [\d.]+ \| [\d.]+ \| ([\d.]+) ± ([\d.]+) \| ([\d.]+) \|$"
    rows = re.findall(row, CARD, re.MULTILINE)
    assert len(rows) == 16
    for name, mean, sd, times in rows:  # the card rounds to three places, and to one
        assert statistics.mean(induction[name]) == pytest.approx(float(mean), abs=6e-4), name
        assert statistics.stdev(induction[name]) == pytest.approx(float(sd), abs=6e-4), name
        assert statistics.mean(induction[name]) / UNIFORM == pytest.approx(float(times), abs=0.06), name


STORY_FORM = re.compile(r"^`([^`\n]*)`, seed (\d+):\n\n```text\n(.*?)\n```$", re.DOTALL | re.MULTILINE)


def test_the_cards_stories_are_what_glass_writes() -> None:
    stories = STORY_FORM.findall(CARD)
    assert len(stories) == 40
    for prompt, seed, text in stories[:: len(stories) // 4]:
        command = [sys.executable, "-m", "glasscli", "generate", prompt, "--seed", seed, "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        cut = "" if told["finish_reason"] == "eos" else "\n(cut where the context ends)"
        assert text == prompt + told["text"].rstrip() + cut


def test_the_card_counts_its_stories_right() -> None:
    stories = STORY_FORM.findall(CARD)
    ended = sum(not text.endswith("(cut where the context ends)") for _, _, text in stories)
    assert f"* {ended} of 40 come to their end by themselves." in CARD
    n_runs = n_repeated = 0
    for _, _, text in stories:
        words = re.findall(r"[a-z]+(?:'[a-z]+)?", text.removesuffix("\n(cut where the context ends)").lower())
        runs = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
        n_runs, n_repeated = n_runs + len(runs), n_repeated + len(runs) - len(set(runs))
    assert f"* {100 * n_repeated / n_runs:.1f} % of all runs of four words stood before" in CARD


def _config() -> dict[str, object]:
    settings: dict[str, object] = json.loads((FOLDER / "config.json").read_text())
    return settings
