"""Colours and weights by name, as the escape sequences that switch them on.

Colour repeats what the characters say; without it nothing is lost.
"""

# A style is some of these words, or the parameters of an escape sequence as they are.
CODES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36",
}  # fmt: skip
HEAD = "bold"
DIM = "dim"
ACCENT = "cyan"
BAD = "bold red"

# Colours with a shade of their own: red, green and blue, and the nearest of the 256 that most terminals have.
# All differ in lightness too, for eyes that don't tell hues apart.
PALETTE = {
    "kv0": ((63, 151, 207), 68), "kv1": ((201, 138, 31), 172), "kv2": ((165, 120, 207), 140),
    "kv3": ((95, 158, 95), 71),
    "ramp0": ((108, 112, 134), 243), "ramp1": ((85, 128, 204), 68), "ramp2": ((42, 161, 152), 36),
    "ramp3": ((143, 201, 58), 113), "ramp4": ((253, 231, 36), 220),
}  # fmt: skip
# One tint for each key/value head, so that query heads that share one are seen together.
KV_TINTS = ("kv0", "kv1", "kv2", "kv3")
RAMP = ("ramp0", "ramp1", "ramp2", "ramp3", "ramp4")  # dark to bright; told apart without red or green


def tint(kv_head: int) -> str:
    """The colour of a key/value head."""
    return KV_TINTS[kv_head % len(KV_TINTS)]


def paint(text: str, style: str, truecolor: bool = False) -> str:
    """`text` between the escape sequences that switch `style` on and off."""
    if not style:
        return text
    return f"\x1b[{';'.join(_code(word, truecolor) for word in style.split())}m{text}\x1b[0m"


def _code(word: str, truecolor: bool) -> str:
    if word in PALETTE:
        (red, green, blue), nearest = PALETTE[word]
        return f"38;2;{red};{green};{blue}" if truecolor else f"38;5;{nearest}"
    return CODES.get(word, word)
