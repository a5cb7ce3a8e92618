"""config.json to a frozen `ModelConfig`: the one place that knows Hugging Face's names.

It knows settings, not weights, and imports no NumPy.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glasscli.config.architecture import Architecture, Number
from glasscli.config.architectures import LLAMA, NESTED
from glasscli.config.families import read_model
from glasscli.config.families.fields import Fields, shown
from glasscli.config.rotary import RopeScaling, read_ropes
from glasscli.config.runs import architecture_of, refuse_unsupported, variant_of
from glasscli.config.source import quantization_beside, read_object
from glasscli.config.writing import all_ids
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.specs.cache_spec import CacheSpec, FullAttention


@dataclass(frozen=True)
class ModelConfig:
    """Everything the forward pass needs to know beside its weights.

    Names are those of the table in the README; `from_dict` translates config.json's.

    Attributes:
        rope: of most layers; `ropes` says it layer by layer, with None for a layer that does not rotate.
        specs: what each layer keeps, which is also how far it looks back.
        tied: whether the embedding is the head; `tie_known`: whether the settings say so themselves.
        qkv_bias, out_bias, mlp_bias: whether those matrices have one.
        parallel: whether the MLP reads what attention reads, and not what attention gives.
        embedding_scale, residual_scale, logit_scale: factors of the embedding, of what a half block adds, and of
            the logits.
        attention_scale: factor of the scores; None for 1/√head_dim.
        attention_softcap, logit_softcap: scores and logits are bent to stay within ± this.
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
    rope: RopeScaling = field(default_factory=RopeScaling)
    tied: bool = False
    tie_known: bool = True
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    parallel: bool = False
    bos_ids: tuple[int, ...] = ()
    eos_ids: tuple[int, ...] = ()
    architecture: Architecture = LLAMA
    activation: str = "silu"
    ropes: tuple[RopeScaling | None, ...] = ()
    specs: tuple[CacheSpec, ...] = ()
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0
    attention_scale: float | None = None
    attention_softcap: float | None = None
    logit_softcap: float | None = None

    def __post_init__(self) -> None:
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                f"num_key_value_heads is {self.n_kv_heads}, which does not divide num_attention_heads ({self.n_heads})",
                "num_key_value_heads",
            )
        if not self.ropes:
            object.__setattr__(self, "ropes", (self.rope,) * self.n_layers)
        if self.rotary_dim % 2:
            raise ConfigError(
                f"head_dim is {self.head_dim}; rotary embeddings turn pairs and need an even number",
                "head_dim",
            )
        if not self.specs:
            plain = FullAttention(self.n_kv_heads, self.head_dim, self.head_dim)
            object.__setattr__(self, "specs", (plain,) * self.n_layers)

    @property
    def group_size(self) -> int:
        """How many query heads share one key/value head."""
        return self.n_heads // self.n_kv_heads

    @property
    def score_scale(self) -> float:
        """The factor of the scores."""
        return 1 / math.sqrt(self.head_dim) if self.attention_scale is None else self.attention_scale

    @property
    def rotary_dim(self) -> int:
        """How many numbers of a head are rotated: the same in all layers that rotate, 0 where none does."""
        return next((rope.rotary_dim(self.head_dim) for rope in self.ropes if rope is not None), 0)

    @property
    def n_parameters(self) -> int:
        """Weights of the model, a tied head counted once."""
        from glasscli.config.tensor_shapes import n_parameters

        return n_parameters(self)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], source: str = "config.json") -> "ModelConfig":
        """Translate the settings of a config.json.

        Heads, widths and what each layer keeps come from the reading that sizes caches (`config.families`).

        Raises:
            ConfigError: a setting is missing, of the wrong type, out of range, or names something that glass
                does not compute (another architecture, activation or rotary scaling). `source` opens the
                message.
        """
        try:
            return _translate(settings)
        except ConfigError as error:
            raise type(error)(f"{source}: {error}", error.field) from None
        except RecursionError:
            raise ConfigError(f"{source}: nested too deep") from None


def load_config(folder: str | Path) -> ModelConfig:
    """Read `folder`/config.json, and more end-of-text ids in generation_config.json where there is one.

    Raises:
        ConfigError: a file is missing or broken, leads out of the folder, or describes what glass can't run.
    """
    return ModelConfig.from_dict(load_settings(Path(folder)), str(Path(folder) / "config.json"))


def load_settings(folder: Path) -> dict[str, Any]:
    """config.json of a folder; its end-of-text ids are those of generation_config.json and its own together.

    Raises:
        ConfigError: as `load_config`.
    """
    settings = read_object(folder / "config.json")
    settings |= quantization_beside(str(folder), settings)
    generation = folder / "generation_config.json"
    more = read_object(generation).get("eos_token_id") if generation.exists() else None
    return settings if more is None else {**settings, "eos_token_id": all_ids(more, settings.get("eos_token_id"))}


