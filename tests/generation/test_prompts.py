"""What may be a prompt, and what is refused before the first step."""

from pathlib import Path

import pytest
from helpers.model_folders import byte_level, write_folder
from helpers.random_llama import settings

from glasscli import generate, load_model
from glasscli.checkpoint.load import LoadedModel
from glasscli.errors import UsageError

END = 0


def test_an_empty_prompt_starts_from_the_beginning_mark_or_is_refused(tmp_path: Path) -> None:
    plain = byte_level(bos=False)  # the template puts nothing in front
    with_bos = load_model(write_folder(tmp_path / "a", tokenizer=plain))
    assert generate(with_bos, "").prompt.token_ids == generate(with_bos, []).prompt.token_ids == (0,)
    config = settings(vocab_size=plain.get_vocab_size(), bos_token_id=None)
    without = load_model(write_folder(tmp_path / "b", config, tokenizer=plain))
    for empty in ("", []):
        with pytest.raises(UsageError, match="empty"):
            generate(without, empty)


def test_special_names_in_a_prompt_are_text_unless_asked_for(loaded: LoadedModel) -> None:
    prompt = "hi <|endoftext|> there"
    assert END not in generate(loaded, prompt).prompt.token_ids[1:]
    assert END in generate(loaded, prompt, parse_special=True).prompt.token_ids[1:]


@pytest.mark.parametrize("token_id", [-1, 320, 10**9])
def test_an_id_past_the_embedding_is_named(loaded: LoadedModel, token_id: int) -> None:
    with pytest.raises(UsageError, match=str(token_id)):
        generate(loaded, [5, token_id])


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_new_tokens": -1},
        {"n_top": -1},
        {"seed": -1},
        {"stop": ["a", ""]},
        {"overflow": "right"},
        {"overflow": "slide", "use_cache": False},
    ],
)
def test_settings_that_make_no_sense_are_refused_before_the_first_step(
    loaded: LoadedModel, wrong: dict[str, object]
) -> None:
    with pytest.raises(UsageError):
        generate(loaded, "x", **wrong)  # type: ignore[arg-type]
