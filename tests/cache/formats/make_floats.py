"""Write `float_bits.json`: what torch's float8, bfloat16 and float16 make of numbers in helpers.numbers_to_pack.

python tests/cache/formats/make_floats.py        (in an environment with torch)
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import torch
from helpers.numbers_to_pack import Floats, any_bits, bell, digest

HERE = Path(__file__).parent
TYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e5m2": torch.float8_e5m2,
}
MILLION = 1_000_000


def cases() -> dict[str, Floats]:
    """A million numbers of each kind; NaN, whose bits are nobody's promise, left out."""
    anything = any_bits(MILLION)
    return {
        "any bits": anything[~np.isnan(anything)],
        **{f"bell {scale:g}": bell(MILLION, scale) for scale in (1e-3, 0.02, 1.0, 300.0)},
    }


def cast(x: Floats, name: str) -> torch.Tensor:
    """`x` as torch casts it; for e4m3 after cutting off at ±448, since torch makes NaN of what is larger."""
    tensor = torch.from_numpy(x)
    return (tensor.clamp(-448, 448) if name == "fp8_e4m3" else tensor).to(TYPES[name])


def raw(tensor: torch.Tensor) -> np.ndarray:
    """The bits, as unsigned whole numbers."""
    return tensor.view(torch.uint8 if tensor.element_size() == 1 else torch.uint16).numpy()


def main() -> None:
    made = {
        "made_by": "tests/cache/formats/make_floats.py",
        "with": f"torch {torch.__version__}",
        "packed": {name: {case: digest(raw(cast(x, name))) for case, x in cases().items()} for name in TYPES},
    }
    (HERE / "float_bits.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
