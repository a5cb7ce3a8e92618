"""CONTRIBUTING.md is true: its tree is the tree, and every file and target that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


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
            assert path.exists(), f"the tree names {path.relative_to(ROOT)}"
            named.add(path)
            if path.is_dir():
                folders.append((depth, path))
    for top in ("glasscli", "cli"):
        for path in (ROOT / top).rglob("*.py"):
            inside = path.relative_to(ROOT).parts
            if path.name == "__init__.py" or inside[:2] in (("glasscli", "cli"), ("glasscli", "weights")):
                continue
            assert path in named or path.parent in named - {ROOT / "glasscli", ROOT / "cli"}, path


def test_files_that_are_named_are_there() -> None:
    """And where a new one goes, its folder."""
    named = set(re.findall(r"`((?:[\w-]+/)+[\w.-]*|\w+\.(?:md|toml))`", TEXT))
    assert len(named) >= 30
    for name in named:
        path = ROOT / name
        while "NAME" in path.name or "NAME" in path.parent.name:
            path = path.parent
        assert path.exists(), name


def test_targets_of_make_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"`make ([\w./]+)", TEXT)) | set(re.findall(r"^make (\S+)", TEXT, re.MULTILINE)) - {"#"}
    assert {"test", "parity", "bench"} <= targets
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target


def test_the_changelog_has_a_section_for_this_version() -> None:
    """Newest first: what is not released yet, then versions from high to low, each with a date."""
    from glasscli import __version__

    found = re.findall(r"^## \[([^]]+)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert found[0] == ("Unreleased", "")
    numbers = [tuple(map(int, name.split("."))) for name, _ in found[1:]]
    assert numbers == sorted(numbers, reverse=True)
    assert __version__ in [name for name, date in found if date]
    kinds = re.findall(r"^### (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
