"""The steps around attention, on every family: they are there or named as absent, and what must be true of them is."""

import dataclasses

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family

from glasscli import UsageError, load_model
from glasscli.inspect.dump import dump_attention, dump_decode, take_rows
from glasscli.inspect.overview import AROUND, read_overview
from glasscli.inspect.steps import LAYER_STEPS, STEPS, check_step, explain, layer_steps, source_line, step_array
from glasscli.inspect.stream_checks import check_joints, check_outside, check_stream
from glasscli.inspect.stream_steps import OUTSIDE

IDS = [7, 3, 5, 3, 5, 3, 9]


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_step_has_the_shape_it_says_and_the_checks_hold(kind: str) -> None:
    loaded = family(kind)
    dump = dump_attention(loaded, IDS, range(loaded.config.n_layers), outside=tuple(OUTSIDE))
    for trace in dump.layers:
        for name, step in layer_steps(loaded.config, trace.layer).items():
            if name != "cache":
                assert step_array(trace, name).shape == step.shape(loaded.config, len(IDS), len(IDS)), name
            assert "{" not in step.equation(loaded.config) + explain(step, loaded.config)
        assert [check for check in check_stream(trace, loaded.config).values() if not check.ok] == []
    assert check_joints(dump.layers)
    for name, step in OUTSIDE.items():
        assert dump.outside[name].shape == step.shape(loaded.config, len(IDS) - (name == "grad"), len(IDS)), name
    assert [check for check in check_outside(dump, loaded.model).values() if not check.ok] == []


@pytest.mark.parametrize("kind", FAMILIES)
def test_what_a_family_has_not_is_refused_by_name(kind: str) -> None:
    config = family(kind).config
    absent = LAYER_STEPS.keys() - layer_steps(config)
    for name in absent:
        with pytest.raises(UsageError, match=f"has no step '{name}'. Steps of attention: q,"):
            check_step(name, config)
    assert ("gate" in absent) == (not config.architecture.gated)
    assert ("ffn_post_norm" in absent) == ("ffn_post_norm" not in config.architecture.norms)


def test_each_names_a_line_of_our_code() -> None:
    for step in (*LAYER_STEPS.values(), *OUTSIDE.values()):
        file, number, line = source_line(step)
        assert file.endswith(".py")
        assert number > 1
        assert line.strip()


def test_formulas_say_what_the_family_does() -> None:
    def formulas(kind: str) -> dict[str, str]:
        return {name: step.equation(family(kind).config) for name, step in layer_steps(family(kind).config).items()}

    assert formulas("qwen3")["hidden"] == "silu(gate) · up"
    assert formulas("gpt2")["hidden"] == "gelu(up)"
    assert formulas("gpt2")["up"] == "ffn_norm·W_up + b_up"
    assert formulas("gpt2")["ffn_norm"] == "LayerNorm(resid_mid)·w + b"
    assert formulas("gpt_neox")["ffn_norm"] == "LayerNorm(x)·w + b"
    assert formulas("gemma3")["resid_post"] == "resid_mid + ffn_post_norm"
    assert formulas("olmo2")["gate"] == "resid_mid·W_gate"


def test_the_loss_gradient_by_hand() -> None:
    """Of a row of probabilities, 1 taken off at the token that came."""
    loaded = load_model()
    ids = loaded.encode("The cat saw")
    dump = dump_attention(loaded, ids, [0], outside=("probs", "grad"))
    expected = dump.outside["probs"][:-1].copy()
    for row, came in enumerate(ids[1:]):
        expected[row, came] -= 1
    np.testing.assert_array_equal(dump.outside["grad"], expected)


def test_a_damaged_stream_fails_its_checks() -> None:
    loaded = load_model()
    dump = dump_attention(loaded, "The cat saw", range(4), outside=tuple(OUTSIDE))
    trace = dump.layers[1]
    for field, step in (("out_TD", "resid_mid"), ("up_TF", "hidden"), ("down_TD", "resid_post")):
        broken = dataclasses.replace(trace, **{field: getattr(trace, field) + np.float32(0.1)})
        failed = [check.step for check in check_stream(broken, loaded.config).values() if not check.ok]
        assert step in failed
    assert not check_joints([dump.layers[0], dataclasses.replace(trace, x_TD=trace.x_TD + 1)])
    for name in ("embedding", "logits", "probs", "grad"):
        wrong = dataclasses.replace(dump, outside={**dump.outside, name: dump.outside[name] + np.float32(0.01)})
        assert not check_outside(wrong, loaded.model)[name].ok, name


def test_a_gradient_of_another_function_fails_central_differences() -> None:
    loaded = load_model()
    dump = dump_attention(loaded, "The cat saw", [0], outside=("grad",))
    grad = dump.outside["grad"].copy()
    grad[-1, :2] += (0.01, -0.01)  # still sums to 0
    assert not check_outside(dataclasses.replace(dump, outside={"grad": grad}), loaded.model)["grad"].ok


def test_rows_and_decode_steps_have_those_of_a_whole_run() -> None:
    loaded = load_model()
    ids = loaded.encode("The cat saw the dog. The cat")
    names = ("embedding", "final_norm", "logits", "probs", "grad")
    whole = dump_attention(loaded, ids, [1], outside=names)
    some = dump_attention(loaded, ids, [1], rows=(3, 6), outside=names)
    cut = take_rows(whole, 3, 6)
    steps = dump_decode(loaded, ids[:4], [1], ids[4:7], outside=names)
    for name in names:
        np.testing.assert_allclose(some.outside[name], whole.outside[name][3:6], atol=2e-5)
        np.testing.assert_array_equal(cut.outside[name], whole.outside[name][3:6])
        np.testing.assert_allclose(steps.outside[name], whole.outside[name][3:6], atol=2e-5)


def test_there_is_no_gradient_where_nothing_follows() -> None:
    with pytest.raises(UsageError, match="nothing follows the last token"):
        dump_decode(load_model(), "The cat", [0], outside=("grad",))


def test_the_overview_walks_the_whole_model() -> None:
    loaded = load_model()
    found = read_overview(loaded, "The cat saw the dog. The cat")
    names = [place.name for place in found.places]
    assert (names[0], names[-3:]) == ("embedding", ["final_norm", "logits", "probs"])
    assert names.count("resid_post") == 4
    assert found.joined
    assert all(place.check is None or place.check.ok for place in found.places)
    last = [place for place in found.places if place.name in ("resid_post", "logits")]
    said = [[(guess.token.id, round(guess.p, 5)) for guess in place.says] for place in last[-2:]]
    assert said[0] == said[1]  # what the last layer says is what the model says
    assert set(AROUND) < set(names)
    assert set(STEPS) & set(names) == {"softmax", "out"}
