"""config.json to a frozen `ModelConfig`: the one place that knows Hugging Face's names.

It knows settings, not weights, and imports no NumPy.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasscli.checkpoint.untrusted_files import disguise, file_inside, plain, read_limited
from glasscli.config.checked import flag, positive, short, token_ids, whole
from glasscli.errors import ConfigError

ARCHITECTURE = "LlamaForCausalLM"


@dataclass(frozen=True)
class RopeScaling:
    """How rotary angles depend on the position.

    `kind` is "default" (angle = position · theta^(−2i/E)), "linear" (positions divided by `factor`), or
    "llama3" (low frequencies divided by `factor`, high ones kept, a ramp between).

    Sources: Su et al. 2021, arXiv:2104.09864; Chen et al. 2023, arXiv:2306.15595 (linear); the Llama 3.1
    model card (llama3).
    """

    kind: str = "default"
    theta: float = 10000.0
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_seq_len: int = 8192


@dataclass(frozen=True)
class ModelConfig:
    """Everything the forward pass of a Llama needs to know beside its weights.

    Names are those of the table in the README; `from_dict` translates config.json's.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    dim: int
    ffn_dim: int
    vocab_size: int
    max_seq_len: int
    norm_eps: float = 1e-6
    rope: RopeScaling = RopeScaling()
    tied: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    bos_ids: tuple[int, ...] = ()
    eos_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                f"num_key_value_heads is {self.n_kv_heads}, which does not divide num_attention_heads ({self.n_heads})",
                "num_key_value_heads",
            )
        if self.head_dim % 2:
            raise ConfigError(
                f"head_dim is {self.head_dim}; rotary embeddings turn pairs and need an even number",
                "head_dim",
            )

    @property
    def group_size(self) -> int:
        """How many query heads share one key/value head."""
        return self.n_heads // self.n_kv_heads

    @property
    def n_parameters(self) -> int:
        """Weights of the model, a tied head counted once."""
        q, kv = self.n_heads * self.head_dim, self.n_kv_heads * self.head_dim
        attention = self.dim * (2 * q + 2 * kv) + (q + 2 * kv + self.dim) * self.attention_bias
        mlp = 3 * self.dim * self.ffn_dim + (2 * self.ffn_dim + self.dim) * self.mlp_bias
        embeddings = self.vocab_size * self.dim * (1 if self.tied else 2)
        return embeddings + self.n_layers * (attention + mlp + 2 * self.dim) + self.dim

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], source: str = "config.json") -> "ModelConfig":
        """Translate the settings of a config.json.

        Raises:
            ConfigError: a setting is missing, of the wrong type, out of range, or names something that glass
                does not compute (another architecture, activation or rotary scaling). `source` opens the
                message.
        """
        try:
            return _translate(settings)
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}", error.field) from None
        except RecursionError:
            raise ConfigError(f"{source}: nested too deep") from None


def load_config(folder: Path) -> ModelConfig:
    """Read `folder`/config.json, and the end-of-text ids of generation_config.json where there is one.

    Raises:
        ConfigError: a file is missing or broken, leads out of the folder, or describes what glass can't run.
    """
    path = folder / "config.json"
    settings = read_json(path)
    generation = folder / "generation_config.json"
    if generation.exists():
        ids = read_json(generation).get("eos_token_id")
        if ids is not None:
            settings = {**settings, "eos_token_id": ids}
    return ModelConfig.from_dict(settings, str(path))


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in `path`.

    Raises:
        ConfigError: it can't be read, leads out of its folder, is not JSON, or is not an object.
    """
    data = read_limited(file_inside(path.parent, path.name, ConfigError), error=ConfigError)
    if (found := disguise(data[:512], len(data))) is not None:
        raise ConfigError(f"{path} {found}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid JSON ({plain(str(error))})") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a JSON object, found {type(document).__name__}")
    return document


def _translate(settings: Mapping[str, Any]) -> ModelConfig:
    _check_architecture(settings)
    dim = whole(settings, "hidden_size")
    n_heads = whole(settings, "num_attention_heads")
    if settings.get("head_dim") is None and dim % n_heads:
        raise ConfigError(
            f"hidden_size {dim} is no multiple of num_attention_heads {n_heads}, and head_dim is not given",
            "head_dim",
        )
    vocab_size = whole(settings, "vocab_size")
    return ModelConfig(
        n_layers=whole(settings, "num_hidden_layers", largest=100_000),
        n_heads=n_heads,
        n_kv_heads=whole(settings, "num_key_value_heads", n_heads),
        head_dim=whole(settings, "head_dim", dim // n_heads),
        dim=dim,
        ffn_dim=whole(settings, "intermediate_size"),
        vocab_size=vocab_size,
        max_seq_len=whole(settings, "max_position_embeddings", 2048),
        norm_eps=positive(settings, "rms_norm_eps", 1e-6),
        rope=_rope(settings),
        tied=flag(settings, "tie_word_embeddings"),
        attention_bias=flag(settings, "attention_bias"),
        mlp_bias=flag(settings, "mlp_bias"),
        bos_ids=token_ids(settings, "bos_token_id", vocab_size),
        eos_ids=token_ids(settings, "eos_token_id", vocab_size),
    )


def _check_architecture(settings: Mapping[str, Any]) -> None:
    named = settings.get("architectures")
    if named is not None and (not isinstance(named, list) or ARCHITECTURE not in named):
        raise ConfigError(f"architectures is {short(named)}; glass runs {ARCHITECTURE} only", "architectures")
    model_type = settings.get("model_type", "llama" if named else None)
    if model_type != "llama":
        raise ConfigError(f"model_type is {short(model_type)}; glass runs 'llama' only", "model_type")
    if (act := settings.get("hidden_act", "silu")) not in ("silu", "swish"):
        raise ConfigError(f"hidden_act is {short(act)}; glass computes SwiGLU, which needs 'silu'", "hidden_act")
    if settings.get("quantization_config") is not None:
        raise ConfigError(
            "quantization_config is set; glass reads float32, float16 and bfloat16 weights",
            "quantization_config",
        )


def _rope(settings: Mapping[str, Any]) -> RopeScaling:
    field = "rope_parameters" if settings.get("rope_parameters") is not None else "rope_scaling"
    given = settings.get(field)
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ConfigError(f"{field} is {short(given)}; expected an object", field)
    older = settings.get("rope_scaling")
    if older not in (None, {}, given):
        raise ConfigError("rope_scaling and rope_parameters say different things; keep the right one", "rope_scaling")
    kind = given.get("rope_type", given.get("type", "default"))
    theta = positive(given, "rope_theta", positive(settings, "rope_theta", 10000.0))
    partial = given.get("partial_rotary_factor", settings.get("partial_rotary_factor"))
    if partial not in (None, 1, 1.0):
        raise ConfigError(
            f"partial_rotary_factor is {short(partial)}; glass rotates whole heads", "partial_rotary_factor"
        )
    if kind == "default":
        return RopeScaling(theta=theta)
    if kind == "linear":
        return RopeScaling("linear", theta, factor=positive(given, "factor"))
    if kind == "llama3":
        low, high = positive(given, "low_freq_factor"), positive(given, "high_freq_factor")
        if low >= high:
            raise ConfigError(f"{field}: low_freq_factor {low} must be below high_freq_factor {high}", field)
        trained = whole(given, "original_max_position_embeddings")
        return RopeScaling("llama3", theta, positive(given, "factor"), low, high, trained)
    raise ConfigError(f"{field} has type {short(kind)}; glass knows default, linear and llama3", field)
