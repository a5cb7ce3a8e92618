"""The README is true: its examples print what it shows, its tree is the tree, its links lead somewhere."""

import re
from pathlib import Path

import pytest
from readme_examples import README, ROOT, Example, examples

TEXT = README.read_text()
EXAMPLES = list(examples(TEXT))


@pytest.mark.parametrize("example", EXAMPLES, ids=[e.source.splitlines()[0][:60] for e in EXAMPLES])
def test_examples_print_what_is_shown(example: Example) -> None:
    assert example.run() == example.shown


def test_the_main_commands_are_shown() -> None:
    shown = " ".join(e.source for e in EXAMPLES)
    for command in ("glass generate", "glass dump-attn", "glass kv-budget", "load_model"):
        assert command in shown


def test_the_tree_is_the_tree() -> None:
    """Every path of the map exists, and every module of the library and of the program is on it."""
    (tree,) = re.findall(r"^```tree\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    named: set[Path] = set()
    folders: list[tuple[int, Path]] = [(-1, ROOT)]
    for line in tree.splitlines():
        found = re.match(r"( *)(\S+(?:, \S+)*)(?:  |$)", line)
        if not found:
            continue
        depth = len(found[1])
        while folders[-1][0] >= depth:
            folders.pop()
        for name in found[2].split(", "):
            path = folders[-1][1] / name
            assert path.exists(), f"the README's tree names {path.relative_to(ROOT)}"
            named.add(path)
            if path.is_dir():
                folders.append((depth, path))
    for top in ("glasscli", "cli"):
        for path in (ROOT / top).rglob("*.py"):
            inside = path.relative_to(ROOT).parts
            if path.name == "__init__.py" or inside[:2] in (("glasscli", "cli"), ("glasscli", "weights")):
                continue
            assert path in named or path.parent in named - {ROOT / "glasscli", ROOT / "cli"}, path


def test_relative_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target


def test_the_picture_of_the_page_is_there_and_small() -> None:
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    data = (ROOT / picture).read_bytes()
    assert data[:16] == b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert width >= 1000
    assert height >= 600
    assert len(data) <= 200_000
    assert "python tests/page_picture.py" in TEXT
