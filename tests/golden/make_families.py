"""Write tests/golden/families.json: logits of transformers in float64 for tiny random models of every family.

    python tests/golden/make_families.py    (needs torch and transformers)

The weights are not stored: `helpers.family_models` draws them anew, the same everywhere.
"""

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PATH = HERE / "families.json"
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

N_TOKENS, POSITIONS, N_LOGITS = 48, (0, 5, 20, 30, 40, 47), 6


def token_ids() -> list[int]:
    """A text of 48 random ids below 96."""
    return [(37 * i * i + 11 * i + 5) % 96 for i in range(N_TOKENS)]


def made(kind: str) -> list[list[float]]:
    """The first logits at some positions, by transformers."""
    import torch
    from helpers.family_configs import FAMILIES
    from helpers.family_models import random_tensors
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(**FAMILIES[kind])
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().double()
    state = {name: torch.from_numpy(array) for name, array in random_tensors(FAMILIES[kind]).items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert set(missing) <= {"lm_head.weight"}, missing
    model.tie_weights()
    with torch.no_grad():
        logits = model(torch.tensor([token_ids()])).logits[0]
    return [[round(float(x), 6) for x in logits[p, :N_LOGITS]] for p in POSITIONS]


def document() -> dict[str, Any]:
    """All of it."""
    import transformers
    from helpers.family_configs import FAMILIES

    about = f"transformers {transformers.__version__}, float64, weights of helpers.family_models.random_tensors"
    return {
        "made_by": "tests/golden/make_families.py",
        "with": about,
        "logits": {kind: made(kind) for kind in FAMILIES},
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(document(), indent=1).replace("\n    ", " ").replace("\n   ]", "]") + "\n")