def _translate(settings: Mapping[str, Any]) -> ModelConfig:
    row = architecture_of(settings)
    reading = read_model(settings)
    read, specs = reading.fields, reading.layout.layers
    read = read.over({usual: read.get(own) for usual, own in row.fields.items() if read.has(own)})
    if row.model_type in NESTED:
        read = read.over(_said_around(settings, read))
    refuse_unsupported(read, row)
    row = variant_of(read, row)
    dim, n_heads = read.integer("hidden_size"), read.integer("num_attention_heads")
    spec = _same_shape(specs, read)
    vocab_size = read.integer("vocab_size", **({} if row.vocab_size is None else {"default": row.vocab_size}))
    max_seq_len = read.integer("max_position_embeddings", default=row.max_seq_len)
    ropes = read_ropes(read, row, specs, spec.k_dim, max_seq_len)
    numbers: dict[str, Any] = {name: _number(read, given) for name, given in row.numbers.items()}
    ffn_dim: dict[str, int] = {"default": row.ffn_multiple * dim} if row.ffn_multiple else {}
    return ModelConfig(
        n_layers=len(specs),
        n_heads=n_heads,
        n_kv_heads=spec.n_kv_heads,
        head_dim=spec.k_dim,
        dim=dim,
        ffn_dim=read.integer("intermediate_size", **ffn_dim),
        vocab_size=vocab_size,
        max_seq_len=max_seq_len,
        norm_eps=read.positive(row.eps.field, row.eps.default),
        rope=_usual_rope(ropes, specs),
        tied=read.flag("tie_word_embeddings", row.tied),
        tie_known=read.has("tie_word_embeddings"),
        qkv_bias=_switch(read, row.biases.get("qkv", False), row.biases_on),
        out_bias=_switch(read, row.biases.get("out", False), row.biases_on),
        mlp_bias=_switch(read, row.biases.get("mlp", False), row.biases_on),
        parallel=_switch(read, row.parallel, True),
        bos_ids=read.token_ids("bos_token_id", vocab_size),
        eos_ids=read.token_ids("eos_token_id", vocab_size),
        architecture=row,
        activation=_activation(read, row),
        ropes=ropes,
        specs=specs,
        **numbers,
    )


def _said_around(settings: Mapping[str, Any], read: Fields) -> dict[str, Any]:
    """What the config of a whole model says of its text part: the marks, and whether the head is tied."""
    said = {name: settings[name] for name in ("bos_token_id", "tie_word_embeddings") if settings.get(name) is not None}
    return said | {"eos_token_id": all_ids(settings.get("eos_token_id"), read.get("eos_token_id"))}


def _same_shape(specs: tuple[CacheSpec, ...], read: Fields) -> FullAttention | SlidingAttention:
    """The first layer's spec, where all others have heads as many and as wide: what the block computes with."""
    first = specs[0]
    for spec in specs:
        if not isinstance(spec, FullAttention | SlidingAttention):
            read.not_run("layer_types", f"gives {spec.name} layers, which glass does not run")
        assert isinstance(first, FullAttention | SlidingAttention)
        if (spec.n_kv_heads, spec.k_dim, spec.v_dim) != (first.n_kv_heads, first.k_dim, first.k_dim):
            read.not_run("head_dim", "differs between layers or between keys and values, which glass does not run")
    assert isinstance(first, FullAttention | SlidingAttention)
    return first


def _number(read: Fields, given: Number) -> float | None:
    if given.optional and given.field in read.config and read.config[given.field] is None:
        return None
    value: float | None = read.positive(given.field, given.default)
    return value if value is None or given.power == 1 else value**given.power


def _switch(read: Fields, says: bool | str, default: bool) -> bool:
    return says if isinstance(says, bool) else read.flag(says, default)


def _usual_rope(ropes: tuple[RopeScaling | None, ...], specs: tuple[CacheSpec, ...]) -> RopeScaling:
    """The rotation of the layers that look back over everything; of any layer where there are none."""
    rotated = [(rope, spec) for rope, spec in zip(ropes, specs, strict=True) if rope is not None]
    everything = (rope for rope, spec in rotated if isinstance(spec, FullAttention))
    return next(everything, rotated[0][0] if rotated else RopeScaling())


def _activation(read: Fields, row: Architecture) -> str:
    name = read.get("hidden_act") or next(iter(row.activations))
    if not isinstance(name, str) or name not in row.activations:
        known = " or ".join(repr(known) for known in row.activations)
        read.not_run("hidden_act", f"is {shown(name)}; glass computes a {row.model_type} with {known}")
    return row.activations[name]
