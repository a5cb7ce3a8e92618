"""The names of the formats and what a screen says of them, for whoever must not import NumPy."""

from glasscli.dtypes import ALIASES as BUDGET_ALIASES

BLOCK = 32

SAYS = {
    "f32": "32-bit floats",
    "f16": "16-bit floats",
    "bf16": "bfloat16",
    "fp8_e4m3": "8-bit floats (e4m3, scale 1)",
    "fp8_e5m2": "8-bit floats (e5m2, scale 1)",
    "q8_0": "8 bits in blocks of 32",
    "q5_1": "5 bits and a minimum in blocks of 32",
    "q5_0": "5 bits in blocks of 32",
    "q4_1": "4 bits and a minimum in blocks of 32",
    "q4_0": "4 bits in blocks of 32",
    "kivi4": "4 bits as KIVI groups them",
    "kivi2": "2 bits as KIVI groups them",
}
NAMES = tuple(SAYS)
ROTATED = frozenset({"q8_0", "q5_1", "q5_0", "q4_1", "q4_0"})  # what llama.cpp turns before it packs
KIVI = frozenset({"kivi2", "kivi4"})
BLOCKED = ROTATED | KIVI

# `fp8` alone is e4m3, as in vLLM. The budget knows one fp8, since both take a byte.
ALIASES = {alias: name for alias, name in BUDGET_ALIASES.items() if name in ("f32", "f16", "bf16")} | {
    "fp8": "fp8_e4m3",
    "e4m3": "fp8_e4m3",
    "e5m2": "fp8_e5m2",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
}
