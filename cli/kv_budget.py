"""`glass kv-budget`: how big is the KV cache? Parse, ask the library, show."""

from glasscli.budget.answers import Answer, answer
from glasscli.budget.questions import Settings
from glasscli.budget.sizes import format_bytes
from glasscli.budget.subjects import Heads
from glasscli.cli import console
from glasscli.cli import kv_options as o
from glasscli.cli import kv_parse as parse
from glasscli.cli.console import Color, note
from glasscli.cli.options import ColorOption, Json, Quiet
from glasscli.cli.views import kv_data, kv_table
from glasscli.cli.views.kv_screen import Screen
from glasscli.errors import GlassError


def command(
    hq: o.Hq = None,
    hkv: o.Hkv = None,
    head_dim: o.HeadDim = None,
    layers: o.Layers = None,
    config: o.Config = None,
    model: o.Model = None,
    compare: o.Compare = None,
    list_models: o.List = False,
    tokens: o.Tokens = None,
    batch: o.Batch = "1",
    dtype: o.Dtype = None,
    k_dtype: o.KDtype = None,
    v_dtype: o.VDtype = None,
    encoder_tokens: o.Encoder = None,
    prefix_shared: o.Prefix = None,
    engine: o.EngineOption = o.Engine.logical,
    setting: o.Setting = None,
    page: o.Page = None,
    tp: o.Tp = "1",
    pp: o.Pp = "1",
    dp: o.Dp = "1",
    budget: o.BudgetOption = None,
    require_fit: o.RequireFit = False,
    bandwidth: o.Bandwidth = None,
    emit: o.EmitOption = None,
    sweep: o.Sweep = False,
    axis: o.AxisOption = o.Axis.log,
    as_json: Json = False,
    as_csv: o.Csv = False,
    quiet: Quiet = False,
    color: ColorOption = Color.auto,
) -> int:
    """How many bytes does a KV cache take, and how much fits?

    Three ways in: head counts, a config.json, or the name of a well-known model.

    \b
      glass kv-budget --hq 32 --hkv 8 --ctx 8k,128k
      glass kv-budget --config path/to/config.json --budget 24GiB
      glass kv-budget --model deepseek-v3 --engine vllm --tp 8 --batch 64
      glass kv-budget --compare llama-2-70b,llama-3.1-70b,deepseek-v3 --sweep

    Numbers take k = 1024 and m = 1024²; sizes are printed in KiB, MiB and GiB, and as exact integers in
    --json and --csv. Where several contexts are given, single answers are about the longest.
    """
    asked = o.Asked(**locals())
    try:
        return run(asked)
    except GlassError as error:
        if not asked.as_json or error.exit_code != 1:
            raise
        kv_data.show_refusal(error)
        return 1


def run(asked: o.Asked) -> int:
    """Answer what was asked; the exit code."""
    parse.check(asked)
    settings = parse.settings(asked)
    if asked.hq is not None:
        return run_heads(asked, settings, parse.heads(asked))
    return 0


def run_heads(asked: o.Asked, settings: Settings, heads: Heads) -> int:
    """MHA, GQA and MQA from head counts."""
    available, bandwidth = parse.size("--budget", asked.budget), parse.bandwidth(asked)
    variants = heads.variants()
    answers = tuple(answer(variant.subject(), settings, available) for variant in variants)
    chosen = answers[variants.index(heads)]
    if asked.as_json:
        console.write_json(kv_data.heads_document(heads, variants, answers, bandwidth))
    elif asked.as_csv:
        kv_data.show_csv(answers)
    else:
        screen = Screen(asked.color)
        kv_table.show(kv_table.HeadsPage(heads, variants, answers, bandwidth, parse.assumed(asked)), screen)
        screen.show()
    return verdict(asked, chosen)


def verdict(asked: o.Asked, chosen: Answer) -> int:
    """1 if `--require-fit` was asked for and the plan does not fit, with a word on stderr; else 0."""
    if not asked.require_fit or chosen.fit is None or chosen.fit.fits:
        return 0
    need, there = chosen.main.per_rank.bytes, chosen.fit.budget_bytes
    note(f"does not fit: {format_bytes(need)} needed on a rank, {format_bytes(there)} there")
    return 1
