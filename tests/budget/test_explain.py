"""What a plan says in words: sizes as people read them, each blamed on what causes it."""

from dataclasses import replace

import pytest
from helpers.hand_layouts import DEEPSEEK_V3, GPT_OSS, LLAMA_8B, QWEN_27B, sized

from glasscli.budget.engines import ENGINES
from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.config.families import Layout
from glasscli.specs.attention_specs import CacheSpec, FullAttention, LatentAttention
from glasscli.specs.state_specs import KDA, ShortConv


def test_what_an_engine_takes_more_is_said_in_a_line() -> None:
    assert not any("takes" in note for note in plan(Request(LLAMA_8B, 4096, engine="llama.cpp")).notes)
    budget = plan(Request(LLAMA_8B, 4097, engine="llama.cpp", k_dtype="q8_0", v_dtype="q8_0"))
    assert budget.logical_bytes == 4097 * 32 * 2 * 8 * 4 * 34
    more = budget.bytes_total - budget.logical_bytes
    assert more == (4352 - 4097) * 69632
    assert any("llama.cpp takes 16.9 MiB more (6.2 %) than the 272.1 MiB the layers need" in n for n in budget.notes)
    assert any("padded to 256" in note for note in budget.notes)


def test_copies_on_ranks_are_not_the_engine_s() -> None:
    """One latent row on 8 ranks: the engine takes what the ranks need, and it is the ranks that copy."""
    budget = plan(Request(DEEPSEEK_V3, 131072, 64, engine="vllm", tp=8))
    assert budget.bytes_total == 8 * budget.logical_bytes == 8 * 64 * 131072 * 70272
    assert not any("vLLM takes" in note for note in budget.notes)
    assert budget.warnings == (
        "tp 8: every rank keeps all of a row that the heads share; one copy would be 549 GiB, all ranks keep 4.3 TiB",
    )
    odd = plan(Request(DEEPSEEK_V3, 63, engine="vllm", tp=8))
    assert "vLLM takes 549 KiB more (1.6 %) than the 33.8 MiB the layers need" in odd.notes


def test_many_times_as_much_is_said_in_times() -> None:
    assert "llama.cpp takes 256.0 × the 128 KiB the layers need" in plan(Request(LLAMA_8B, 1, engine="llama.cpp")).notes


def test_a_length_that_the_model_was_not_made_for() -> None:
    layout = replace(LLAMA_8B, max_positions=4096)
    assert plan(Request(layout, 4096)).warnings == ()
    (said,) = plan(Request(layout, 4097)).warnings
    assert said == "4,097 tokens are more than the 4,096 the model was made for"
    assert said in plan(Request(layout, 4097)).notes


def test_the_version_whose_rules_were_followed() -> None:
    editions = {name: plan(Request(LLAMA_8B, 256, engine=name)).edition for name in ENGINES}
    assert editions["logical"] == ""
    assert all(edition for name, edition in editions.items() if name != "logical")
    assert plan(Request(LLAMA_8B, 256, engine="vllm", options={"version": "0.25"})).edition == "0.25"


@pytest.mark.parametrize(
    ("layers", "vllm", "llama"),
    [
        (
            (KDA(32, 128, 4), LatentAttention(512, 64, n_heads=32)),
            "convolutions in bf16, states in f32",
            "convolutions in f32, states in f32, for 1 sequence",
        ),
        ((ShortConv(2048, 3), FullAttention(8, 64, 64)), "convolutions in bf16", "convolutions in f32, for 1 sequence"),
    ],
)
def test_dtypes_of_states_are_those_that_are_counted(layers: tuple[CacheSpec, ...], vllm: str, llama: str) -> None:
    """KDA's states are float32 in vLLM whatever the model's dtype; a short convolution has no state."""
    held = Layout("", layers, n_heads=32)
    assert vllm in sized(held, 256, engine="vllm").notes
    assert llama in sized(held, 256, engine="llama.cpp").notes


def test_the_slots_of_a_server_that_is_not_told() -> None:
    """4 states in place of one (logged for Qwen3.5-27B: 598.50 MiB), and 4 windows."""
    (said,) = sized(QWEN_27B, 24576, engine="llama.cpp").warnings
    assert said == "llama-server opens 4 slots unless told (-np 1): then 2.1 GiB"
    assert sized(QWEN_27B, 24576, engine="llama.cpp", n_seq_max=4).bytes_total == 1536 * 2**20 + 598.5 * 2**20
    (said,) = sized(GPT_OSS, 8192, engine="llama.cpp", batch=2).warnings
    assert "(-np 2)" in said
    for asked in ({"n_seq_max": 1}, {"batch": 4}, {"kv_unified": False}):
        assert sized(GPT_OSS, 8192, engine="llama.cpp", **asked).warnings == ()
    assert sized(LLAMA_8B, 8192, engine="llama.cpp").warnings == ()
