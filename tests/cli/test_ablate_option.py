"""`--ablate` in the commands that have it: what it does, what is said of it, what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny, tiny_folder
from helpers.in_process import Ran, dump_attn, glass
from helpers.strict_json import strict

from glasscli import Trace, load_model
from glasscli.inspect.ablation import Part, mean_outputs, remove
from glasscli.inspect.comparison import compare
from glasscli.inspect.head_roles import head_census
from glasscli.inspect.removed import named_parts, without
from glasscli.inspect.scoring import score_text

STORY = "Once upon a time there was a little girl named Lily. One day,"


def generate(*args: str) -> Ran:
    return glass("generate", STORY, "-n", "6", "-t", "0", *args)


def test_the_name_is_gone_without_the_head_that_copies_it() -> None:
    assert generate().out.startswith(" Lily")
    ran = generate("--ablate", "3.2")
    assert "Lily" not in ran.out
    assert ran.err == "glass: without 3.2\n"
    assert generate("--ablate", "3.2", "-q").err == ""


def test_json_names_the_parts() -> None:
    document = strict(generate("--ablate", "3.2,mlp 1=mean", "--json").out)
    assert document["model"]["ablated"] == ["3.2", "mlp 1=mean"]
    assert strict(generate("--json").out)["model"]["ablated"] == []


def test_a_mean_is_one_over_the_prompt() -> None:
    """The probabilities told are those of a run that is edited with the prompt's means."""
    folder, loaded = str(tiny_folder()), tiny()
    ran = glass("generate", "-m", folder, PROMPT, "-n", "1", "-t", "0", "--json", "--ablate", "1.2=mean,mlp0=mean")
    parts, ids = [Part(1, 2), Part(0)], loaded.encode(PROMPT)
    logits = loaded.model(ids, trace=Trace(edit=remove(parts, mean_outputs(loaded, ids, parts))))[-1].astype(float)
    assert strict(ran.out)["tokens"][0]["logprob"] == pytest.approx(
        logits.max() - np.logaddexp.reduce(logits), abs=1e-4
    )


def test_several_prompts(tmp_path: Path) -> None:
    lines = tmp_path / "prompts.txt"
    lines.write_text(f"{STORY}\nTom had a ball.\n")
    ran = glass("generate", "--prompts", str(lines), "-n", "6", "-t", "0", "--ablate", "3.2", "--json")
    assert ran.err.startswith("glass: without 3.2\n")
    document = strict(ran.out)
    assert document["model"]["ablated"] == ["3.2"]
    assert document["results"][0]["text"] == strict(generate("--ablate", "3.2", "--json").out)["text"]
    ran = glass("generate", "--prompts", str(lines), "--ablate", "3.2=mean")
    assert ran.code == 2
    assert "--ablate 3.2=mean: a mean is one over the prompt, and --prompts has several" in ran.err


def test_dump_attn_shows_the_run_without_it(tmp_path: Path) -> None:
    less = without(tiny(), [Part(0, 1)])
    trace = Trace([1])
    less.model(less.encode(PROMPT), trace=trace)
    ran = dump_attn("--layer", "1", "--ablate", "0.1", PROMPT, "--json")
    document = strict(ran.out)
    np.testing.assert_allclose(document["layers"][0]["softmax"]["data"], trace.layers[1].pattern_HTS, atol=1e-6)
    assert document["model"]["ablated"] == ["0.1"]
    screen = dump_attn("--layer", "1", "--ablate", "0.1,mlp0=mean", PROMPT, columns=140).out
    assert screen.splitlines()[0].endswith(" · without 0.1, mlp 0 (at its mean)")
    target = tmp_path / "layer.npz"
    assert dump_attn("--layer", "1", "--ablate", "0.1", PROMPT, "-o", str(target)).code == 0
    with np.load(target) as arrays:
        assert json.loads(str(arrays["metadata"]))["model"]["ablated"] == ["0.1"]
    for name in ("page.html", "picture.svg"):
        assert dump_attn("--layer", "1", "--ablate", "0.1", PROMPT, "-o", str(tmp_path / name)).code == 0
        assert "gqa without 0.1" in (tmp_path / name).read_text()


