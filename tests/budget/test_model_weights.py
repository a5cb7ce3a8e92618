"""Named models have the parameters that their checkpoints say; the rest of the list is refused where weights count."""

import pytest

from glasscli.budget.model_facts import MODELS
from glasscli.budget.model_weights import WEIGHTS, weights_config
from glasscli.budget.models import find
from glasscli.budget.weights.loaded import loaded_bytes
from glasscli.budget.weights.ranks import Split
from glasscli.budget.weights.rope_cache import rope_cache_bytes
from glasscli.budget.weights.stored import stored

GIB = 2**30
# Parameters that the models' pages and papers give: those in the files, without copies, buffers and draft layers.
PUBLISHED = {
    "gpt-2": 124_439_808,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-3b": 3_212_749_824,
    "llama-4-scout": 108_641_793_536,
    "llama-4-maverick": 401_583_781_376,
    "mistral-7b-v0.1": 7_241_732_096,
    "mistral-7b-v0.3": 7_248_023_552,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_620_634_112,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "gemma-3-4b": 4_300_079_472,
    "gemma-3-12b": 12_187_325_040,
    "gemma-3-27b": 27_432_406_640,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v2": 235_741_434_880,
    "deepseek-v3": 671_026_419_200 - 58 * 256,  # without the biases of its routers, which are buffers
    "phi-2": 2_779_683_840,
    "phi-3-mini-4k": 3_821_079_552,
    "phi-4": 14_659_507_200,
    "phi-4-mini": 3_836_021_760,
    "starcoder": 15_517_456_384,
    "starcoder2-15b": 15_957_889_024,
    "whisper-large-v3": 1_543_490_560,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_that_were_published(name: str) -> None:
    assert stored(weights_config(find(name))).weights.n_parameters == PUBLISHED[name]


@pytest.mark.parametrize("name", WEIGHTS)
def test_every_entry_is_a_model_of_the_list_and_can_be_counted(name: str) -> None:
    assert stored(weights_config(find(name))).n_bytes > 0


@pytest.mark.parametrize(
    ("name", "ranks", "gib"),
    [
        ("phi-4-mini", 1, "7.1694"),  # a notebook's log of 2025-08-06
        ("llama-3.1-8b", 1, "14.9888"),  # vllm-project/vllm#10517
        ("qwen3-8b", 1, "15.27"),  # vLLM 0.29, one RTX 5090
    ],
)
def test_what_vllm_logged_as_the_weights_of_a_named_model(name: str, ranks: int, gib: str) -> None:
    config = weights_config(find(name))
    model = stored(config)
    (loaded,) = loaded_bytes(model, Split(tp=ranks))
    digits = len(gib.partition(".")[2])
    assert f"{(loaded + (rope_cache_bytes(config, 'bf16') or 0)) / 2**30:.{digits}f}" == gib


def test_few_names_are_without_weights() -> None:
    without = {model.name for model in MODELS if not weights_config(model)}
    assert without >= {"palm-540b", "minimax-m3", "kimi-k3"}  # never published, or of a type that nobody counts
    assert len(MODELS) - len(without) >= 76


@pytest.mark.parametrize(("name", "gigabytes"), [("deepseek-v4-flash", 155.6), ("deepseek-v4-pro", 849.8)])
def test_experts_in_fp4_beside_fp8(name: str, gigabytes: float) -> None:
    """Half a byte for each number of an expert that tokens are sent to, and a byte for the scale of 32."""
    assert stored(weights_config(find(name))).n_bytes / 1e9 == pytest.approx(gigabytes, abs=0.05)
