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
    """`-hf=hf:{}` stands for `-hf NAME`, which is `-m hf:NAME` here."""
    typed = [word.partition("=") for word in text.split()]
    names = ", ".join(f"{name} X" if form else name for name, _, form in typed)
    forms = list(dict.fromkeys(form.replace("{}", "X") for _, _, form in typed if form))
    ours = "the text or prompt" if own == TEXT else own
    return Row(ours, "", names + (f" (X as {', '.join(forms)})" if forms else ""))
