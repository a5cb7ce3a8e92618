"""A text as a cell of a CSV table that people open in spreadsheets."""


def cell(text: str) -> str:
    """`text`, unless a spreadsheet would take it for a formula: then with its first character spelled `<U+003D>`.

    Names and tokens may come from strangers, and a formula can run programs. `=` alone stays: it computes nothing.
    Source: https://owasp.org/www-community/attacks/CSV_Injection
    """
    return f"<U+{ord(text[0]):04X}>{text[1:]}" if len(text) > 1 and text[0] in "=+-@\t\r" else text
