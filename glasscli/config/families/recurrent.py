"""What a config says about layers with a state instead of a growing cache: one function for each kind.

Every function takes the fields and the layer's number, as those of `geometry` do. Families name the same
quantities differently; `mamba1` and `mamba2` are made from the names a family uses.
"""

from collections.abc import Callable

from glasscli.config.families.dtype import state_dtype
from glasscli.config.families.fields import Fields, shown
from glasscli.config.families.geometry import WIDTH, full, head_dim, n_heads, n_kv_heads, sliding
from glasscli.specs.attention_specs import CacheSpec, Several
from glasscli.specs.state_specs import KDA, RGLRU, DeltaNet, LinearState, Mamba1, Mamba2, ShortConv

Build = Callable[[Fields, int], CacheSpec]


def short_conv(read: Fields, layer: int) -> CacheSpec:
    """LFM2's gated convolution over the model's width."""
    return ShortConv(read.integer(*WIDTH), read.integer("conv_L_cache"))


def mamba1(expand: str, d_state: str, kernel: str, inner: str = "") -> Build:
    """Mamba-1, from the names of its expansion, its state's size, its convolution's length and its inner width."""

    def build(read: Fields, layer: int) -> CacheSpec:
        width = read.integer(inner, default=None) if inner else None
        width = width or read.integer(expand) * read.integer(*WIDTH)
        return Mamba1(width, read.integer(d_state), read.integer(kernel), state_dtype="f32")

    return build


def mamba2(heads: str, dim: str, d_state: str, groups: str, kernel: str, expand: str = "") -> Build:
    """Mamba-2, from the names its sizes go by. A head's width that is absent or "auto" is derived."""

    def build(read: Fields, layer: int) -> CacheSpec:
        n = read.integer(heads)
        width = read.get(dim)
        if width is None or width == "auto":
            inner = mamba_inner(read, expand)
            if inner % n:
                read.refuse(heads, f"is {n}, which does not divide the inner width ({inner})")
            width = inner // n
        else:
            width = read.whole(width, dim)
        sizes = (read.integer(d_state), read.integer(groups), read.integer(kernel))
        chunk = read.integer("mamba_chunk_size", "chunk_size", default=None)
        return Mamba2(n, width, *sizes, state_dtype(read), chunk)

    return build


def mamba_inner(read: Fields, expand: str) -> int:
    """Inner width of a Mamba mixer: stated (Falcon-H1's mamba_d_ssm), or the model's times a whole factor."""
    stated = read.integer("mamba_d_ssm", default=None)
    if stated:
        return int(stated)
    factor = read.get(expand)
    if isinstance(factor, float) and factor.is_integer():
        factor = int(factor)
    return read.whole(factor, expand) * int(read.integer(*WIDTH))


def delta_net(read: Fields, layer: int) -> CacheSpec:
    """Gated DeltaNet, by the names of Qwen3-Next, which all its users keep."""
    return DeltaNet(
        read.integer("linear_num_key_heads"),
        read.integer("linear_num_value_heads"),
        read.integer("linear_key_head_dim"),
        read.integer("linear_value_head_dim"),
        read.integer("linear_conv_kernel_dim"),
        state_dtype(read),
    )


def olmo_delta_net(read: Fields, layer: int) -> CacheSpec:
    """Olmo-Hybrid: heads and widths are derived where absent."""
    heads = n_heads(read)
    k_heads = read.integer("linear_num_key_heads", default=heads)
    k_dim = read.integer("linear_key_head_dim", default=3 * read.integer(*WIDTH) // (4 * k_heads))
    return DeltaNet(
        k_heads,
        read.integer("linear_num_value_heads", default=heads),
        k_dim,
        read.integer("linear_value_head_dim", default=2 * k_dim),
        read.integer("linear_conv_kernel_dim"),
    )


def kda(read: Fields, layer: int) -> CacheSpec:
    """Kimi Delta Attention: its own fields, or the checkpoint's `linear_attn_config`."""
    inner = read.nested("linear_attn_config")
    if inner.config:
        return KDA(inner.integer("num_heads"), inner.integer("head_dim"), inner.integer("short_conv_kernel_size"))
    return KDA(
        read.integer("linear_num_heads"),
        read.integer("linear_head_dim"),
        read.integer("linear_conv_kernel_dim"),
    )


def lightning(read: Fields, layer: int) -> CacheSpec:
    """MiniMax's lightning attention: one head_dim × head_dim matrix for each query head."""
    return LinearState(free=n_heads(read) * head_dim(read) ** 2)


def rg_lru(read: Fields, layer: int) -> CacheSpec:
    """RecurrentGemma's recurrence: its width is the model's unless stated."""
    width = read.integer("lru_width", default=None) or read.integer(*WIDTH)
    return RGLRU(width, read.integer("conv1d_width"))


def rwkv(read: Fields, layer: int) -> CacheSpec:
    """RWKV-4: two shifted inputs in the model's dtype, and three sums in float32."""
    width = read.integer(*WIDTH)
    return LinearState(free=2 * width, fixed=3 * read.integer("attention_hidden_size", default=width))


def mlstm(read: Fields, layer: int) -> CacheSpec:
    """xLSTM's matrix memory: for each head a matrix, a normaliser and a maximum."""
    heads = read.integer("num_heads")
    width = read.integer(*WIDTH)
    k_dim, v_dim = (_scaled(read, name, width) // heads for name in ("qk_dim_factor", "v_dim_factor"))
    return LinearState(free=heads * (k_dim * v_dim + k_dim + 1))


def _scaled(read: Fields, name: str, width: int) -> int:
    """`width` times the factor in `name`, rounded up to a multiple of 64 as xLSTM does."""
    factor = read.get(name)
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1000:
        read.refuse(name, f"is {shown(factor)}: expected a factor")
    return -(-int(width * factor) // 64) * 64


def compressed_convolution(attention: Build) -> Build:
    """ZAYA: attention whose keys and queries pass two short convolutions; half of each value is one late."""

    def build(read: Fields, layer: int) -> CacheSpec:
        dim, kv_heads = head_dim(read), n_kv_heads(read)
        taps = read.integer("cca_time0") + read.integer("cca_time1") - 2
        kept = taps * (n_heads(read) + kv_heads) * dim
        return Several((attention(read, layer), LinearState(free=kept + kv_heads * dim // 2)))

    return build


def four_convolutions(attention: Build) -> Build:
    """Inkling: short convolutions after the keys, the values, the attention and the MLP, all in float32."""

    def build(read: Fields, layer: int) -> CacheSpec:
        spec = attention(read, layer)
        (k, v) = spec.tensors(1)
        dim = k.width + v.width + 2 * read.integer(*WIDTH)
        kernel = read.integer("conv_kernel_size", "sconv_kernel_size")
        return Several((spec, ShortConv(dim, kernel, "f32")))

    return build


def beside(attention: Build, state: Build) -> Build:
    """A layer that holds both: attention and a state."""

    def build(read: Fields, layer: int) -> CacheSpec:
        return Several((attention(read, layer), state(read, layer)))

    return build


ZAYA_FULL, ZAYA_SLIDING = compressed_convolution(full), compressed_convolution(sliding)
INKLING_FULL, INKLING_SLIDING = four_convolutions(full), four_convolutions(sliding)
