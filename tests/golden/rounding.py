"""Which characters of a screen depend on how a machine rounds: those that change when the weights change a little.

Matrix products are summed in another order by each BLAS kernel, so the last bits of float32 numbers differ between
machines, and now and then a digit or a shade that is shown. A screen is therefore also taken with weights that are
changed by a millionth, which moves every number three to five times as far as OpenBLAS' kernels (Prescott to
SkylakeX) differ, several times up and down. Where the screens differ, `MARK` is stored, which stands for any
character. What rounding alone makes, differences of 1e-05 and less, is never stored.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

MARK = "¿"
CHANGE = 1e-6  # relative, of each weight
N_SEEDS = 4  # each up and down
# Not the limit in `< 1e-06`, which is no number found.
TINY = re.compile(r"(?<!< )(?:-|\b)\d(?:\.\d)?e-(?:0[5-9]|[1-9]\d)\b")


def changed_models(folder: Path, base: Path) -> list[Path]:
    """Copies of the model in `folder`, below `base`, their weights float32 and changed a little."""
    weights = {name: values.astype(np.float32) for name, values in load_file(folder / "model.safetensors").items()}
    copies = []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(seed)
        noise = {name: CHANGE * rng.standard_normal(values.shape) for name, values in weights.items()}
        for sign in (1, -1):
            copy = base / f"{seed}{sign:+d}" / folder.name
            shutil.copytree(folder, copy)
            changed = {name: (values * (1 + sign * noise[name])).astype(np.float32) for name, values in weights.items()}
            save_file(changed, copy / "model.safetensors", {"format": "pt"})
            copies.append(copy)
    return copies


def marked(text: str, others: Sequence[str]) -> str:
    """`text` with `MARK` for what differs in any of `others`; for the whole of a line whose length differs.

    Raises ValueError if they have not equally many lines: such a screen can't be stored.
    """
    assert MARK not in text
    columns = [without_tiny(found).split("\n") for found in (text, *others)]
    return "\n".join(_line(lines) for lines in zip(*columns, strict=True))


def like_stored(text: str, stored: str) -> str:
    """`text` with a `MARK` wherever `stored` has one: equal to `stored` if nothing else differs."""
    lines, kept = without_tiny(text).split("\n"), stored.split("\n")
    return "\n".join([*map(_like, lines, kept), *lines[len(kept) :]])


def without_tiny(text: str) -> str:
    """`text` without the digits and the sign of what rounding alone makes."""
    return TINY.sub(f"{MARK}e-{MARK}{MARK}", text)


def _line(lines: Sequence[str]) -> str:
    if len({*map(len, lines)}) > 1:
        return MARK
    return "".join(found[0] if len({*found}) == 1 else MARK for found in zip(*lines, strict=True))


def _like(line: str, stored: str) -> str:
    if stored == MARK:
        return MARK
    if len(line) != len(stored):
        return line
    return "".join(MARK if kept == MARK else c for c, kept in zip(line, stored, strict=True))
