"""What stands for a character on a terminal that has ASCII alone."""

# Tokens have an ASCII form of their own, see `label_of`. A middle dot parts words here and is a sign there: each
# page says what stands for it.
ASCII = {
    "−": "-", "–": "-", "—": "-", "─": "-", "→": "->", "←": "<-", "×": "x", "√": "sqrt", "ᵀ": "^T", "²": "^2",
    "Σ": "sum ", "Δ": "diff", "≤": "<=", "≥": ">=", "≈": "~", "∞": "inf", "…": "~", "½": "1/2", "∂": "d", "µ": "u",
    "█": "#", "▓": "=", "▒": "-", "░": ":", "▉": "#", "▊": "+", "▋": "+", "▌": ":", "▍": ":", "▎": ".", "▏": ".",
    "│": "|", "┤": "|", "└": "+", "λ": "eigenvalue ", "✓": "ok", "✗": "NO", "‖": "|", "’": "'", "⌈": "ceil(", "⌉": ")",
    "±": "+-",
}  # fmt: skip


def in_ascii(text: str, dot: str) -> str:
    """`text` in ASCII: what the table says, `dot` for a middle dot, an escape for any other character."""
    if text.isascii():
        return text
    return "".join(dot if c == "·" else ASCII.get(c, c) for c in text).encode("ascii", "backslashreplace").decode()