def test_heads_are_measured_without_it() -> None:
    document = strict(dump_attn("--heads", "--ablate", "0.1", PROMPT, "--json").out)
    census = head_census(without(tiny(), [Part(0, 1)]), PROMPT)
    assert document["model"]["ablated"] == ["0.1"]
    found = {(entry["layer"], entry["head"]): entry["text"]["prev"] for entry in document["heads"]}
    assert found == {(r.layer, r.text.head): pytest.approx(r.text.prev) for r in census.reports}
    assert "\nwithout 0.1\n" in dump_attn("--heads", "--ablate", "0.1", PROMPT).out


@pytest.mark.parametrize("names", ["1.2", "mlp0", "1.2=mean,mlp0=mean"])
def test_a_score_is_that_of_an_edited_run(names: str) -> None:
    folder, loaded = str(tiny_folder()), tiny()
    parts, ids = list(named_parts(names)), loaded.encode(PROMPT)
    edit = remove(parts, mean_outputs(loaded, ids, parts) if "mean" in names else None)
    document = strict(glass("score", "-m", folder, PROMPT, "--ablate", names, "--json").out)
    assert document["nats_per_token"] == pytest.approx(score_text(loaded, PROMPT, edit=edit).nats_per_token, abs=1e-5)
    assert document["model"]["ablated"] == [name.replace("mlp0", "mlp 0") for name in names.split(",")]
    assert "without 1.2" in glass("score", "-m", folder, PROMPT, "--ablate", "1.2").out


def test_the_difference_of_two_scores_is_what_ablate_says() -> None:
    whole, less = (
        strict(glass("score", STORY, *args, "--json").out)["nats_per_token"] for args in ([], ["--ablate", "3.2"])
    )
    (entry,) = strict(glass("ablate", "--loss", STORY, "--parts", "3.2", "--json").out)["parts"]
    assert less - whole == pytest.approx(entry["delta_nats"], abs=1e-5)


@pytest.mark.parametrize("names", ["3.2", "3.2=mean,mlp1=mean"])
def test_what_is_left_still_sums_to_the_logit(names: str) -> None:
    ran = glass("lens", STORY, "--token", "Lily", "--not", "she", "--ablate", names, "--json")
    attribution = strict(ran.out)["attribution"]
    assert attribution["sum"] == pytest.approx(attribution["logit"], abs=1e-4)
    assert "without 3.2" in glass("lens", STORY, "--ablate", "3.2").out


def test_prompts_are_compared_without_it() -> None:
    other = STORY.replace("girl", "boy").replace("Lily", "Tom")
    document = strict(glass("compare", STORY, other, "--ablate", "3.2", "--json").out)
    less = without(load_model(), [Part(3, 2)])
    assert document["kl_bits"] == pytest.approx(compare(less, STORY, other).kl_bits, abs=1e-6)
    ran = glass("compare", STORY, other, "--ablate", "3.2=mean")
    assert (ran.code, "a mean is one over one text, and two are compared" in ran.err) == (2, True)


@pytest.mark.parametrize("command", ["generate", "dump-attn", "score", "lens"])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("9.1", "--ablate 9.1: there is no layer 9: this model has layers 0 to 3"),
        ("3.4", "--ablate 3.4: there is no head 3.4: a layer of this model has heads 0 to 3"),
        (
            "three",
            "--ablate three: 'three' names no part of a model; expected a head such as 3.2 or an MLP such as mlp1",
        ),
        ("3.1=\x1b[2J", "--ablate 3.1=\\x1b[2J: no ablation '\\x1b[2J' for 3.1. There are: zero, mean."),
    ],
)
def test_what_means_nothing_is_refused(command: str, names: str, message: str) -> None:
    ran = glass(command, "hi", "--ablate", names)
    assert (ran.code, ran.out, ran.err) == (2, "", f"glass: {message}\n")
