"""Write converted/: tiny models of each family as llama.cpp's converter turns them into a GGUF, and facts.json.

    python tests/data/gguf/make_converted.py FOLDER_OF_LLAMA_CPP_SOURCES    # with torch and transformers

facts.json has of each the config.json and the names and shapes of its tensors. The files in the repository are from
the llama.cpp that llama-cpp-python 0.3.36 carries, transformers 5.24 and torch 2.13.
"""

import importlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers as hf

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
from helpers.formula import weights  # noqa: E402

SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "vocab_size": 24,
    "intermediate_size": 20,
    "max_position_embeddings": 64,
}
GROUPED = {"num_attention_heads": 4, "num_key_value_heads": 2}


def rope(theta: float, kind: str = "default", **more: Any) -> dict[str, Any]:
    return {"rope_type": kind, "rope_theta": theta, **more}


LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
LONG = {"short_factor": [1.0, 1.1, 1.3], "long_factor": [1.0, 2.5, 7.125], "original_max_position_embeddings": 32}


def configs() -> dict[str, hf.PretrainedConfig]:
    """A config for each file; sizes as small as the converter takes."""

    def of(kind: type, layers: int = 2, heads: dict[str, int] = GROUPED, **more: Any) -> hf.PretrainedConfig:
        return kind(**{**SIZES, "num_hidden_layers": layers, "pad_token_id": 0} | heads | more)

    windows = {"full_attention": rope(1e6, "linear", factor=8.0), "sliding_attention": rope(1e4)}
    yarn = rope(1e6, "yarn", factor=4.0, original_max_position_embeddings=32)
    half = {"partial_rotary_factor": 0.5}
    phi = {"original_max_position_embeddings": 32, "partial_rotary_factor": 0.75, "hidden_size": 32}
    multipliers = {"attention_multiplier": 0.015625, "embedding_multiplier": 12.0, "residual_multiplier": 0.22}
    return {
        "llama": of(hf.LlamaConfig, rms_norm_eps=1e-5, rope_parameters=rope(50_000.0)),
        "llama-biases": of(
            hf.LlamaConfig, head_dim=16, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
            rope_parameters=rope(500_000.0, "llama3", **LLAMA3)),
        "llama-linear": of(
            hf.LlamaConfig, heads={"num_attention_heads": 4, "num_key_value_heads": 4},
            rope_parameters=rope(10_000.0, "linear", factor=4.0)),
        "qwen2": of(hf.Qwen2Config, tie_word_embeddings=True, rope_parameters=yarn),
        "qwen3": of(hf.Qwen3Config, head_dim=8, rope_parameters=rope(1e6)),
        "gemma": of(hf.GemmaConfig, heads={"num_attention_heads": 4, "num_key_value_heads": 1}, head_dim=8),
        "gemma2": of(hf.Gemma2Config, layers=3, head_dim=8, sliding_window=8, query_pre_attn_scalar=8),
        "gemma3": of(
            hf.Gemma3TextConfig, layers=7, head_dim=8, sliding_window=8, query_pre_attn_scalar=8,
            rope_parameters=windows),
        "phi3": of(
            hf.Phi3Config, sliding_window=11,
            rope_parameters=rope(1e4, original_max_position_embeddings=64)),
        "phi3-longrope": of(
            hf.Phi3Config, tie_word_embeddings=True, **phi,
            rope_parameters=rope(1e4, "longrope", partial_rotary_factor=0.75, **LONG)),
        "gpt2": hf.GPT2Config(n_embd=16, n_layer=2, n_head=4, vocab_size=24, n_positions=64, n_ctx=64),
        "gptneox": of(hf.GPTNeoXConfig, heads={"num_attention_heads": 2}, rotary_pct=0.25),
        "gptneox-sequential": of(
            hf.GPTNeoXConfig, heads={"num_attention_heads": 4}, rotary_pct=1.0, use_parallel_residual=False),
        "stablelm": of(hf.StableLmConfig, use_qkv_bias=True, rope_parameters=rope(1e4, **half)),
        "olmo2": of(hf.Olmo2Config, rope_parameters=rope(5e5)),
        "olmo3": of(hf.Olmo3Config, layers=5, sliding_window=8, rope_parameters=rope(5e5)),
        "granite": of(hf.GraniteConfig, logits_scaling=8.0, tie_word_embeddings=True, **multipliers),
        "smollm3": of(hf.SmolLM3Config, layers=5, tie_word_embeddings=True, rope_parameters=rope(5e6)),
    }  # fmt: skip


def convert(folder: Path, path: Path) -> None:
    """Run the converter, without a vocabulary."""
    main = importlib.import_module("convert_hf_to_gguf")
    base = importlib.import_module("conversion.base")
    for module in ("llama", "qwen", "gemma", "phi", "gpt2", "gptneox", "stablelm", "olmo", "granite"):
        importlib.import_module(f"conversion.{module}")

    def without_vocabulary(model: Any) -> None:
        model.gguf_writer.add_tokenizer_model("none")

    def every(kind: Any) -> Any:
        yield kind
        for below in kind.__subclasses__():
            yield from every(below)

    for kind in every(base.TextModel):
        kind.set_vocab = without_vocabulary
    load = base.ModelBase.load_hparams

    def with_older_names(*args: Any, **how: Any) -> dict[str, Any]:
        """What transformers' config says, and GPT-NeoX's share of a head under the name that the converter knows."""
        said = load(*args, **how)
        if said.get("model_type") == "gpt_neox":
            said["rotary_pct"] = said["rope_parameters"]["partial_rotary_factor"]
        return said

    base.ModelBase.load_hparams = staticmethod(with_older_names)
    gemma3 = importlib.import_module("conversion.gemma").Gemma3Model

    def norms_only(model: Any, data: Any, name: str, layer: int | None) -> Any:
        """As the converter's, which also cuts the embedding to the vocabulary that is not there."""
        yield from base.TextModel.modify_tensors(model, data + model.norm_shift(name), name, layer)

    gemma3.modify_tensors = norms_only
    sys.argv = ["convert", str(folder), "--outfile", str(path), "--outtype", "f16"]
    main.main()


def make(name: str, config: hf.PretrainedConfig, place: Path) -> dict[str, Any]:
    """One model, converted; its facts."""
    model = hf.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights(key, parameter.shape)))
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model.save_pretrained(folder)
        said = json.loads((folder / "config.json").read_text())
        convert(folder, place / f"{name}.gguf")
    tied = config.tie_word_embeddings
    return {
        "config": said,
        "tensors": {k: list(p.shape) for k, p in model.named_parameters() if not (tied and k == "lm_head.weight")},
    }


if __name__ == "__main__":
    sources = Path(sys.argv[1])
    sys.path[:0] = [str(sources / "gguf-py"), str(sources)]
    place = HERE / "converted"
    place.mkdir(exist_ok=True)
    facts = {name: make(name, config, place) for name, config in configs().items()}
    (place / "facts.json").write_text(json.dumps(facts, separators=(",", ":")))
