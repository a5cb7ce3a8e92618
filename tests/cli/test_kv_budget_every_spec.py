"""Every class of spec through every engine and every view: sized and shown as what it is, or refused by name."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from helpers.every_spec import EVERY
from helpers.in_process import glass

from glasscli.budget.answers import Answer, answer
from glasscli.budget.engines import ENGINES
from glasscli.budget.questions import Settings
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import Subject
from glasscli.cli.commands.kv_budget import data
from glasscli.cli.commands.kv_budget.compare_screen import compare_screen
from glasscli.cli.commands.kv_budget.model_screen import model_screen
from glasscli.cli.commands.kv_budget.remarks import Said
from glasscli.cli.page.page import Line, Page
from glasscli.config.families import Layout
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec

TOKENS = 60
BYTES = {"f16": 2, "f32": 4, "i64": 8}
ALL = pytest.mark.parametrize("spec", EVERY, ids=repr)
ENGINE = pytest.mark.parametrize("engine", ENGINES)


def subject(spec: CacheSpec) -> Subject:
    """Four layers of `spec` as a model."""
    held = Layout("", (spec,) * 4, dtype="f16", n_heads=8)
    return Subject("made-up", held, held)


def asked(spec: CacheSpec, **settings: Any) -> Answer | None:
    """The answer about four layers of `spec`; None where the engine refuses them by name."""
    plan = Settings(tokens=(TOKENS,), encoder_tokens=16, **settings)
    try:
        return answer(subject(spec), plan, available=None if getattr(spec, "known", None) else 2**30)
    except ConfigError as error:
        refusal = error
    assert plan.engine != "logical", refusal
    assert any(f"has {part.name} layers" in str(refusal) for part in spec.parts), refusal
    assert refusal.field == "engine"
    return None


def text_of(lines: list[Line]) -> str:
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


@ALL
def test_the_mathematics_is_the_elements_times_their_bytes(spec: CacheSpec) -> None:
    found = asked(spec)
    assert found is not None
    sizes = [tensor.rows * tensor.width * BYTES[tensor.dtype or "f16"] for tensor in spec.tensors(TOKENS, 16)]
    assert found.main.bytes_total == found.main.logical_bytes == 4 * sum(sizes)


@ENGINE
@ALL
def test_a_plan_has_a_line_for_each_part(spec: CacheSpec, engine: str) -> None:
    found = asked(spec, engine=engine)
    if found is None:
        return
    budget = found.main
    assert [(line.kind, line.window) for line in budget.lines] == [(part.name, part.window) for part in spec.parts]
    for line in budget.lines:
        assert (line.bytes > 0) != line.part.keeps_nothing
        assert sum(size for _, size in line.held) == line.bytes
    assert found.fit is None or found.fit.fits


@ENGINE
@ALL
def test_the_peak_is_the_most_on_the_way(spec: CacheSpec, engine: str) -> None:
    """What `--budget` goes by: a spec whose bytes shrink again must say so by its stride."""
    found = asked(spec, engine=engine)
    if found is None:
        return
    sizer = Sizer(found.settings.request(found.subject))
    most = 0
    for tokens in range(TOKENS + 1):
        most = max(most, sizer.rank(tokens, 3))
        assert sizer.peak(tokens, 3) == most


@ENGINE
@ALL
def test_every_view_names_it(spec: CacheSpec, engine: str) -> None:
    found = asked(spec, engine=engine)
    if found is None:
        return
    screen = text_of(model_screen(Page(), found, 10**12, Said()))
    row = text_of(compare_screen(Page(), [found], Said()))
    title = screen.splitlines()[0]
    assert ("no cache ·" in title) == spec.keeps_nothing
    assert ("no cache" in row) == spec.keeps_nothing
    for part in spec.parts:
        assert part.label in screen
        assert part.shape in screen
        for word in part.traits(8, None):
            assert f" {word} " in title
    document: Mapping[str, Any] = json.loads(json.dumps(data.document(found, 10**12)))
    assert [layer["kind"] for layer in document["layers"]] == [part.name for part in spec.parts]
    assert document["decode"]["flops"] == (4 * (spec.flops(8, TOKENS, 16) or 0) or None)
    kinds, (total,) = data.kinds(found, found.main), data.totals(found, found.main)
    assert [row["part"] for row in kinds] == [part.name for part in spec.parts]
    assert sum(row["bytes"] for row in kinds) == total["bytes"]


@ALL
def test_a_shared_prefix_saves_and_never_costs(spec: CacheSpec) -> None:
    sizes = []
    for prefix in (0, 20, 40, TOKENS):
        found = asked(spec, batch=3, prefix_shared=prefix)
        assert found is not None
        sizes.append(found.main.bytes_total)
    alone = asked(spec)
    assert alone is not None
    assert sizes == sorted(sizes, reverse=True)
    assert alone.main.bytes_total <= sizes[-1]


@pytest.mark.parametrize(
    ("config", "word", "kib"),
    [
        (  # 4 layers × 60 tokens × 32 × 4 B
            {"model_type": "xlnet", "n_layer": 4, "n_head": 2, "d_model": 32, "mem_len": None, "dtype": "float32"},
            "hidden states",
            "30.0 KiB",
        ),
        (
            {
                "model_type": "reformer",
                "attn_layers": ["local"] * 4,
                "num_hidden_layers": 4,
                "hidden_size": 32,
                "num_attention_heads": 2,
                "attention_head_size": 16,
                "is_decoder": True,
                "dtype": "float32",
            },
            "hidden states",
            "30.0 KiB",
        ),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else None,
)
def test_models_that_keep_their_inputs_are_not_without_a_cache(config: dict[str, Any], word: str, kib: str) -> None:
    ran = glass("kv-budget", "--config", "-", "--ctx", "60", stdin=json.dumps(config).encode())
    assert ran.code == 0, ran.err
    assert f" {word} · 4 layers" in ran.out
    assert "no cache" not in ran.out
    assert kib in ran.out
