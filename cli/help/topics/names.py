"""What users of other tools may type, and which option of glass it is"""

from glasscli.cli.help.parts import Heading, Part, Prose, Row, Table
from glasscli.cli.other_names import TEXT, TOOLS


def parts() -> list[Part]:
    """A table a tool."""
    made: list[Part] = [
        Prose(
            "Every command that has the option takes these names for it. A name is here only if it means exactly the "
            "same; _ may stand for - in long names."
        )
    ]
    for tool, said in TOOLS.items():
        made += [Heading(tool), Table(_row(own, text) for own, text in said.items())]
    return made


def _row(own: str, text: str) -> Row:
    """`-hf=hf:{} --hf-repo=hf:{}` is `-hf X, --hf-repo X (X as hf:X)`: what is typed, and what our option is given."""
    by_form: dict[str, list[str]] = {}
    for word in text.split():
        name, _, form = word.partition("=")
        by_form.setdefault(form, []).append(f"{name} X" if "{}" in form else name)
    said = []
    for form, names in by_form.items():
        meant = f"X as {form}".replace("{}", "X") if "{}" in form else form
        said.append(", ".join(names) + (f" ({meant})" if form else ""))
    return Row("the text or prompt" if own == TEXT else own, "", ", ".join(said))
