"""A layer with another cache beside the full one. In layer 0, where queries are the same, much is known beforehand."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.random_llama import settings, tensors, token_ids

from glasscli import Llama, ModelConfig, load_model
from glasscli.arrays import Array, Mask
from glasscli.cache.choice_text import parse_choice
from glasscli.cache.formats.registry import FORMATS
from glasscli.checkpoint.load import LoadedModel
from glasscli.inspect.cache_change import beside, changes, held_bytes, layer_change, relative
from glasscli.inspect.dump import Dump, dump_attention, dump_decode, take_rows
from glasscli.quality.merged import with_merged_heads

SETTINGS = settings(hidden_size=64, head_dim=32)
IDS = token_ids(SETTINGS, 100)
KEEPS = ["window=12", "sinks=3+window=9", "sinks=3+window=9,renumber", "h2o=12", "tova=12"]
PACKS = ["q8_0", "k=q4_0,v=f16", "kivi2", "kivi4,residual=64"]


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    shipped = load_model()
    config = ModelConfig.from_dict(SETTINGS)
    return replace(shipped, config=config, model=Llama(config, tensors(SETTINGS)))


def both(loaded: LoadedModel, spec: str, layers: tuple[int, ...] = (0,), **how: tuple[int, int]) -> Dump:
    choice = parse_choice(spec)
    return beside(dump_attention(loaded, IDS, layers, choice=choice, **how), dump_attention(loaded, IDS, layers, **how),
                  choice)  # fmt: skip


def test_the_full_cache_changes_nothing(loaded: LoadedModel) -> None:
    for change in changes(both(loaded, "f32", (0, 2))):
        assert (change.entered, change.out) == (0, 0)
        for head in change.heads:
            assert (head.moved, head.moved_most, head.dropped, head.score_rms, head.mix) == (0, 0, 0, 0, 0)
            assert head.kv_head == head.head // 2


def test_measures_of_weights_written_by_hand(loaded: LoadedModel) -> None:
    full = dump_attention(loaded, IDS[:3], [0]).layers[0]
    rows = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25]], np.float32)
    others = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0.25, 0.75]], np.float32)
    full = replace(full, pattern_HTS=np.stack([rows] * 4))
    cached = replace(
        full,
        pattern_HTS=np.stack([others] * 4),
        mask_TS=np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1]], np.bool),
        scores_HTS=full.scores_HTS + 2,
        mix_HTE=1.5 * full.mix_HTE,
    )
    (head, *_) = layer_change(cached, full).heads
    assert (head.moved, head.moved_most, head.query) == (0.25, 0.5, 2)  # row 0 is left out
    assert head.dropped == 0.25
    assert head.score_rms == pytest.approx(2, abs=1e-6)
    assert head.mix == pytest.approx(0.5)
    assert relative(np.zeros(2, np.float32), np.zeros(2, np.float32)) == 0


def kept(spec: str, pattern_HTS: Array) -> Mask:
    """Which keys each key/value head still has, [K, T, S], from the full pattern of layer 0: the papers' rules."""
    choice, n = parse_choice(spec), pattern_HTS.shape[1]
    seen = np.zeros((2, n, n), np.bool)
    held: list[list[int]] = [[], []]
    weight = np.zeros((2, n))
    for t in range(n):
        for head in (0, 1):
            if choice.keeps == "window":
                held[head] = [p for p in range(t) if p < choice.sinks or t - p < choice.tokens]
            elif len(held[head]) == choice.tokens:
                old = [p for p in held[head] if choice.keeps == "tova" or p <= t - choice.tokens // 2]
                held[head].remove(min(old, key=lambda p: weight[head, p]))
            held[head].append(t)
            seen[head, t, held[head]] = True
        shares = pattern_HTS[:, t] * seen[:, t].repeat(2, axis=0)
        shares = (shares / shares.sum(axis=1, keepdims=True)).reshape(2, 2, n)
        weight = weight + shares.sum(axis=1) if choice.keeps == "h2o" else np.tile(shares.mean(axis=(0, 1)), (2, 1))
    return seen


@pytest.mark.parametrize("spec", KEEPS)
def test_without_some_keys_the_others_share_their_weight(loaded: LoadedModel, spec: str) -> None:
    dump = both(loaded, spec)
    cached, full = dump.layers[0], dump.full[0]
    seen = kept(spec, full.pattern_HTS.astype(np.float64)).repeat(2, axis=0)
    np.testing.assert_array_equal(cached.seen, seen)
    np.testing.assert_array_equal(cached.mask_TS, seen.any(axis=0))
    assert not cached.pattern_HTS[~seen].any()
    assert np.isneginf(cached.scores_HTS[~seen]).all()
    (change,) = changes(dump)
    lost = (full.pattern_HTS * ~seen)[:, 1:].sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose([head.dropped for head in change.heads], lost, rtol=1e-5)
    assert change.entered == 0
    if "renumber" in spec:  # sinks come nearer: other scores
        assert min(head.score_rms for head in change.heads) > 0.01
        return
    np.testing.assert_allclose(cached.scores_HTS[seen], full.scores_HTS[seen], rtol=0, atol=2e-5)
    shared = full.pattern_HTS * seen
    np.testing.assert_allclose(cached.pattern_HTS, shared / shared.sum(axis=-1, keepdims=True), rtol=0, atol=1e-5)
    # What is lost goes to the others: then the weights moved are the weights lost.
    np.testing.assert_allclose([head.moved for head in change.heads], lost, rtol=1e-4)


def test_kivi_shows_each_query_the_exact_keys_it_had(loaded: LoadedModel) -> None:
    """Key p is packed for query t if p < 32 · ⌊(t + 1 − 32) / 32⌋, over 32 tokens of its channel."""
    cached = both(loaded, "kivi2").layers[0]
    exact = cached.rope_k_KTE
    packed = FORMATS["kivi2"].unpack(FORMATS["kivi2"].pack(np.ascontiguousarray(exact[:, :96].swapaxes(1, 2))))
    for t in (10, 62, 63, 64, 95, 99):
        n_packed = max(0, t + 1 - 32) // 32 * 32
        keys = np.concatenate([packed.swapaxes(1, 2)[:, :n_packed], exact[:, n_packed : t + 1]], axis=1)
        scores = np.einsum("he,hse->hs", cached.rope_q_HTE[:, t], keys.repeat(2, axis=0)) / np.sqrt(32)
        np.testing.assert_allclose(cached.scores_HTS[:, t, : t + 1], scores, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(cached.cache_k_KSE[:, 64:], exact[:, 64:])
    np.testing.assert_allclose(cached.cache_k_KSE[:, :64], packed.swapaxes(1, 2)[:, :64], rtol=0, atol=1e-6)


@pytest.mark.parametrize("spec", [*KEEPS, *PACKS])
def test_a_part_of_the_rows_and_single_steps_show_the_same(loaded: LoadedModel, spec: str) -> None:
    choice = parse_choice(spec)
    whole = dump_attention(loaded, IDS, [1], choice=choice)
    some = dump_attention(loaded, IDS, [1], rows=(60, 90), choice=choice)
    steps = dump_decode(loaded, IDS[:50], [1], IDS[50:], choice=choice)
    exact = spec in KEEPS
    for part, first, stop in ((some, 60, 90), (steps, 49, 99), (take_rows(steps, 70, 80), 70, 80)):
        trace, expected = part.layers[0], take_rows(whole, first, stop).layers[0]
        np.testing.assert_array_equal(trace.seen, expected.seen)
        if exact:
            np.testing.assert_allclose(trace.pattern_HTS, expected.pattern_HTS, rtol=0, atol=1e-4)
        else:  # a last bit may round a number to the level beside it
            assert np.abs(trace.pattern_HTS - expected.pattern_HTS).mean() < 1e-3
        assert trace.cache_k_KSE.shape == (2, stop, 32)


def test_fewer_bits_move_more_and_only_what_drops_keys_drops_weight(loaded: LoadedModel) -> None:
    moved = []
    for spec in ("f16", "q8_0", "q5_1", "q4_0"):
        (change,) = changes(both(loaded, spec, (2,)))
        assert all(head.dropped == 0 for head in change.heads)
        assert change.entered > 0
        moved.append(np.mean([head.moved for head in change.heads]))
    assert moved == sorted(moved)
    assert 0 < moved[0] < 1e-3 < moved[-1]


def test_merged_heads_beside_the_ones_they_were(loaded: LoadedModel) -> None:
    shipped, choice = load_model(), parse_choice("kv-heads=1")
    merged = with_merged_heads(shipped, choice)
    assert merged.notes[-1] == "2 key/value heads of each layer were merged into 1, and not retrained"
    assert with_merged_heads(shipped, parse_choice("q8_0")) is shipped
    dump = beside(dump_attention(merged, "The cat", [0]), dump_attention(shipped, "The cat", [0]), choice)
    (change,) = changes(dump)
    assert {head.kv_head for head in change.heads} == {0}
    assert change.out > 0.1
    assert held_bytes(dump.config, choice, 10) * 2 == held_bytes(shipped.config, parse_choice("f32"), 10) == 20480
