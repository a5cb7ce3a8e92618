"""Layouts of real models, put together by hand, and how tests ask about them."""

from dataclasses import fields, replace
from typing import Any

from glasscli.budget.plan import Budget, plan
from glasscli.budget.request import Request
from glasscli.config.families import Layout
from glasscli.specs.attention_specs import FullAttention, LatentAttention, SlidingAttention
from glasscli.specs.state_specs import DeltaNet

LLAMA_8B = Layout("llama", (FullAttention(8, 128, 128),) * 32, n_heads=32)
GPT_OSS = Layout("gpt_oss", (SlidingAttention(8, 64, 64, 128), FullAttention(8, 64, 64)) * 12, n_heads=64)
QWEN_27B = Layout(
    "qwen3_5_text",
    (*(DeltaNet(16, 48, 128, 128, 4),) * 3, FullAttention(4, 256, 256)) * 16,
    n_heads=24,
    state_dtype_hint="f32",
)
MLA = LatentAttention(512, 64, n_heads=128, nope_dim=128, v_dim=128)
DEEPSEEK_V3 = Layout("deepseek_v3", (MLA,) * 61, n_heads=128)
DEEPSEEK_V32 = Layout("deepseek_v32", (replace(MLA, index_dim=128),) * 61, n_heads=128)


def request(layout: Layout, tokens: int, batch: int = 1, **asked: Any) -> Request:
    """The request for a layout; what no request has itself is an option of the engine."""
    own = {field.name for field in fields(Request)}
    options = {name: asked.pop(name) for name in asked.keys() - own}
    return Request(layout, tokens, batch, options=options, **asked)


def sized(layout: Layout, tokens: int, **asked: Any) -> Budget:
    """The plan of a layout."""
    return plan(request(layout, tokens, **asked))


def line(budget: Budget, kind: str) -> int:
    """Bytes of all layers of one kind."""
    return sum(line.bytes for line in budget.lines if line.kind == kind)
