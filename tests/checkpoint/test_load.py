"""A whole folder at once: config, weights and tokenizer that fit each other, and those that don't."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import random_tensors
from helpers.model_folders import byte_level, sentencepiece_like, write_folder
from helpers.random_llama import settings, tensors

from glasscli.checkpoint.load import load_model
from glasscli.config.model_config import ModelConfig
from glasscli.errors import CheckpointError, ConfigError, GlassError, TokenizerError, UsageError
from glasscli.locate.shipped import shipped_folder
from glasscli.model.llama import Llama

MakeFolder = Callable[..., Path]


def test_a_loaded_model_is_the_one_written(tiny_model_folder: Path) -> None:
    loaded = load_model(tiny_model_folder)
    config = json.loads((tiny_model_folder / "config.json").read_text())
    token_ids = loaded.encode("the cat sat")
    expected = Llama(loaded.config, tensors(config))(token_ids)
    np.testing.assert_array_equal(loaded.model(token_ids), expected)
    assert loaded.notes == ()
    assert loaded.unused_ids == ()
    assert load_model(str(tiny_model_folder)).config == loaded.config


def test_the_shipped_model_loads() -> None:
    loaded = load_model()
    assert loaded.folder == shipped_folder()
    assert loaded.config.bos_ids == loaded.config.eos_ids == (0,)
    assert loaded.encode("")[:1] == [0]
    assert loaded.tokenizer.decode(loaded.encode("Once upon a time")) == "Once upon a time"
    assert loaded.notes == ()


@pytest.mark.parity
def test_the_shipped_tokenizer_is_that_of_transformers() -> None:
    from transformers import AutoTokenizer

    loaded, theirs = load_model(), AutoTokenizer.from_pretrained(shipped_folder())
    for text in ("Once upon a time", " two  spaces", "日本語 🙂", "", "a\n\nb"):
        assert loaded.encode(text) == theirs(text)["input_ids"]
    text = "a<|endoftext|>b"
    assert loaded.encode(text, parse_special=True) == theirs(text)["input_ids"]
    assert loaded.encode(text) == theirs(text, split_special_tokens=True)["input_ids"]


def test_padding_rows_of_the_embedding_are_told(tmp_path: Path) -> None:
    loaded = load_model(write_folder(tmp_path / "m", settings(vocab_size=384)))
    assert loaded.unused_ids == tuple(range(320, 384))
    assert loaded.notes == ("64 of 384 rows of the embedding belong to no token and are never sampled",)


def test_a_token_past_the_embedding_matters_only_if_used(tmp_path: Path) -> None:
    loaded = load_model(write_folder(tmp_path / "m", settings(vocab_size=300)))
    assert loaded.encode("xyz")[0] == 0
    last = loaded.tokenizer.piece_bytes(319).decode()
    with pytest.raises(TokenizerError, match=r"token 319 \('.*'\) can't be used: the model has 300 tokens") as caught:
        loaded.encode("the cat" + last)
    assert "its tokenizer has more" in str(caught.value)


@pytest.mark.parametrize("token_id", [-1, 320, 2**40])
def test_ids_that_are_no_tokens(token_id: int, tiny_model_folder: Path) -> None:
    with pytest.raises(UsageError, match=f"no token with the id {token_id}"):
        load_model(tiny_model_folder).check_ids([1, token_id])


def test_a_tokenizer_of_llama_2_kind(tmp_path: Path) -> None:
    tokenizer = sentencepiece_like()
    config = settings(vocab_size=tokenizer.get_vocab_size(), bos_token_id=1, eos_token_id=[2])
    loaded = load_model(write_folder(tmp_path / "m", config, tokenizer=tokenizer))
    assert loaded.encode("the cat")[0] == 1
    assert loaded.tokenizer.decode(loaded.encode("the  cat 日本")) == "the  cat 日本"


def test_a_tied_config_with_another_head_is_computed_with_that_head(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    config = json.loads((folder / "config.json").read_text())
    weights = tensors(config)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"][::-1].copy()
    write_folder(folder, config, weights)
    loaded = load_model(folder)
    assert not loaded.config.tied
    tied = load_model(make_model_folder())
    token_ids = [0, 5, 7]
    np.testing.assert_allclose(loaded.model(token_ids)[:, ::-1], tied.model(token_ids), atol=1e-5)


@pytest.mark.parity
@pytest.mark.parametrize("case", ["both, different", "both, equal", "head alone", "untied"])
def test_which_head_is_used_is_decided_as_in_transformers(case: str, make_model_folder: MakeFolder) -> None:
    import torch
    from transformers import LlamaForCausalLM

    folder = make_model_folder(tie_word_embeddings=case != "untied")
    config = json.loads((folder / "config.json").read_text())
    weights = tensors(config)
    embedding = weights["model.embed_tokens.weight"]
    if case == "both, different":
        weights["lm_head.weight"] = embedding[::-1].copy()
    elif case == "both, equal":
        weights["lm_head.weight"] = embedding.copy()
    elif case == "head alone":
        weights["lm_head.weight"] = weights.pop("model.embed_tokens.weight")
    write_folder(folder, config, weights)
    token_ids = [0, 5, 7, 200]
    with torch.no_grad():
        theirs = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float64)(torch.tensor([token_ids])).logits[0]
    np.testing.assert_allclose(load_model(folder).model(token_ids), theirs.numpy(), atol=2e-4)


@pytest.mark.parametrize(
    ("file", "kind"),
    [("config.json", ConfigError), ("model.safetensors", CheckpointError), ("tokenizer.json", TokenizerError)],
)
def test_each_file_that_is_missing_or_a_pointer_is_named(
    file: str, kind: type[GlassError], make_model_folder: MakeFolder
) -> None:
    folder = make_model_folder()
    (folder / file).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(kind, match=f"{file} is a Git LFS pointer"):
        load_model(folder)
    (folder / file).unlink()
    with pytest.raises(kind, match=file):
        load_model(folder)


def test_files_that_would_never_end_are_not_read(make_model_folder: MakeFolder) -> None:
    import os

    for file in ("config.json", "tokenizer.json", "model.safetensors", "generation_config.json"):
        folder = make_model_folder()
        (folder / file).unlink(missing_ok=True)
        os.mkfifo(folder / file)
        with pytest.raises(GlassError, match="is not a regular file"):
            load_model(folder)


def test_links_that_lead_out_are_not_followed(make_model_folder: MakeFolder) -> None:
    for file in ("config.json", "tokenizer.json", "model.safetensors"):
        folder = make_model_folder()
        (folder / file).rename(folder.parent / f"outside-{file}")
        (folder / file).symlink_to(folder.parent / f"outside-{file}")
        with pytest.raises(GlassError, match="is a link to a file outside the folder"):
            load_model(folder)


def test_the_folder_itself_may_be_a_link(tiny_model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tiny_model_folder)
    assert load_model(tmp_path / "link").config.n_layers == 3


def test_nothing_in_a_folder_is_run(make_model_folder: MakeFolder, tmp_path: Path) -> None:
    """A config may name code (`auto_map`), and a folder may hold it: neither is looked at."""
    folder = make_model_folder(auto_map={"AutoModelForCausalLM": "evil.Evil"}, trust_remote_code=True)
    for name in ("evil.py", "conftest.py", "numpy.py", "__init__.py"):
        (folder / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    load_model(folder)
    assert not (tmp_path / "ran").exists()


def test_loading_writes_nothing(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    before = sorted((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir())
    load_model(folder)
    assert sorted((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir()) == before


def test_a_broken_generation_config_is_not_passed_over(make_model_folder: MakeFolder) -> None:
    """A broken line in generation_config.json is an error, not a model that never stops."""
    folder = make_model_folder()
    (folder / "generation_config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"generation_config\.json: not valid JSON"):
        load_model(folder)
    (folder / "generation_config.json").write_text('{"eos_token_id": [5, 7]}')
    assert load_model(folder).config.eos_ids == (5, 7, 0), "those of both files"


def test_a_gpt2_as_it_was_first_written(tmp_path: Path) -> None:
    """Without the prefix, with the triangular masks beside the weights."""
    given = {**FAMILIES["gpt2"], "vocab_size": 257}
    weights = random_tensors(given)
    bare = {name.removeprefix("transformer."): array for name, array in weights.items()}
    masks = {f"h.{i}.attn.bias": np.tri(512, dtype=np.float32)[None, None] for i in range(3)}
    loaded = load_model(write_folder(tmp_path / "bare", given, bare | masks, byte_level(257, bos=False)))
    assert loaded.notes == ()
    expected = Llama(ModelConfig.from_dict(given), weights)([5, 6, 7])
    np.testing.assert_array_equal(loaded.model([5, 6, 7]), expected)


def test_a_gpt_neox_with_its_head_under_the_first_name(tmp_path: Path) -> None:
    given = {**FAMILIES["gpt_neox"], "vocab_size": 257}
    weights = random_tensors(given)
    early = {name.replace("lm_head", "embed_out"): array for name, array in weights.items()}
    assert early.keys() != weights.keys()
    loaded = load_model(write_folder(tmp_path / "early", given, early, byte_level(257, bos=False)))
    expected = Llama(ModelConfig.from_dict(given), weights)([5, 6, 7])
    np.testing.assert_array_equal(loaded.model([5, 6, 7]), expected)


def test_a_head_that_differs_in_one_number_is_another_head(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    config = json.loads((folder / "config.json").read_text())
    weights = tensors(config)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].copy()
    write_folder(folder, config, weights)
    assert load_model(folder).config.tied
    weights["lm_head.weight"][7, 3] += 1
    write_folder(folder, config, weights)
    loaded = load_model(folder)
    assert not loaded.config.tied
    assert any("lm_head.weight differs" in note for note in loaded.notes)
