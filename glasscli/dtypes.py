"""How many bytes a row of a cache takes in each dtype that engines store keys and values in, to the byte.

A block dtype packs `block` elements and their scales into `block_bytes`; a head's width must be a multiple of
the block, else no engine can store it. A dtype may also add bytes for each head (`head_bytes`) or each row, or pack
`group` tokens together and leave the newest as they came: then a row is what a packed token takes on average.

Sources: ggml's block structs (`ggml-common.h`), vLLM's `fp8_ds_mla`, per-token-head and NVFP4 cache layouts,
OCP Microscaling v1.0 (a block of 32 with one shared scale), ik_llama.cpp's q8_KV,
mlx's groups of 64, KIVI (Liu et al. 2024, arXiv:2402.02750).
"""

from dataclasses import dataclass

from glasscli.errors import ConfigError, UsageError
from glasscli.likeness import did_you_mean

COMPUTED_IN = "float32"  # every array of a run, whatever the weights and the cache are stored in
DS_MLA_WIDTH = 576  # a DeepSeek latent: 512 compressed + 64 rotary; the only row that fp8_ds_mla can hold


@dataclass(frozen=True)
class Dtype:
    """One way to store numbers: `block` elements in `block_bytes`, plus bytes for each head and each row.

    Of a dtype whose `group` is more than 1, `budget.token_groups` says how many tokens are packed and how many are not.
    """

    name: str
    block: int
    block_bytes: int
    head_bytes: int = 0
    row_bytes: int = 0
    group: int = 1
    says: str = ""


def _table() -> dict[str, Dtype]:
    plain = (("f32", 4), ("f16", 2), ("bf16", 2), ("fp8", 1), ("int8", 1), ("f64", 8), ("i64", 8))
    ggml = (
        ("q8_0", 34),
        ("q8_1", 36),
        ("q5_1", 24),
        ("q5_0", 22),
        ("q4_1", 20),
        ("q4_0", 18),
        ("iq4_nl", 18),
    )
    held = [Dtype(name, 1, size, says=f"{size} B an element") for name, size in plain]
    held += [Dtype(name, 32, size, says=f"{size} B for 32 elements, scale included") for name, size in ggml]
    held += [
        Dtype("fp8_per_token_head", 1, 1, head_bytes=4, says="1 B an element + an f32 scale a head and token"),
        Dtype("int8_per_token_head", 1, 1, head_bytes=4, says="1 B an element + an f32 scale a head and token"),
        Dtype("fp8_block128", 128, 132, says="128 B + an f32 scale for 128 elements"),
        Dtype("fp8_ds_mla", DS_MLA_WIDTH, 656, says="656 B a latent: 512 fp8 + 4 f32 scales + 64 bf16"),
        Dtype("nvfp4", 16, 9, says="8 B + an fp8 scale for 16 elements"),
        Dtype("mlx_q8", 64, 68, says="64 B + a 16-bit scale and bias for 64 elements"),
        Dtype("mlx_q4", 64, 36, says="32 B + a 16-bit scale and bias for 64 elements"),
        Dtype("mxfp4", 32, 17, says="16 B + a scale for 32 elements"),
        Dtype("mxfp8", 32, 33, says="32 B + a scale for 32 elements"),
        Dtype("int4", 2, 1, says="half a byte an element, no scales"),
        Dtype("fp4", 2, 1, says="half a byte an element, no scales"),
        Dtype("q8_KV", 1, 1, row_bytes=8, says="1 B an element + 8 B a row"),
        Dtype("kivi4", 32, 20, group=32, says="20 B for 32 elements, the newest tokens in f32"),
        Dtype("kivi2", 32, 12, group=32, says="12 B for 32 elements, the newest tokens in f32"),
    ]
    return {dtype.name: dtype for dtype in held}


DTYPES = _table()

ALIASES = {
    "float64": "f64", "double": "f64", "fp64": "f64",
    "float32": "f32", "float": "f32", "fp32": "f32",
    "float16": "f16", "half": "f16", "fp16": "f16",
    "bfloat16": "bf16",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_e4m3fn": "fp8", "fp8_e4m3fnuz": "fp8", "fp8_inc": "fp8",
    "float8": "fp8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "f8": "fp8", "e4m3": "fp8", "e5m2": "fp8",
    "int64": "i64", "long": "i64",
    "i8": "int8", "int8_static": "int8",
    "i4": "int4",
    "fp8_per_head_token": "fp8_per_token_head", "int8_per_head_token": "int8_per_token_head",
    "q8_kv": "q8_KV",
}  # fmt: skip


def dtype_named(name: str) -> Dtype:
    """The dtype called `name`, under any of its usual names (`torch.bfloat16`, `BF16`, `half`, `fp8_e4m3`).

    Raises:
        UsageError: no such dtype; the message lists those there are.
    """
    plain = name.strip().lower().removeprefix("torch.")
    found = DTYPES.get(ALIASES.get(plain, plain))
    if found is None:
        hint = did_you_mean(plain, [*DTYPES, *ALIASES]) or f"Known are {', '.join(DTYPES)}."
        raise UsageError(f"{name[:40]!r} is not a cache dtype. {hint}")
    return found


def row_bytes(name: str, head_dim: int, n_heads: int = 1) -> int:
    """Bytes that one row of `n_heads` × `head_dim` elements takes.

    Raises:
        ConfigError: the model's heads are of a width this dtype can't hold (`field` is `head_dim`).
    """
    dtype = dtype_named(name)
    if not head_dim or not n_heads:
        return 0
    if dtype.name == "fp8_ds_mla" and (head_dim != DS_MLA_WIDTH or n_heads != 1):
        raise ConfigError(
            f"fp8_ds_mla holds a DeepSeek latent of {DS_MLA_WIDTH} elements, not {n_heads} × {head_dim}",
            "kv_lora_rank",
        )
    if head_dim % dtype.block:
        raise ConfigError(
            f"{dtype.name} stores blocks of {dtype.block} elements, which do not divide a head width of "
            f"{head_dim}; f16, bf16, fp8 or int8 would do",
            "head_dim",
        )
    per_head = head_dim // dtype.block * dtype.block_bytes + dtype.head_bytes
    return n_heads * per_head + dtype.row_bytes
