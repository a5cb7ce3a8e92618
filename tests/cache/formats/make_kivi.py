"""Write `kivi_groups.json`: levels, scales and shifts that optimum-quanto finds for groups of 32.

python tests/cache/formats/make_kivi.py          (in an environment with torch and optimum-quanto 0.2.7)
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch
from helpers.numbers_to_pack import bell, digest, whole
from optimum.quanto import MaxOptimizer, qint2, qint4

HERE = Path(__file__).parent


def main() -> None:
    found: dict[str, dict[str, dict[str, str]]] = {}
    for qtype in (qint2, qint4):
        found[str(qtype.bits)] = {}
        for case, x in {
            **{f"bell {scale:g}": bell(131_072, scale) for scale in (1e-3, 1.0, 100.0)},
            "ties": whole(131_072, -16, 16, 0.5),
        }.items():
            groups = torch.from_numpy(x).reshape(-1, 32)
            scale, shift = MaxOptimizer()(groups, qtype, 0)
            levels = torch.ops.quanto.quantize_affine(groups, qtype.bits, 0, None, scale, shift)
            found[str(qtype.bits)][case] = {
                "levels": digest(levels.numpy()),
                "scale": digest(scale.numpy()),
                "read": digest((scale * levels - shift).numpy()),
            }
    made = {
        "made_by": "tests/cache/formats/make_kivi.py",
        "with": f"optimum-quanto {version('optimum-quanto')}, torch {torch.__version__}",
        "sha256": found,
    }
    (HERE / "kivi_groups.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
