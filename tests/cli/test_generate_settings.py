"""Penalties by count, biases and stop tokens as options: the library's texts, in JSON and below a text."""

import pytest
from helpers.in_process import glass, text_of
from helpers.strict_json import strict
from helpers.terminal import in_terminal

from glasscli import LoadedModel, SamplingParams, generate

ARGS = ("Once", "-n", "20", "--seed", "3", "--ignore-eos")


def test_options_mean_what_the_library_means(model: list[str], loaded: LoadedModel) -> None:
    options = ("--frequency-penalty", "0.5", "--presence-penalty", "-0.25", "--logit-bias", "#70=1.5")
    document = strict(text_of(glass(*model, *ARGS, *options, "--logit-bias", "#71=-inf", "--json")))
    params = SamplingParams(frequency_penalty=0.5, presence_penalty=-0.25, logit_bias={70: 1.5, 71: float("-inf")})
    run = generate(loaded, "Once", params=params, max_new_tokens=20, seed=3, ignore_eos=True)
    assert [step.token_id for step in run] == [token["id"] for token in document["tokens"]]
    sampling = document["sampling"]
    assert (sampling["frequency_penalty"], sampling["presence_penalty"]) == (0.5, -0.25)
    assert sampling["logit_bias"] == {"70": 1.5, "71": "-inf"}
    assert document["text"] != strict(text_of(glass(*model, *ARGS, "--json")))["text"]


def test_a_bias_can_make_or_forbid_a_token(model: list[str]) -> None:
    forced = strict(text_of(glass(*model, *ARGS, "--logit-bias", "#70=1e6", "--json")))
    assert {token["id"] for token in forced["tokens"]} == {70}
    plain = strict(text_of(glass(*model, *ARGS, "-t", "0", "--json")))["tokens"][0]["id"]
    without = strict(text_of(glass(*model, *ARGS, "-t", "0", "--logit-bias", f"#{plain}=-inf", "--json")))
    assert plain not in [token["id"] for token in without["tokens"]]
    assert without["tokens"][0]["rank"] == 2  # the raw model's


def test_a_name_is_a_word_as_it_stands_in_a_sentence() -> None:
    shipped = ("generate", "Once upon a time", "-n", "30", "-t", "0", "--json")
    ids = {name: int(text_of(glass("tokenize", f"a{name}", "--ids")).split()[-1]) for name in (" the", " a")}
    document = strict(text_of(glass(*shipped, "--logit-bias", "the=-inf", "--logit-bias", "a=-inf")))
    assert document["sampling"]["logit_bias"] == {str(ids[" the"]): "-inf", str(ids[" a"]): "-inf"}
    assert not {" the", " a"} & {token["text"] for token in document["tokens"]}


def test_stop_tokens(model: list[str]) -> None:
    plain = strict(text_of(glass(*model, *ARGS, "--json")))
    ids = [token["id"] for token in plain["tokens"]]
    wanted = next(token_id for token_id in ids[5:] if token_id not in ids[:5])
    at = ids.index(wanted)
    document = strict(text_of(glass(*model, *ARGS, "--stop-token", "#1", "--stop-token", f"#{wanted}", "--json")))
    assert [token["id"] for token in document["tokens"]] == ids[: at + 1]
    assert (document["finish_reason"], document["stop_token"], document["stop_string"]) == ("stop", wanted, None)
    assert document["sampling"]["stop_tokens"] == [1, wanted]
    assert plain["text"].startswith(document["text"])


@pytest.mark.parametrize("show", [[], ["--show", "probs"]])
def test_a_terminal_is_told_what_was_used(model: list[str], show: list[str]) -> None:
    options = ("--frequency-penalty", "0.5", "--presence-penalty", "0.2", "--logit-bias", "#70=1e6")
    _, shown = in_terminal(*model, *ARGS, *options, "--stop-token", "#70", *show, "--color", "never", columns=200)
    footer = shown[shown.rindex("── ") :]
    assert "1 token · stopped at f · seed 3 · 1 bias, frequency 0.5, presence 0.2, temp 0.8, top-p 0.95" in footer
    if show:
        assert "→ 1 bias → repeat off → frequency 0.5 → presence 0.2 → temp 0.8 →" in shown


def test_the_settings_in_the_footer_are_broken_where_the_terminal_ends(model: list[str]) -> None:
    options = ("--frequency-penalty", "0.5", "--presence-penalty", "0.2", "--logit-bias", "#70=1")
    _, shown = in_terminal(*model, *ARGS, *options, "--color", "never", columns=40)
    assert all(len(line) <= 40 for line in shown.splitlines())
    assert "1 bias, frequency 0.5, presence 0.2," in shown
