"""What the shipped weights say, as another program computed it (see tests/golden/make_greedy.py)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glasscli import SamplingParams, generate, load_model

CASES = json.loads((Path(__file__).parent / "golden" / "greedy.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["prompt"] or "empty" for case in CASES])
def test_ids_and_logits(case: dict[str, Any]) -> None:
    loaded = load_model()
    assert loaded.encode(case["prompt"]) == case["prompt_ids"]
    logits = loaded.model(case["prompt_ids"], last_only=True)[0]
    np.testing.assert_allclose(logits, case["first_logits"], rtol=0, atol=2e-4)  # float32 beside float64
    chosen = []
    cache = loaded.model.new_cache()
    fed = case["prompt_ids"]
    for _ in case["greedy_ids"]:
        chosen.append(int(loaded.model(fed, cache, last_only=True)[0].argmax()))
        fed = chosen[-1:]
    assert chosen == case["greedy_ids"]


def test_generate_says_the_same() -> None:
    case, loaded = CASES[1], load_model()
    greedy = SamplingParams(temperature=0)
    n = len(case["greedy_ids"])
    steps = list(generate(loaded, case["prompt"], params=greedy, max_new_tokens=n, ignore_eos=False))
    ids = [step.token_id for step in steps]
    assert ids == case["greedy_ids"][: len(ids)]
    assert len(ids) == n or case["greedy_ids"][len(ids) - 1] in loaded.config.eos_ids
