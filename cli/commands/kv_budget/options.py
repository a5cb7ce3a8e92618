"""The options of `glass kv-budget`, one type each, in the order the help shows them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from glasscli.budget.engines import ENGINES, servers
from glasscli.cli.console import Color


class Axis(StrEnum):
    """How a sweep spaces its contexts."""

    log = "log"
    linear = "linear"


def text(names: str, metavar: str, help: str) -> "typer.models.OptionInfo":
    """An option that takes text; we parse it ourselves, for clearer messages than a type can give."""
    return typer.Option(*names.split(), metavar=metavar, help=help)


def engine(name: str, names: Callable[[], Iterable[str]], help: str) -> "typer.models.OptionInfo":
    """An option that takes the name of an engine, one of `names`."""

    def named(text: str) -> str:
        if text not in names():
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, names()))}.")
        return text

    return typer.Option(name, parser=named, metavar=f"<{'|'.join(names())}>", help=help)


Hq = Annotated[str | None, text("--hq", "N", "Query heads. Together with --hkv: compare MHA, GQA and MQA.")]
Hkv = Annotated[str | None, text("--hkv", "N", "Key/value heads [default: as many as --hq].")]
HeadDim = Annotated[str | None, text("--head-dim", "N", "Width of one head [default: 128].")]
Layers = Annotated[str | None, text("--layers", "N", "Layers, all alike [default: 32].")]
Config = Annotated[str | None, text("--config", "PATH", "A config.json, a folder with one, or - for stdin.")]
Model = Annotated[str | None, text("-m --model", "NAME", "A well-known model, like llama-3.1-8b.")]
Compare = Annotated[str | None, text("--compare", "A,B,…", "Models or config.json paths, side by side.")]
List = Annotated[bool, typer.Option("--list", help="List the models that have a name, with their sources.")]

Tokens = Annotated[
    list[str] | None,
    text(
        "--tokens --ctx",
        "N,…",
        "Tokens held per sequence; 8k = 8192 [default: 1k,8k,32k,128k, or what the model was made for].",
    ),
]
Batch = Annotated[str | None, text("--batch", "N", "Sequences held at once [default: 1].")]
Dtype = Annotated[
    str | None,
    text("--dtype", "TYPE", "Of K and V: f16, bf16, fp8, q8_0, q4_0 … [default: the model's, f16 with --hq]."),
]
KDtype = Annotated[str | None, text("--k-dtype", "TYPE", "Of K alone.")]
VDtype = Annotated[str | None, text("--v-dtype", "TYPE", "Of V alone.")]
Encoder = Annotated[str | None, text("--encoder-tokens", "N", "Encoder length, for encoder-decoder models.")]
Prefix = Annotated[str | None, text("--prefix-shared", "N", "Tokens all sequences share, counted once.")]

EngineOption = Annotated[
    str | None, engine("--engine", lambda: ENGINES, "Whose memory to count [default: logical, what is needed].")
]
Setting = Annotated[
    list[str] | None,
    text("-s --setting", "NAME=VALUE", "A setting of the engine, by its own name; may be repeated."),
]
Page = Annotated[str | None, text("--page", "N", "Round every sequence up to pages of N tokens.")]
Tp = Annotated[str, text("--tp", "N", "Tensor-parallel ranks.")]
Pp = Annotated[str, text("--pp", "N", "Pipeline stages.")]
Dp = Annotated[str, text("--dp", "N", "Data-parallel replicas, which split the batch.")]

BudgetOption = Annotated[str | None, text("--budget", "SIZE", "What fits into 24GiB (or 80GB) per rank?")]
RequireFit = Annotated[bool, typer.Option("--require-fit", help="Exit 1 if it does not fit into --budget.")]
Bandwidth = Annotated[
    str | None, text("--bandwidth", "RATE", "Memory bandwidth per rank, for the time of a step [default: 3.35TB/s].")
]
EmitOption = Annotated[str | None, engine("--emit", servers, "The plan as that engine's command line.")]
Sweep = Annotated[bool, typer.Option("--sweep", help="Plot the bytes over the context.")]
AxisOption = Annotated[Axis, typer.Option("--axis", help="The scales of --sweep.")]
Csv = Annotated[bool, typer.Option("--csv", help="One CSV table and nothing else.")]


@dataclass(frozen=True)
class Asked:
    """Everything the command line said, as it was typed."""

    hq: str | None
    hkv: str | None
    head_dim: str | None
    layers: str | None
    config: str | None
    model: str | None
    compare: str | None
    list_models: bool
    tokens: list[str] | None
    batch: str | None
    dtype: str | None
    k_dtype: str | None
    v_dtype: str | None
    encoder_tokens: str | None
    prefix_shared: str | None
    engine: str | None
    setting: list[str] | None
    page: str | None
    tp: str
    pp: str
    dp: str
    budget: str | None
    require_fit: bool
    bandwidth: str | None
    emit: str | None
    sweep: bool
    axis: Axis
    as_json: bool
    as_csv: bool
    quiet: bool
    color: Color
