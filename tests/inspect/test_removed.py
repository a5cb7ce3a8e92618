"""Models without parts: the same numbers as runs that are edited, in every form of a run and in every family."""

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import PROMPT, tiny
from helpers.family_configs import FAMILIES
from helpers.family_models import family
from helpers.odd_models import ODD, odd
from helpers.random_llama import settings, tensors

from glasscli import LoadedModel, SamplingParams, Trace, generate, generate_batch, load_model
from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.inspect.ablation import Part, all_parts, mean_outputs, remove
from glasscli.inspect.removed import named_part, named_parts, without

IDS = [5, 9, 7, 12, 9, 7, 30, 31, 9, 40]
EVERY_MODEL = [*((family, name) for name in FAMILIES), *((odd, kind) for kind in ODD)]


@pytest.fixture(params=EVERY_MODEL, ids=lambda made: str(made[1]))
def loaded(request: pytest.FixtureRequest) -> LoadedModel:
    made: LoadedModel = request.param[0](request.param[1])
    return made


def in_pieces(loaded: LoadedModel, size: int, trace: Trace | None = None) -> Array:
    """Logits of every position, so many tokens at a time."""
    cache = loaded.model.new_cache()
    return np.concatenate([loaded.model(IDS[at : at + size], cache, trace=trace) for at in range(0, len(IDS), size)])


@pytest.mark.parametrize("method", ["zero", "mean"])
@pytest.mark.parametrize("size", [10, 4, 1])
def test_it_computes_what_an_edited_run_does(loaded: LoadedModel, method: str, size: int) -> None:
    """At every position, in one block, in three, and token by token, which may be the fast form."""
    parts = list(
        dict.fromkeys([Part(0, loaded.config.n_heads - 1), Part(1, 0), Part(1), Part(loaded.config.n_layers - 1)])
    )
    edit = remove(parts, mean_outputs(loaded, IDS, parts) if method == "mean" else None)
    expected = in_pieces(loaded, size, Trace(edit=edit))
    assert np.abs(expected - in_pieces(loaded, size)).max() > 1e-3
    less = without(loaded, dict.fromkeys(parts, method), IDS)
    np.testing.assert_allclose(in_pieces(less, size), expected, atol=2e-4)


def test_a_part_set_to_zero_is_one_whose_matrix_is_zero() -> None:
    config = settings(vocab_size=257)
    for part in all_parts(tiny().config):
        weights = tensors(config)
        prefix = f"model.layers.{part.layer}."
        if part.head is None:
            weights[f"{prefix}mlp.down_proj.weight"][:] = 0
        else:
            weights[f"{prefix}self_attn.o_proj.weight"][:, part.head * 8 : (part.head + 1) * 8] = 0
        expected = reference.logits(config, weights, IDS)
        np.testing.assert_allclose(without(tiny(), [part]).model(IDS), expected, atol=1e-4)


def test_the_whole_model_stays_whole() -> None:
    loaded = tiny()
    before = loaded.model(IDS).copy()
    less = without(loaded, all_parts(loaded.config))
    less.model(IDS)
    np.testing.assert_array_equal(loaded.model(IDS), before)
    assert loaded.removed == ()
    fewer = without(without(loaded, [Part(0, 1)]), {Part(2): "mean"}, IDS)
    assert fewer.removed == ("0.1", "mlp 2=mean")


def test_a_decoder_made_before_is_not_used_after() -> None:
    """`Llama` keeps a decoder for those who bring none; it holds weights."""
    loaded = tiny()
    cache = loaded.model.new_cache()
    loaded.model([5], cache)
    loaded.model([9], cache)
    less = without(loaded, [Part(0, 1), Part(1)]).model
    cache = less.new_cache()
    less([5], cache)
    np.testing.assert_allclose(less([9], cache), less([5, 9])[1:], atol=1e-5)


def test_generation_goes_without_it_in_all_its_forms() -> None:
    loaded = load_model()
    story = "Once upon a time there was a little girl named Lily. One day,"
    less, greedy = without(loaded, [Part(3, 2)]), SamplingParams(temperature=0)
    ids, edit = loaded.encode(story), remove([Part(3, 2)])
    for _ in range(8):  # written here, by edited runs over the whole text
        ids.append(int(loaded.model(ids, trace=Trace(edit=edit))[-1].argmax()))
    expected = ids[-8:]
    for use_cache in (True, False):
        run = generate(less, story, params=greedy, max_new_tokens=8, use_cache=use_cache)
        assert [step.token_id for step in run] == expected
    batch = generate_batch(less, [story, "Tom"], params=greedy, max_new_tokens=8)
    for _ in batch:
        pass
    assert batch.runs[0].token_ids == expected
    assert "Lily" not in loaded.tokenizer.decode(expected)


def test_names() -> None:
    for name, part in (("3.2", Part(3, 2)), (" 0.10 ", Part(0, 10)), ("mlp1", Part(1)), ("mlp 12", Part(12))):
        assert named_part(name) == part
    for part in all_parts(tiny().config):
        assert named_part(part.label) == part
    assert named_parts("3.2, mlp1=mean,0.0=zero") == {Part(3, 2): "zero", Part(1): "mean", Part(0, 0): "zero"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("", "'' names no part"),
        ("3", "'3' names no part .* expected a head such as 3.2 or an MLP such as mlp1"),
        ("3.2.1", "names no part"),
        ("-1.2", "names no part"),
        ("3.2,", "'' names no part"),
        ("mlp", "names no part"),
        ("9" * 5000 + ".1", "names no part"),
        ("3.2,3.2=mean", "3.2 is named twice"),
        ("mlp1,mlp 1", "mlp 1 is named twice"),
        ("3.2=half", "no ablation 'half' for 3.2. There are: zero, mean."),
        ("3.2=", "no ablation ''"),
    ],
)
def test_what_means_nothing_is_refused(names: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        named_parts(names)


def test_what_is_not_there_is_refused() -> None:
    for part, message in ((Part(3, 0), "no layer 3"), (Part(0, 4), "no head 0.4")):
        with pytest.raises(UsageError, match=message):
            without(tiny(), [part])
    with pytest.raises(UsageError, match=r"0\.1 can't be set to its mean: there is no text"):
        without(tiny(), {Part(0, 1): "mean"})


def test_what_a_part_computes_stays_to_be_seen() -> None:
    ids = tiny().encode(PROMPT)
    less, trace, whole = without(tiny(), [Part(1, 2)]), Trace([1]), Trace([1])
    less.model(ids, trace=trace)
    tiny().model(ids, trace=whole)
    np.testing.assert_array_equal(trace.layers[1].mix_HTE, whole.layers[1].mix_HTE)
    assert np.abs(trace.layers[1].out_TD - whole.layers[1].out_TD).max() > 1e-3
