"""The tokens that a step of vLLM's server may add where nobody says how many: fewer on small devices.

Windows are held with those tokens, so what a sequence takes depends on the device. A model whose pictures are read in
both directions takes an item of them whole, so a step has room for the longest: of Gemma 4, a video.

Source: vLLM's `EngineArgs.get_batch_defaults` and its tests of the defaults (`test_arg_utils.py`). The floor and both
sizes are confirmed by what vLLM 0.25.1 logged on an L40S for Gemma-4-E4B and Gemma-4-26B-A4B.
"""

from collections.abc import Mapping
from typing import Any

LARGE_DEVICE = 70 * 2**30
ON_LARGE, ON_SMALL = 8192, 2048
LONGEST_ITEM = {"gemma4": 2496, "gemma4_text": 2496}  # model type → tokens of a video


def batched_tokens(device_bytes: int, device_name: str, config: Mapping[str, Any]) -> int:
    """Tokens of a step on such a device; `config` is the model's, empty where nobody has it."""
    large = device_bytes >= LARGE_DEVICE and "a100" not in device_name.lower()
    inner = config.get("text_config")
    text = inner if isinstance(inner, Mapping) else config
    whole = text.get("use_bidirectional_attention") == "vision" and "vision_config" in config
    item = LONGEST_ITEM.get(str(config.get("model_type")), 0) if whole else 0
    return max(ON_LARGE if large else ON_SMALL, item)
