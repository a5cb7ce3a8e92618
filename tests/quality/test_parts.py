"""Where the damage is: parts tried alone, beside what is put together by hand."""

import numpy as np
import pytest
from helpers.dump_cases import tiny_folder

from glasscli import UsageError, load_model
from glasscli.arrays import Array, Mask
from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import parse_choice
from glasscli.checkpoint.load import LoadedModel
from glasscli.inspect.trace import Trace
from glasscli.quality.by import By
from glasscli.quality.divergence import kl_divergence
from glasscli.quality.merged import merged_model, partly_merged_model
from glasscli.quality.parts import n_parts, parts_of
from glasscli.quality.texts import documents_of, held_out_text
from glasscli.quality.trial import Result, Trial


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="module")
def trial(loaded: LoadedModel) -> Trial:
    return Trial(loaded, documents_of(loaded, held_out_text()), 128, 2)


def parts(trial: Trial, spec: str, by: By) -> dict[str, float]:
    result = trial.run(parse_choice(spec))
    found = list(parts_of(trial, result, by))
    assert len(found) == (n_parts(trial, result.choice, by) or 4)
    return {part.name: part.kld for part in found}


def whole(trial: Trial, spec: str) -> float:
    return trial.run(parse_choice(spec)).divergence.kld


def test_by_kv_is_each_alone(trial: Trial) -> None:
    found = parts(trial, "k=q4_0,v=q5_0,sinks=2+window=30", By.kv)
    assert list(found) == ["K", "V", "tokens"]
    assert found["K"] == whole(trial, "k=q4_0")
    assert found["V"] == whole(trial, "v=q5_0")
    assert found["tokens"] == whole(trial, "sinks=2+window=30")


def test_by_kv_of_merged_heads(trial: Trial) -> None:
    found = parts(trial, "f16,kv-heads=1", By.kv)
    assert list(found) == ["K", "V", "K merged", "V merged"]
    both = whole(trial, "kv-heads=1")
    assert 0 < found["K"] < 1e-4 < found["K merged"] < both
    assert found["V merged"] < both


def test_a_format_that_only_one_side_has_keeps_its_own_settings(trial: Trial) -> None:
    found = parts(trial, "k=kivi4,v=q4_0,residual=64", By.kv)
    assert found["K"] == whole(trial, "k=kivi4,residual=64")
    assert found["V"] == whole(trial, "v=q4_0")


def test_by_layer_of_a_model_of_one_layer_is_the_whole() -> None:
    loaded = load_model(tiny_folder("gqa"))
    ids = [i % 200 for i in range(7, 7 + 200)]
    trial = Trial(loaded, [ids], 32)
    n = loaded.config.n_layers
    found = parts(trial, "f16,window=8", By.layer)
    assert list(found) == [f"layer {i}" for i in range(n)]
    assert all(kld > 0 for kld in found.values())


def test_one_layer_with_a_window_is_one_layer_with_that_mask(trial: Trial, loaded: LoadedModel) -> None:
    """The other way: the full cache, and a band cut out of one layer's scores."""
    width, layer = 24, 3

    def cut(at_layer: int | None, name: str, x: Array) -> Array:
        if at_layer == layer and name == "scores":
            n_new, n_seen = x.shape[-2:]
            back = np.arange(n_seen - n_new, n_seen)[:, None] - np.arange(n_seen)
            return np.where(back < width, x, np.float32(-np.inf))
        return x

    klds = []
    for ids in trial.chunks:
        full, banded = loaded.model(ids), loaded.model(ids, trace=Trace([], edit=cut))
        klds.append(kl_divergence(full[63:-1], banded[63:-1]))
    expected = float(np.concatenate(klds).mean())
    found = trial.run_layer(parse_choice(f"window={width}"), layer).kld
    assert found == pytest.approx(expected, rel=1e-4)
    assert found > 0.001


@pytest.mark.parametrize("head", [0, 1])
def test_one_head_with_a_window_is_that_head_with_that_mask(trial: Trial, loaded: LoadedModel, head: int) -> None:
    width, layer, group = 24, 3, loaded.config.group_size

    def cut(at_layer: int | None, name: str, x: Array) -> Array:
        if at_layer == layer and name == "scores":
            n_new, n_seen = x.shape[-2:]
            hidden: Mask = np.arange(n_seen - n_new, n_seen)[:, None] - np.arange(n_seen) >= width
            x = x.copy()
            readers = x[..., head * group : (head + 1) * group, :, :]
            np.copyto(readers, np.float32(-np.inf), where=hidden)
        return x

    klds = []
    for ids in trial.chunks:
        full, banded = loaded.model(ids), loaded.model(ids, trace=Trace([], edit=cut))
        klds.append(kl_divergence(full[63:-1], banded[63:-1]))
    expected = float(np.concatenate(klds).mean())
    found = trial.run_head(parse_choice(f"window={width}"), layer, head).kld
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_eviction_by_head_spares_the_other_head(trial: Trial) -> None:
    """H2O decides for each head alone. With room for all it drops nothing; heads differ in what they lose."""
    assert trial.run_head(parse_choice("h2o=128"), 3, 0).kld == pytest.approx(0, abs=1e-8)
    found = [trial.run_head(parse_choice("h2o=16"), 3, head).kld for head in (0, 1)]
    assert min(found) > 0
    assert found[0] != pytest.approx(found[1], rel=0.01)
    assert trial.run_head(parse_choice("tova=16"), 3, 1).kld > 0


def test_by_depth_is_the_mean_in_stretches(trial: Trial) -> None:
    result = trial.run(parse_choice("window=24"))
    found = list(parts_of(trial, result, By.depth))
    assert [part.name for part in found] == ["64–79", "80–95", "96–111", "112–127"]
    assert np.mean([part.kld for part in found]) == pytest.approx(result.divergence.kld)
    assert found[0].kld == pytest.approx(np.mean([klds[:16] for klds in result.divergence.klds]))


def test_packing_is_no_matter_of_heads(trial: Trial) -> None:
    result = Result(parse_choice("q8_0"), 0, 0, 0, trial.run(CacheChoice()).divergence, None)
    with pytest.raises(UsageError, match="q8_0 drops no tokens"):
        list(parts_of(trial, result, By.head))


def test_a_mean_in_place_of_each_head_is_the_merged_model(loaded: LoadedModel) -> None:
    ids = [0, 5, 7, 9, 11, 200, 201]
    merged, repeated = merged_model(loaded, 1), partly_merged_model(loaded, 1)
    np.testing.assert_allclose(merged(ids), repeated(ids), rtol=0, atol=1e-4)
    none = partly_merged_model(loaded, 1, layers=())
    np.testing.assert_array_equal(none(ids), loaded.model(ids))
    assert loaded.model.config.n_kv_heads == 2
    assert merged.new_cache(4).nbytes * 2 == loaded.model.new_cache(4).nbytes
