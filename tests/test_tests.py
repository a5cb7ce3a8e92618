"""The tests themselves: what they share has a name of its own, and each module of the library has its test."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.tested_elsewhere import ELSEWHERE

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def ours(name: str) -> Path | None:
    """The package or module in tests/ that `import name` may mean, or None if there is none."""
    return next((path for path in (TESTS / name, TESTS / f"{name}.py") if path.exists()), None)


def imported(path: Path) -> set[str]:
    """The first parts of all names that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_what_tests_share_has_a_name_that_nothing_else_has() -> None:
    """With the repository's root on the path, `cli` is the program's folder and not that of its tests.

    A package without `__init__.py` loses against one with it wherever on the path that stands.
    """
    files = [path for path in TESTS.rglob("*.py") if TESTS / "bench" not in path.parents]
    shared = {name for path in files for name in imported(path) if ours(name)} - sys.stdlib_module_names
    assert {"helpers", "robust"} <= shared
    for name in shared:
        found = ours(name)
        assert found is not None
        assert found.is_file() or (found / "__init__.py").exists(), f"{name} is no package"
        assert not (ROOT / name).exists(), f"{name} may mean {ROOT / name}"
        assert not (ROOT / f"{name}.py").exists(), f"{name} may mean {ROOT / name}.py"


@pytest.mark.parametrize("module", ["helpers.terminal", "robust.signals", "robust.together", "robust.arguments"])
def test_helpers_are_found_with_the_root_on_the_path(module: str) -> None:
    program = [sys.executable, "-c", f"import {module} as found; print(found.__file__)"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TESTS)])}
    run = subprocess.run(program, capture_output=True, text=True, env=env, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()) == TESTS / f"{module.replace('.', '/')}.py"


def test_no_two_test_files_share_a_name() -> None:
    """Collected together, as a run of one mark does, the second of them would not be imported."""
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


LIBRARY = [
    path.relative_to(ROOT / "glasscli").with_suffix("").as_posix()
    for path in sorted((ROOT / "glasscli").rglob("*.py"))
    if path.name != "__init__.py" and path.relative_to(ROOT / "glasscli").parts[0] not in ("cli", "weights")
]


def own_tests(module: str) -> list[Path]:
    """Test files of a module's name in the same wing: `cache/window` has cache/test_window.py, `gguf/header` may have
    test_gguf_header.py."""
    *folders, name = module.split("/")
    names = {f"test_{name}.py", *(f"test_{folder}_{name}.py" for folder in folders[-1:])}
    wing = TESTS / folders[0] if folders else TESTS
    return [path for path in (wing.rglob("test_*.py") if folders else wing.glob("test_*.py")) if path.name in names]


def test_every_module_has_a_test_of_its_name_or_a_reason_for_none() -> None:
    assert len(LIBRARY) > 100
    listed = [module for entry in ELSEWHERE for module in entry.modules]
    assert len(listed) == len(set(listed))
    for module in LIBRARY:
        named = module in listed or any(f"{folder}/" in listed for folder in parents(module))
        assert own_tests(module) or named, f"glasscli/{module}.py: no test_{module.split('/')[-1]}.py and no reason"


def test_the_list_of_those_without_is_true() -> None:
    """Each entry is a module without a test of its name, or a folder with some; each test is there."""
    for entry in ELSEWHERE:
        assert (TESTS / entry.test).exists(), entry.test
        assert entry.why
        for module in entry.modules:
            if module.endswith("/"):
                assert any(name.startswith(module) and not own_tests(name) for name in LIBRARY), (
                    f"{module} needs no entry"
                )
            else:
                assert module in LIBRARY, f"{module} is gone"
                assert not own_tests(module), f"{module} has a test of its name: {own_tests(module)}"


def parents(module: str) -> list[str]:
    parts = module.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
