"""The budget of a Llama equals the bytes that glass's own cache allocates for the same layout."""

import pytest

from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.cache.kv_cache import KVCache
from glasscli.cache.layout import layout_of
from glasscli.config.families import Layout, layout
from glasscli.config.model_config import ModelConfig
from glasscli.specs.attention_specs import FullAttention

# A Llama small enough that every cache below is a few kilobytes: 3 layers, 4 query heads on 2, 16 wide.
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "torch_dtype": "float32",
}


@pytest.mark.parametrize("batch", [1, 2, 5])
@pytest.mark.parametrize("tokens", [1, 7, 64, 512])
def test_budget_equals_what_the_cache_allocates(tokens: int, batch: int) -> None:
    held = layout_of(ModelConfig.from_dict(LLAMA))
    cache = KVCache(held, tokens, batch)
    assert plan(Request(layout(LLAMA), tokens, batch)).bytes_total == cache.nbytes
    assert plan(Request(Layout("llama", held, dtype="f32"), tokens, batch)).bytes_total == cache.nbytes


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4, 8])
def test_budget_follows_the_heads_as_the_cache_does(n_kv_heads: int) -> None:
    held = (FullAttention(n_kv_heads, 32, 32),) * 5
    for tokens, batch in ((3, 1), (33, 4)):
        assert plan(Request(Layout("", held, "f32"), tokens, batch)).bytes_total == (
            KVCache(held, tokens, batch).nbytes
        )
