"""What a name means: paths first, then the shipped model, then the cache; and what is said where nothing is."""

from dataclasses import fields
from pathlib import Path

import pytest
from helpers.hub_cache import put_in_cache
from helpers.in_process import glass

from glasscli import load_model
from glasscli.cli.commands import COMMANDS, load
from glasscli.errors import CheckpointError, UsageError
from glasscli.locate.locate import NotFoundError, locate
from glasscli.locate.need import Need
from glasscli.locate.shipped import shipped_folder

REPO = "someone/tiny-llama"
GGUF = Path(__file__).parents[1] / "data" / "gguf" / "converted"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an empty working directory."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "hub"


def test_the_shipped_model_has_a_name() -> None:
    assert locate(None) == locate("glass-1m") == shipped_folder()


def test_a_name_of_the_cache(cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    put_in_cache(cache, "gpt2", tiny_model_folder)
    assert locate(REPO) == snapshot
    assert locate("gpt2").is_relative_to(cache / "models--gpt2")
    assert load_model(REPO).checkpoint.name == REPO


@pytest.mark.parametrize("name", ["glass-1m", REPO, "gpt2", f"hf:{REPO}"])
def test_a_path_that_exists_always_wins(name: str, cache: Path, tiny_model_folder: Path) -> None:
    for repo in (REPO, "gpt2"):
        put_in_cache(cache, repo, tiny_model_folder)
    Path(name).mkdir(parents=True)
    assert locate(name) == Path(name)


def test_a_path_object_is_a_path(cache: Path, tiny_model_folder: Path) -> None:
    put_in_cache(cache, REPO, tiny_model_folder)
    assert locate(Path(REPO)) == Path(REPO)
    with pytest.raises(CheckpointError, match="does not exist"):
        load_model(Path(REPO))


@pytest.mark.parametrize("text", ["/none", "./none", "a/b/c", "folder/model.gguf", "x\0y", "x" * 5000])
def test_a_path_that_is_no_name_is_left_to_its_reader(text: str) -> None:
    assert locate(text) == Path(text)


def test_absent_says_how_to_get_it(cache: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        locate(REPO)
    hint = f"hf:{REPO} downloads it"
    assert str(caught.value) == f"{REPO}: does not exist, and Hugging Face's cache ({cache}) does not hold it. {hint}"
    with pytest.raises(NotFoundError, match=r"glass-1m is the model that comes with glass; hf:org/name is fetched"):
        locate("my-model")
    for text in ("hf:some thing", "hf:", "hf:/etc/passwd", "hf:../..", "hf:a/b/c"):
        with pytest.raises(UsageError, match="expected hf:org/name"):
            locate(text)
    with pytest.raises(UsageError, match="is a link; hf:someone/tiny-llama is the name"):
        locate(f"https://huggingface.co/{REPO}/tree/main")
    with pytest.raises(UsageError, match="is empty"):
        locate("")


def test_absent_says_what_was_perhaps_meant(cache: Path, tiny_model_folder: Path) -> None:
    put_in_cache(cache, REPO, tiny_model_folder)
    for typed, meant in (("glass1m", "glass-1m"), ("tiny-llama", REPO), ("someone/tiny-lama", REPO)):
        with pytest.raises(NotFoundError, match=rf"{typed}: does not exist.* Did you mean {meant}\?"):
            locate(typed)


def test_a_part_of_a_model_serves_what_it_can(cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    (snapshot / "model.safetensors").unlink()
    assert locate(REPO, Need.config) == locate(REPO, Need.tokenizer) == snapshot
    with pytest.raises(NotFoundError, match="does not hold all of it"):
        locate(REPO)


def test_weights_of_another_format_are_named_by_their_reader(cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    (snapshot / "model.safetensors").rename(snapshot / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="glass reads safetensors"):
        load_model(REPO)


def test_gguf_files_of_the_cache(cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gguf"
    (folder / "Q8_0").mkdir(parents=True)
    (folder / "Q8_0" / "tiny.gguf").write_bytes((GGUF / "llama.gguf").read_bytes())
    snapshot = put_in_cache(cache, REPO, folder)
    assert locate(REPO) == locate(f"{REPO}/Q8_0/tiny.gguf") == snapshot / "Q8_0" / "tiny.gguf"
    assert glass("info", "-m", REPO, "--json").code == 0
    (snapshot / "other.gguf").symlink_to("Q8_0/tiny.gguf")
    with pytest.raises(CheckpointError, match=r"holds 2 GGUF files; name one as someone/tiny-llama/FILE: 'Q8_0/tiny"):
        locate(REPO)
    assert locate(f"{REPO}/other.gguf") == snapshot / "other.gguf"
    with pytest.raises(NotFoundError, match=r"hf:someone/tiny-llama/none\.gguf downloads it"):
        locate(f"{REPO}/none.gguf")
    (snapshot / "secret.gguf").symlink_to(tmp_path / "gguf" / "Q8_0" / "tiny.gguf")
    with pytest.raises(CheckpointError, match="link to a file outside"):
        locate(f"{REPO}/secret.gguf")
    for other in ("Q8_0/tiny.gguf", "other.gguf"):
        (snapshot / other).unlink()
    with pytest.raises(CheckpointError, match="link to a file outside"):
        locate(REPO)


RUNS = {
    "generate": ("Once", "-n", "3", "--seed", "1"),
    "dump-attn": ("--layer", "1"),
    "tokenize": ("Once",),
    "info": (),
    "compare": ("The cat ran.", "The dog ran."),
    "ablate": ("Once",),
    "lens": ("Once",),
    "score": ("The cat ran.",),
    "lesson": ("softmax", "-q"),  # without the commands to try, which say what the model is called
    "kv-quality": ("--text", "story.txt", "--spec", "bf16"),
}


def test_every_command_that_takes_a_model_is_tried() -> None:
    """A new one: add to `RUNS` what it needs. kv-budget reads no weights and has tests of its own."""
    taking = {name for name in COMMANDS if any(field.name == "model" for field in fields(load(name).Options))}
    assert taking - {"kv-budget"} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_commands_take_every_form(name: str, cache: Path, tiny_model_folder: Path) -> None:
    """A path, the shipped name, a name of the cache; from the option and from the environment."""
    put_in_cache(cache, REPO, tiny_model_folder)
    Path("story.txt").write_text("The cat ran to the dog. " * 20)
    rest = RUNS[name]
    by_path = glass(name, "-m", str(tiny_model_folder), *rest)
    assert by_path.code == 0, by_path.err
    by_name = glass(name, "-m", REPO, *rest)
    assert (by_name.code, by_name.err) == (0, by_path.err)
    if name not in ("info", "kv-quality"):  # which say what the model is called
        assert by_name.out == by_path.out
    assert glass(name, *rest, env={"GLASS_MODEL": REPO}).out == by_name.out
    assert glass(name, "-m", "glass-1m", *rest).out == glass(name, *rest).out
    gone = glass(name, "-m", "someone/else", *rest)
    assert gone.code == 1
    assert gone.err.startswith("glass: someone/else: does not exist, and")
    assert gone.err.count("\n") == 1
