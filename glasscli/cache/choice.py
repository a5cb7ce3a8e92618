"""What a user may choose about a cache: how K and V are packed, which tokens are kept, how many heads share.

It holds the choice and says it in words; it packs nothing and imports no NumPy. `choice_text` reads it from text,
`quality.flags` writes it for other engines.
"""

from dataclasses import dataclass
from typing import Literal

from glasscli.cache.formats.names import BLOCK, BLOCKED, KIVI, ROTATED, SAYS
from glasscli.errors import ConfigError, UsageError
from glasscli.likeness import enumerated

Keeps = Literal["all", "window", "h2o", "tova"]
RESIDUAL = 32
NO_RESIDUAL = "residual counts the exact tokens of kivi2 and kivi4"


@dataclass(frozen=True)
class CacheChoice:
    """A cache as it was asked for. Checked when made: a choice that contradicts itself is a UsageError.

    Attributes:
        k, v: formats of keys and values, by name.
        rotated: whether the formats of llama.cpp are turned by a Hadamard matrix where llama.cpp does so, at head
            widths that are a multiple of 64.
        residual: how many of the newest tokens KIVI leaves exact: a multiple of its 32.
        keeps: which tokens stay: all; the last `tokens` and the first `sinks`; the `tokens` that h2o or tova pick.
        tokens: how many, sinks not counted; 0 for all.
        renumbered: whether positions are counted inside the window, as if what was dropped had never been there
            (StreamingLLM), or kept as in the text (llama.cpp).
        kv_heads: key/value heads after merging neighbours; None to leave them. Not retrained.
    """

    k: str = "f32"
    v: str = "f32"
    rotated: bool = True
    residual: int = RESIDUAL
    keeps: Keeps = "all"
    tokens: int = 0
    sinks: int = 0
    renumbered: bool = False
    kv_heads: int | None = None

    def __post_init__(self) -> None:
        window = self.keeps == "window"
        _refuse_unless(self.k in SAYS and self.v in SAYS, f"{self.k} or {self.v} is no format")
        _refuse_unless((self.tokens > 0) == (self.keeps != "all"), f"{self.keeps} needs a number of tokens to keep")
        _refuse_unless(window or not self.sinks, "sinks stand before a window: add window=N")
        _refuse_unless(window or not self.renumbered, "renumber counts positions in a window: add window=N")
        _refuse_unless(
            self.rotated or bool(self._formats & ROTATED),
            f"norot leaves out a rotation that only {', '.join(sorted(ROTATED))} have",
        )
        kivi = bool(self._formats & KIVI)
        _refuse_unless(kivi or self.residual == RESIDUAL, NO_RESIDUAL)
        _refuse_unless(
            self.residual > 0 and self.residual % BLOCK == 0,
            f"residual is {self.residual}; KIVI packs {BLOCK} tokens at a time, so it is a multiple of {BLOCK}",
        )
        _refuse_unless(
            not kivi or self.keeps == "all",
            f"KIVI packs {BLOCK} tokens of a key together, so that {self.keeps} can't drop single ones",
        )
        _refuse_unless(self.kv_heads is None or self.kv_heads > 0, "kv-heads needs at least 1 head")

    @property
    def _formats(self) -> frozenset[str]:
        return frozenset({self.k, self.v})

    @property
    def is_full(self) -> bool:
        """Whether it is the cache that loses nothing: float32, every token, every head."""
        return self == CacheChoice()

    @property
    def text(self) -> str:
        """The shortest text that stands for this choice; reading it gives the choice back."""
        if self.k == self.v:
            formats = [self.k] if self.k != "f32" or not self._rules else []
        else:
            formats = [f"{role}={name}" for role, name in (("k", self.k), ("v", self.v)) if name != "f32"]
        return ",".join([*formats, *self._rules])

    @property
    def explicit_text(self) -> str:
        """The same with both formats named: it stands for this choice whatever is taken where none is named."""
        formats = [self.k] if self.k == self.v else [f"k={self.k}", f"v={self.v}"]
        return ",".join([*formats, *self._rules])

    @property
    def _rules(self) -> list[str]:
        """What there is to say beside the formats, in text."""
        parts = ["norot"] * (not self.rotated)
        parts += [f"residual={self.residual}"] * (self.residual != RESIDUAL)
        if self.keeps != "all":
            parts.append((f"sinks={self.sinks}+" if self.sinks else "") + f"{self.keeps}={self.tokens}")
        parts += ["renumber"] * self.renumbered
        return parts + [f"kv-heads={self.kv_heads}"] * (self.kv_heads is not None)

    @property
    def says(self) -> str:
        """The choice in words, one line."""
        parts = [self._packing()]
        if self.keeps == "window":
            first = f"the first {_tokens(self.sinks, '')} and " if self.sinks else ""
            counted = "positions counted anew" if self.renumbered else "positions kept"
            parts.append(f"{first}the last {_tokens(self.tokens, '')}, {counted}")
        elif self.keeps == "h2o":
            parts.append(f"{_tokens(self.tokens)} by summed attention, half of them the newest (H2O)")
        elif self.keeps == "tova":
            parts.append(f"{_tokens(self.tokens)}, the least attended dropped at each step (TOVA)")
        if self.kv_heads is not None:
            heads = "1 key/value head" if self.kv_heads == 1 else f"{self.kv_heads} key/value heads"
            parts.append(f"merged into {heads}, not retrained")
        return "; ".join(parts)

    def _packing(self) -> str:
        if self.k == self.v:
            words = f"keys and values in {SAYS[self.k]}"
        else:
            words = f"keys in {SAYS[self.k]}, values in {SAYS[self.v]}"
        if not self.rotated:
            words += ", not rotated"
        if self._formats & KIVI:
            words += f", the last {self.residual} tokens exact"
        return words

    def check(self, n_kv_heads: int, head_dim: int) -> None:
        """Refuse a model that this cache can't be for.

        Raises:
            ConfigError: a head width that a format's blocks do not divide, or heads that can't be merged so.
        """
        for name in (self.k, self.v):
            if name in BLOCKED and head_dim % BLOCK:
                raise ConfigError(
                    f"{name} packs blocks of {BLOCK} elements, which do not divide a head width of {head_dim}; "
                    "f16, bf16 or fp8 would do",
                    "head_dim",
                )
        if self.kv_heads is not None:
            check_groups(n_kv_heads, self.kv_heads)


def check_groups(n_kv_heads: int, groups: int) -> None:
    """Refuse heads that do not part into so many groups of the same size.

    Raises:
        ConfigError: it names the numbers that would do.
    """
    if groups < 1 or n_kv_heads % groups:
        fit = [f"{n}" for n in range(1, max(n_kv_heads, 2)) if n_kv_heads % n == 0]
        raise ConfigError(
            f"{n_kv_heads} key/value heads can't be merged into {groups} groups of the same size; "
            f"{enumerated(fit, 'or')} would do",
            "num_key_value_heads",
        )


def _tokens(count: int, one: str = "1 ") -> str:
    return f"{one}token" if count == 1 else f"{count:,} tokens"


def _refuse_unless(condition: bool, message: str) -> None:
    if not condition:
        raise UsageError(message)


FULL = CacheChoice()
