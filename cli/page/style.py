"""Colours and weights by name, as the escape sequences that switch them on.

Colour repeats what the characters say; without it nothing is lost.
"""

# A style is some of these words, or the parameters of an escape sequence as they are.
CODES = {"bold": "1", "dim": "2", "underline": "4"}
HEAD = "bold"
DIM = "dim"
ACCENT = "cyan"
BAD = "bold red"
FOR, AGAINST = "kv0", "heat3"  # of numbers that have a sign: told apart without red or green

# Red, green and blue, and which of the 256 colours that most terminals have it is. Each can be read on black and on
# white: a terminal's own yellow or cyan can't, and whether it is dark or light it doesn't say.
PALETTE = {
    "red": ((215, 0, 0), 160), "green": ((0, 135, 0), 28), "yellow": ((175, 95, 0), 130),
    "magenta": ((175, 95, 175), 133), "cyan": ((0, 135, 135), 30),
    "kv0": ((0, 135, 215), 32), "kv1": ((135, 135, 0), 100), "kv2": ((175, 95, 215), 134), "kv3": ((215, 95, 95), 167),
    "heat0": ((118, 118, 118), 243), "heat1": ((135, 135, 95), 101), "heat2": ((175, 95, 0), 130),
    "heat3": ((215, 95, 0), 166), "heat4": ((255, 0, 0), 196),
}  # fmt: skip
# One tint for each key/value head, so that query heads that share one are seen together.
KV_TINTS = ("kv0", "kv1", "kv2", "kv3")
HEAT = ("heat0", "heat1", "heat2", "heat3", "heat4")  # from grey to full colour, see `page.scale`
WHITE, BLACK = 231, 16
INK = {"heat2": WHITE}  # letters on a colour; black unless said otherwise


def tint(kv_head: int) -> str:
    """The colour of a key/value head."""
    return KV_TINTS[kv_head % len(KV_TINTS)]


def paint(text: str, style: str, truecolor: bool = False) -> str:
    """`text` between the escape sequences that switch `style` on and off. `on-NAME` is a box of that colour."""
    if not style:
        return text
    return f"\x1b[{';'.join(_code(word, truecolor) for word in style.split())}m{text}\x1b[0m"


def _code(word: str, truecolor: bool) -> str:
    name = word.removeprefix("on-")
    if name not in PALETTE:
        return CODES.get(word, word)
    (red, green, blue), index = PALETTE[name]
    plane = 38 if name == word else 48
    color = f"{plane};2;{red};{green};{blue}" if truecolor else f"{plane};5;{index}"
    return color if name == word else f"{color};38;5;{INK.get(name, BLACK)}"
