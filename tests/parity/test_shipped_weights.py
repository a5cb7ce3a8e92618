"""The shipped folder in transformers: it loads there, splits text alike, and computes what glass computes."""

import numpy as np
import pytest
import torch
import transformers

from glasscli.checkpoint.load import LoadedModel, load_model
from glasscli.locate.shipped import shipped_folder

PROMPTS = [
    "Once upon a time",
    "Lily and Tom went to the park. They saw a big dog. Lily said,",
    "  Two  spaces, é, 日本語 🙂 and\n\nlines",
]
STORY = "Once upon a time there was a little bird who could not fly. " * 40


@pytest.fixture(scope="module")
def shipped() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="module")
def theirs() -> transformers.PreTrainedModel:
    return transformers.AutoModelForCausalLM.from_pretrained(
        shipped_folder(), dtype=torch.float32, attn_implementation="eager"
    ).eval()


def test_tokenizers_agree(shipped: LoadedModel) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(shipped_folder())
    for text in PROMPTS:
        token_ids = tokenizer(text)["input_ids"]
        assert token_ids == shipped.encode(text)
        assert tokenizer.decode(token_ids, skip_special_tokens=True) == text
    assert tokenizer.bos_token_id == tokenizer.eos_token_id == 0
    assert tokenizer.vocab_size == len(tokenizer) == 1024


@pytest.mark.parametrize("text", [*PROMPTS, STORY])
def test_logits_and_patterns_agree(shipped: LoadedModel, theirs: transformers.PreTrainedModel, text: str) -> None:
    token_ids = shipped.encode(text)[: shipped.config.max_seq_len]
    assert text != STORY or len(token_ids) == 512, "every position is to be compared"
    with torch.no_grad():
        expected = theirs(torch.tensor([token_ids])).logits[0].numpy()
    # Two orders of float32 sums through four layers; logits reach 20.
    np.testing.assert_allclose(shipped.model(token_ids), expected, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("text", PROMPTS)
def test_greedy_text_agrees(shipped: LoadedModel, theirs: transformers.PreTrainedModel, text: str) -> None:
    token_ids = shipped.encode(text)
    plain = {"do_sample": False, "repetition_penalty": 1.0, "max_new_tokens": 60}  # not as generation_config.json says
    expected = theirs.generate(torch.tensor([token_ids]), **plain)[0].tolist()
    while len(token_ids) < len(expected):
        token_ids.append(int(shipped.model(token_ids, last_only=True).argmax()))
    assert token_ids == expected


def test_both_read_the_same_defaults(shipped: LoadedModel, theirs: transformers.PreTrainedModel) -> None:
    settings, ours = theirs.generation_config, shipped.defaults
    assert settings.do_sample
    assert (settings.temperature, settings.top_p) == (ours.temperature, ours.top_p) == (0.6, 0.85)
    assert settings.repetition_penalty == ours.repetition_penalty == 1.15
    assert settings.max_new_tokens == ours.max_new_tokens == 512
    assert (settings.bos_token_id, settings.eos_token_id) == (0, 0)
    assert not settings.top_k
