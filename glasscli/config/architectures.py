"""The families that glass runs, a row each."""

from collections.abc import Mapping

from glasscli.config.architecture import Architecture

LLAMA = Architecture(
    model_type="llama",
    class_name="LlamaForCausalLM",
    biases={"qkv": "attention_bias", "out": "attention_bias", "mlp": "mlp_bias"},
)

ARCHITECTURES: Mapping[str, Architecture] = {row.model_type: row for row in (LLAMA,)}
