"""The text that ships, and how texts are cut into documents and chunks."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from glasscli import UsageError, load_model
from glasscli.checkpoint.load import LoadedModel
from glasscli.locate.shipped import shipped_folder
from glasscli.quality.texts import documents_of, held_out_text, n_chunks, usual_chunks, usual_context


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_model()


def test_the_held_out_text_says_where_it_is_from_and_is_long_enough(loaded: LoadedModel) -> None:
    folder = shipped_folder().parent / "held-out"
    notice = (folder / "stories.txt").read_text("utf-8").split("<|endoftext|>")[0]
    for words in ("TinyStories", "https://cdla.dev/sharing-1-0/", "CHANGED"):
        assert words in notice
    assert "CDLA-Sharing-1.0" in (folder / "README.md").read_text("utf-8")
    documents = documents_of(loaded, held_out_text())
    assert len(documents) == 24
    assert not any("TinyStories" in loaded.tokenizer.decode(ids) for ids in documents)
    context = usual_context(loaded, documents)
    assert context >= 384
    assert context * min(n_chunks(loaded, documents, context), usual_chunks(loaded, context)) > 3584


def test_documents_end_at_a_mark_on_a_line_of_its_own(loaded: LoadedModel) -> None:
    text = "One cat.\nIt ran.\n<|endoftext|>\n\nTwo dogs.\n<|endoftext|>\n"
    found = documents_of(loaded, text)
    assert [loaded.tokenizer.decode(ids) for ids in found] == ["One cat.\nIt ran.", "Two dogs."]
    assert all(ids[0] not in loaded.tokenizer.special_ids for ids in found)
    with pytest.raises(UsageError, match="the text is empty"):
        documents_of(loaded, "<|endoftext|>\n \n")


def test_chunks_are_as_long_as_leaves_four_of_them(loaded: LoadedModel) -> None:
    assert usual_context(loaded, [[5] * 511] * 4) == 512
    assert usual_context(loaded, [[5] * 511] * 3) == 256  # two from each
    assert usual_context(loaded, [[5] * 100]) == 24
    assert usual_context(loaded, [[5] * 9]) == 8
    with pytest.raises(UsageError, match="has 6 tokens; a chunk needs 8"):
        usual_context(loaded, [[5] * 6])
    short = replace(loaded, config=replace(loaded.config, max_seq_len=100))
    assert usual_context(short, [[5] * 511] * 8) == 96


def test_a_large_model_reads_less(loaded: LoadedModel) -> None:
    assert usual_chunks(loaded, 512) == 8
    big: Any = SimpleNamespace(embedding=SimpleNamespace(size=60_000_000), blocks=())
    model: Any = SimpleNamespace(weights=big)
    assert usual_chunks(replace(loaded, model=model), 256) == 4
