"""Writes named.json anew: how many parameters the installed transformers' classes have for the named models.

    python tests/data/weights/make_named.py [NAME …]

Each is made on the meta device from the settings that the list of models holds, without their quantisation and the
stretching of their positions, which are no parameters, and its parameters are counted: each tensor once. With names,
only those are made anew.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import transformers
from make_truth import class_of, count
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = Path(__file__).parent
NO_PARAMETERS = ("quantization_config", "rope_scaling")
SAME = {"kimi_k2": "deepseek_v3"}  # its config.json names DeepSeek's class
sys.path.insert(0, str(HERE.parents[2]))

from glasscli.budget.model_weights import WEIGHTS, weights_config  # noqa: E402
from glasscli.budget.models import find  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    path = HERE / "named.json"
    found = json.loads(path.read_text()) if args.names else {}
    for name in args.names or WEIGHTS:
        started = time.process_time()
        settings = {key: value for key, value in weights_config(find(name)).items() if key not in NO_PARAMETERS}
        kind = SAME.get(settings["model_type"], settings["model_type"])
        model_class = class_of(kind)
        assert model_class is not None, kind
        n, _ = count(CONFIG_MAPPING[kind].from_dict(settings | {"model_type": kind}), model_class)
        found[name] = n
        path.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        print(f"{name}: {n} ({time.process_time() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
