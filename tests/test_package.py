"""What is installed: the wheel, what each part imports, and which way imports point."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HEAVY = {"numpy", "rich", "tokenizers", "safetensors"}


def python(*args: str, **environment: str) -> str:
    """Run this interpreter elsewhere than in the checkout; what it prints."""
    run = subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, cwd="/", env={**os.environ, **environment}, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_list_of_packages_is_the_folders() -> None:
    """A forgotten subpackage works in an editable install and is missing from the wheel."""
    found = set()
    for top, name in (("glasscli", "glasscli"), ("cli", "glasscli.cli"), ("weights", "glasscli.weights")):
        for init in (ROOT / top).rglob("__init__.py"):
            inside = init.parent.relative_to(ROOT / top).parts
            if inside[:1] not in (("cli",), ("weights",)) and inside[:1] != ("recipe",):
                found.add(".".join((name, *inside)))
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


@pytest.fixture(scope="module", autouse=True)
def _elsewhere() -> Iterator[None]:
    """No PYTHONPATH, which may name the checkout."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        yield


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel in a new environment outside the checkout, with the dependencies of this one beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a copy: what an earlier build left in the checkout would go into the wheel
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("glasscli", "cli", "weights"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    version = wheel.name.split("-")[1]
    assert tops == {"glasscli", f"glasscli-{version}.dist-info", f"glasscli-{version}.data"}
    assert f"glasscli-{version}.data/data/share/man/man1/glass.1" in names
    assert len([name for name in names if ".data/" in name]) == 1
    assert not [name for name in names if "recipe" in name or "test" in name]
    venv.create(folder / "env", with_pip=True)
    here = folder / "env" / "bin" / "python"
    subprocess.run([here, "-m", "pip", "install", "-q", "--no-deps", wheel], check=True)
    site = subprocess.run(
        [here, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    # Dependencies come from the environment that runs the tests: no network, same versions.
    (Path(site.stdout.strip()) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "env" / "bin"


def test_the_wheel_runs(installed: Path, tmp_path: Path) -> None:
    def glass(*args: str) -> str:
        run = subprocess.run([installed / "glass", *args], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    where = subprocess.run(
        [installed / "python", "-c", "import glasscli; print(glasscli.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert str(installed.parent) in where.stdout
    assert "Usage: glass COMMAND" in glass("--help")
    assert glass("generate", "Once upon a time", "-n", "5", "--temperature", "0").strip()
    assert "softmax" in glass("dump-attn", "--layer", "2")
    assert "GQA" in glass("kv-budget", "--hq", "32", "--hkv", "8")
    assert "1,024" in glass("info")
    assert "held-out stories" in glass("kv-quality", "--spec", "q8_0", "--ctx", "64", "--chunks", "1")


def test_help_and_sizes_import_nothing_heavy() -> None:
    program = "import sys; from glasscli.cli.app import main; main({}); print(sorted({} & set(sys.modules)))"
    for args in (["--help"], ["--version"], ["generate", "--help"], ["kv-budget", "--hq", "8", "--hkv", "2"]):
        last = python("-c", program.format(args, HEAVY)).splitlines()[-1]
        assert last == "[]", args


def test_the_library_itself_imports_nothing_until_used() -> None:
    assert python("-c", f"import sys, glasscli; print({HEAVY} & set(sys.modules))") == "set()\n"


def modules(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if not path.is_symlink())


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return found


def imported_at_once(path: Path) -> set[str]:
    """The modules that importing a module brings: not those for types alone, nor those that a function imports."""
    body = ast.parse(path.read_text()).body
    return {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}


def test_imports_point_one_way() -> None:
    """cli → glasscli → NumPy: the library knows no terminal, the budget no NumPy."""
    library = [path for path in modules("glasscli") if not {"cli", "weights"} & set(path.relative_to(ROOT).parts[1:])]
    assert len(library) > 20
    for path in library:
        names = imports(path)
        assert not {n for n in names if n.split(".")[0] in ("typer", "rich", "click")}, path
        if path.name != "__main__.py":
            assert not {n for n in names if n.startswith("glasscli.cli")}, path
        if "budget" in path.relative_to(ROOT).parts:
            assert not {n for n in names if n.split(".")[0] == "numpy"}, path


# What each wing may import of the library, itself beside: arrows point down, and the budget and the running model know
# nothing of each other. Names for types alone may point back.
BELOW = {
    "arrays.py": set(),
    "errors.py": set(),
    "likeness.py": set(),
    "units.py": {"errors"},
    "dtypes.py": {"errors", "likeness"},
    "untrusted_files.py": {"errors"},
    "progress.py": set(),
    "locate": {"errors", "likeness", "progress", "untrusted_files"},
    "specs": {"errors"},
    "config": {"errors", "specs", "untrusted_files"},
    "tokenizer": {"errors", "untrusted_files"},
    "cache": {"arrays", "config", "dtypes", "errors", "likeness", "specs", "units"},
    "model": {"arrays", "config", "errors", "specs", "cache"},
    # The checkpoint's headers tell what weights take.
    "budget": {"errors", "likeness", "specs", "config", "units", "dtypes", "checkpoint"},
}


@pytest.mark.parametrize("wing", BELOW)
def test_a_wing_imports_what_stands_below_it(wing: str) -> None:
    paths = modules(f"glasscli/{wing}") or [ROOT / "glasscli" / wing]
    for path in paths:
        found = {name.split(".")[1] for name in imported_at_once(path) if name.startswith("glasscli.")}
        assert found - {wing, wing.removesuffix(".py")} <= BELOW[wing], path


def test_imports_run_in_no_circle() -> None:
    """What is imported as a module is; names for types alone, and imports inside functions, may point back."""
    names = {}
    for path in [*modules("glasscli"), *modules("cli")]:
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[path] = ".".join(parts if parts[0] == "glasscli" else ("glasscli", *parts)).removesuffix(".__init__")
    known, graph = set(names.values()), {}
    for path, name in names.items():
        found = set()
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom):
                of_package = {f"{node.module}.{alias.name}" for alias in node.names} & known
                found |= of_package or {node.module} & known
        graph[name] = found
    assert len(graph) > 100
    TopologicalSorter(graph).prepare()  # raises CycleError, which shows the circle


def test_the_library_never_prints() -> None:
    for path in modules("glasscli"):
        relative = path.relative_to(ROOT).parts
        if "cli" in relative[1:] or "weights" in relative[1:]:
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id in ("print", "input")], path
