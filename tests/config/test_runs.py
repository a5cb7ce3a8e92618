"""What glass does not run, told by name."""

import pytest
from helpers.random_llama import settings

from glasscli import ModelConfig
from glasscli.errors import ConfigError, NotRunError

MLX = {"group_size": 64, "bits": 4}


@pytest.mark.parametrize(
    "said",
    [
        {"quantization": MLX},
        {"quantization": MLX, "quantization_config": MLX},
        {"quantization_config": {**MLX, "mode": "affine", "model.embed_tokens": {"bits": 8, "group_size": 64}}},
    ],
)
def test_mlx_is_called_by_its_name(said: dict[str, object]) -> None:
    """What mlx-lm's convert writes, older versions in one place and newer ones in two."""
    with pytest.raises(NotRunError, match=r"is MLX's: the weights are packed for mlx-lm \(4 bits, groups of 64\)"):
        ModelConfig.from_dict(settings(**said))


def test_other_packings_are_not_mlx() -> None:
    with pytest.raises(NotRunError, match="quantization_config is set; glass reads") as caught:
        ModelConfig.from_dict(settings(quantization_config={"quant_method": "gptq", **MLX}))
    assert caught.value.field == "quantization_config"
    ModelConfig.from_dict(settings(quantization=None))


@pytest.mark.parametrize(
    "odd",
    [
        {"architectures": ["MambaForCausalLM"]},
        {"model_type": "mamba"},
        {"hidden_act": "relu"},
        {"rope_parameters": {"rope_type": "spiral", "rope_theta": 10000.0}},
    ],
)
def test_what_may_be_whole_is_told_from_what_is_broken(odd: dict[str, object]) -> None:
    """`info` describes the one and refuses the other."""
    with pytest.raises(NotRunError):
        ModelConfig.from_dict(settings(**odd))


@pytest.mark.parametrize("fault", [{"vocab_size": None}, {"num_key_value_heads": 3}, {"hidden_size": "large"}])
def test_faults_are_no_other_kind_of_model(fault: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig.from_dict(settings(**fault))
    assert not isinstance(caught.value, NotRunError)
