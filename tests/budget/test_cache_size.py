"""The budget in one call, as the README shows it."""

import subprocess
import sys

import pytest

from glasscli import ConfigError, UsageError, cache_size

LLAMA_8B = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "torch_dtype": "bfloat16",
}


def test_by_hand() -> None:
    """2 (K, V) · 32 layers · 8 heads · 128 · 2 B a token."""
    a_token = 2 * 32 * 8 * 128 * 2
    budget = cache_size(LLAMA_8B, 8192, batch=3)
    assert (budget.bytes_per_token, budget.bytes_total) == (a_token, 3 * 8192 * a_token)
    assert cache_size("llama-3.1-8b", 8192).bytes_total == 8192 * a_token
    assert cache_size(LLAMA_8B, 17, engine="vllm", tp=2).bytes_total == 32 * a_token  # two pages of 16


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        cache_size({**LLAMA_8B, "num_key_value_heads": 5}, 8)
    assert refused.value.field == "num_key_value_heads"
    with pytest.raises(UsageError, match="engine"):
        cache_size(LLAMA_8B, 8, engine="vlm")
    with pytest.raises(UsageError, match="llama-3"):
        cache_size("llama-3.1-8c", 8)


def test_it_needs_no_numpy() -> None:
    program = "import sys; from glasscli import cache_size; cache_size('gpt-2', 8); print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
