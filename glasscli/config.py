"""config.json to a frozen `ModelConfig`: the one place that knows Hugging Face's names.

It knows settings, not weights, and imports no NumPy.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasscli.errors import ConfigError
from glasscli.folder import disguise, file_inside, read_limited

ARCHITECTURE = "LlamaForCausalLM"
_LARGEST = 10**9  # no real dimension comes near; a larger one is a damaged file


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
        raise ConfigError(f"{path}: not valid JSON ({_short(str(error))[1:-1]})") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a JSON object, found {type(document).__name__}")
    return document


def _translate(settings: Mapping[str, Any]) -> ModelConfig:
    _check_architecture(settings)
    dim = _whole(settings, "hidden_size")
    n_heads = _whole(settings, "num_attention_heads")
    if settings.get("head_dim") is None and dim % n_heads:
        raise ConfigError(
            f"hidden_size {dim} is no multiple of num_attention_heads {n_heads}, and head_dim is not given",
            "head_dim",
        )
    vocab_size = _whole(settings, "vocab_size")
    return ModelConfig(
        n_layers=_whole(settings, "num_hidden_layers", largest=100_000),
        n_heads=n_heads,
        n_kv_heads=_whole(settings, "num_key_value_heads", n_heads),
        head_dim=_whole(settings, "head_dim", dim // n_heads),
        dim=dim,
        ffn_dim=_whole(settings, "intermediate_size"),
        vocab_size=vocab_size,
        max_seq_len=_whole(settings, "max_position_embeddings", 2048),
        norm_eps=_positive(settings, "rms_norm_eps", 1e-6),
        rope=_rope(settings),
        tied=_flag(settings, "tie_word_embeddings"),
        attention_bias=_flag(settings, "attention_bias"),
        mlp_bias=_flag(settings, "mlp_bias"),
        bos_ids=_ids(settings, "bos_token_id", vocab_size),
        eos_ids=_ids(settings, "eos_token_id", vocab_size),
    )


def _check_architecture(settings: Mapping[str, Any]) -> None:
    named = settings.get("architectures")
    if named is not None and (not isinstance(named, list) or ARCHITECTURE not in named):
        raise ConfigError(f"architectures is {_short(named)}; glass runs {ARCHITECTURE} only", "architectures")
    model_type = settings.get("model_type", "llama" if named else None)
    if model_type != "llama":
        raise ConfigError(f"model_type is {_short(model_type)}; glass runs 'llama' only", "model_type")
    if (act := settings.get("hidden_act", "silu")) not in ("silu", "swish"):
        raise ConfigError(f"hidden_act is {_short(act)}; glass computes SwiGLU, which needs 'silu'", "hidden_act")
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
        raise ConfigError(f"{field} is {_short(given)}; expected an object", field)
    older = settings.get("rope_scaling")
    if older not in (None, {}, given):
        raise ConfigError("rope_scaling and rope_parameters say different things; keep the right one", "rope_scaling")
    kind = given.get("rope_type", given.get("type", "default"))
    theta = _positive(given, "rope_theta", _positive(settings, "rope_theta", 10000.0))
    partial = given.get("partial_rotary_factor", settings.get("partial_rotary_factor"))
    if partial not in (None, 1, 1.0):
        raise ConfigError(
            f"partial_rotary_factor is {_short(partial)}; glass rotates whole heads", "partial_rotary_factor"
        )
    if kind == "default":
        return RopeScaling(theta=theta)
    if kind == "linear":
        return RopeScaling("linear", theta, factor=_positive(given, "factor"))
    if kind == "llama3":
        low, high = _positive(given, "low_freq_factor"), _positive(given, "high_freq_factor")
        if low >= high:
            raise ConfigError(f"{field}: low_freq_factor {low} must be below high_freq_factor {high}", field)
        trained = _whole(given, "original_max_position_embeddings")
        return RopeScaling("llama3", theta, _positive(given, "factor"), low, high, trained)
    raise ConfigError(f"{field} has type {_short(kind)}; glass knows default, linear and llama3", field)


def _whole(settings: Mapping[str, Any], field: str, default: int | None = None, largest: int = _LARGEST) -> int:
    value = settings.get(field)
    value = default if value is None else value
    if value is None:
        raise ConfigError(f"{field} is missing", field)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= largest:
        raise ConfigError(f"{field} is {_short(value)}; expected a whole number from 1 to {largest:,}", field)
    return value


def _positive(settings: Mapping[str, Any], field: str, default: float | None = None) -> float:
    value = settings.get(field)
    value = default if value is None else value
    if value is None:
        raise ConfigError(f"{field} is missing", field)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 1e-30 <= value <= 1e30:  # past these, float32 would divide by zero or overflow
        raise ConfigError(f"{field} is {_short(value)}; expected a number from 1e-30 to 1e30", field)
    return float(value)


def _flag(settings: Mapping[str, Any], field: str) -> bool:
    value = settings.get(field)
    value = False if value is None else value
    if not isinstance(value, bool):
        raise ConfigError(f"{field} is {_short(value)}; expected true or false", field)
    return value


def _ids(settings: Mapping[str, Any], field: str, vocab_size: int) -> tuple[int, ...]:
    value = settings.get(field)
    ids = [] if value is None else value if isinstance(value, list) else [value]
    for token_id in ids:
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise ConfigError(f"{field} is {_short(value)}; expected a token id, a list of them, or null", field)
    # Some folders name ids past the embedding (added tokens that were never trained): they can't be produced.
    return tuple(token_id for token_id in dict.fromkeys(ids) if 0 <= token_id < vocab_size)


def _short(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} nested too deep to show"
    return text if len(text) <= 60 else f"{text[:57]}..."
