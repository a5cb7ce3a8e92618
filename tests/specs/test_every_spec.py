"""What every spec has to answer, whichever it is: a class that forgets one can't be made, and answers agree."""

from dataclasses import dataclass

import pytest
from helpers.every_spec import EVERY, classes

from glasscli.budget.engines.engine import Dtypes
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, FullAttention, Several
from glasscli.specs.cache_spec import ROLES
from glasscli.specs.sharding import UnevenError

ANSWERS = {"name", "window", "is_full", "shape", "tensors", "traits", "shard", "flops", "shared_rows"}


def test_a_class_that_forgets_an_answer_cannot_be_made() -> None:
    assert CacheSpec.__abstractmethods__ == ANSWERS
    for answer in ANSWERS:
        whole = dict.fromkeys(ANSWERS - {answer})
        with pytest.raises(TypeError, match=answer):
            type("Forgetful", (CacheSpec,), whole)()
    type("Whole", (CacheSpec,), dict.fromkeys(ANSWERS))()


def test_no_two_classes_share_a_name() -> None:
    """One that inherits another's would be shown as that one."""
    names = [cls.name for cls in classes()]
    assert len(names) > 15
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("spec", EVERY, ids=repr)
def test_tensors_have_a_role_that_a_plan_knows(spec: CacheSpec) -> None:
    dtypes = Dtypes("f32", "f16", "f16", "f16")
    for tensor in spec.tensors(40, 16):
        assert tensor.role in ROLES
        assert tensor.width % tensor.heads == 0
        assert dtypes.of(tensor)


@pytest.mark.parametrize("role", ["", "kv", "keys"])
def test_a_role_that_no_plan_knows_has_no_dtype(role: str) -> None:
    (tensor, _) = FullAttention(1, 8, 8).tensors(1)
    with pytest.raises(AssertionError, match="role"):
        Dtypes("f32", "f16", "f16", "f16").of(tensor._replace(role=role))


@pytest.mark.parametrize("spec", EVERY, ids=repr)
def test_words_are_there_and_one_line(spec: CacheSpec) -> None:
    for text in (spec.name, spec.label, spec.shape, *spec.traits(8, 4096)):
        assert text.strip() == text != ""
        assert text.isprintable()
    for part in spec.parts:
        if not isinstance(spec, Several):
            assert part is spec


@pytest.mark.parametrize("spec", EVERY, ids=repr)
def test_the_window_is_where_it_stops_growing(spec: CacheSpec) -> None:
    """Tokens that are held one by one are held up to the window, if there is one."""
    for part in spec.parts:
        rows = [part.tensors(tokens, 16)[0].rows if part.tensors(tokens, 16) else 0 for tokens in range(60)]
        stops = next((n for n, held in enumerate(rows) if held == rows[-1]), 0)
        assert part.window in ((None, stops) if stops in (0, 59) else (stops,))


@pytest.mark.parametrize("spec", EVERY, ids=repr)
def test_it_grows_by_the_same_in_every_stride(spec: CacheSpec) -> None:
    """Beyond the window: what one more token costs is the growth over a stride, divided."""

    def elements(tokens: int) -> int:
        return sum(tensor.rows * tensor.width for tensor in spec.tensors(tokens, 16))

    steps = {elements(tokens + spec.stride) - elements(tokens) for tokens in range(24, 60 - spec.stride)}
    assert len(steps) == 1


@pytest.mark.parametrize("spec", EVERY, ids=repr)
def test_what_a_prefix_shares_is_part_of_what_is_held(spec: CacheSpec) -> None:
    for tokens in (0, 1, 11, 12, 13, 40):
        shared = []
        for prefix in range(tokens + 1):
            held = spec.tensors(tokens, 16)
            shared.append([spec.shared_rows(i, tensor.rows, tokens, prefix) for i, tensor in enumerate(held)])
            assert all(0 <= rows <= tensor.rows for rows, tensor in zip(shared[-1], held, strict=True))
        assert not any(shared[0])
        assert all(a <= b for i in range(tokens) for a, b in zip(shared[i], shared[i + 1], strict=True))


@pytest.mark.parametrize("spec", EVERY, ids=repr)
@pytest.mark.parametrize("tp", [1, 2, 4])
def test_the_ranks_together_hold_all_of_it(spec: CacheSpec, tp: int) -> None:
    refusal, share = None, spec
    try:
        share = spec.shard(tp)
    except UnevenError:
        tp = 1
    except ConfigError as error:
        refusal, tp = error, 1
    assert refusal is None or (refusal.field == "tp" and spec.name in str(refusal))
    assert spec.shard(1) == spec
    assert type(share) is type(spec)
    whole, part = (sum(t.rows * t.width for t in one.tensors(40, 16)) for one in (spec, share))
    assert part <= whole <= tp * part
    assert spec.copies(1) is None
    if whole and part == whole and tp > 1 and not isinstance(spec, Several):
        assert spec.copies(tp)


@pytest.mark.parametrize("spec", EVERY, ids=repr)
def test_what_keeps_nothing_says_so(spec: CacheSpec) -> None:
    assert spec.keeps_nothing == (not any(tensor.rows for tensor in spec.tensors(40, 16)))
    assert not (spec.keeps_nothing and (spec.is_full or spec.window or spec.flops(8, 40, 16)))


@pytest.mark.parametrize("spec", EVERY, ids=repr)
def test_operations_grow_with_the_heads_and_the_rows(spec: CacheSpec) -> None:
    counted = spec.flops(8, 40, 16)
    if counted:
        assert spec.flops(16, 40, 16) == 2 * counted
        assert (spec.flops(8, 0, 0) or 0) <= counted


def test_several_answer_for_all_their_parts() -> None:
    @dataclass(frozen=True)
    class Unknown(FullAttention):
        name = "unknown"

        def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> None:  # type: ignore[override]
            return None

    full, unknown = FullAttention(2, 8, 8), Unknown(2, 8, 8)
    assert Several((full, full)).flops(4, 10, 0) == 2 * (full.flops(4, 10, 0) or 0)
    assert Several((full, unknown)).flops(4, 10, 0) is None
    assert Several((full, full)).shared_rows(3, 10, 10, 4) == full.shared_rows(1, 10, 10, 4) == 4
