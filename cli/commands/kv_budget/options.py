"""The options of `glass kv-budget`, as they were typed: `parse` says what they mean."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from glasscli.budget.engines import ENGINES, servers
from glasscli.cli.console import Color
from glasscli.cli.options import ColorOption, Csv, Group, Json, Quiet, Verbose, option


class Axis(StrEnum):
    """How a sweep spaces its contexts."""

    log = "log"
    linear = "linear"


def text(names: str, metavar: str, help: str, group: Group) -> OptionInfo:
    """An option that takes text; we parse it ourselves, for clearer messages than a type can give."""
    return option(names, help, group, metavar=metavar)


def engine_name(name: str, names: Callable[[], Iterable[str]], help: str, group: Group) -> OptionInfo:
    """An option that takes the name of an engine, one of `names`."""

    def named(text: str) -> str:
        if text not in names():
            from glasscli.cli.misused import not_one_of

            raise typer.BadParameter(not_one_of(text, names()))
        return text

    return option(name, f"{help} One of {', '.join(names())}.", group, metavar="ENGINE", parser=named)


MODEL = (
    "A folder, a config.json, a .gguf, or org/name in Hugging Face's cache; hf:org/name asks the hub; else a "
    "well-known model, like llama-3.1-8b [default: GLASS_MODEL]."
)
TOKENS = "Tokens held per sequence; 8k = 8192 [default: 1k,8k,32k,128k, or what the model was made for]."
DTYPE = "Of K and V: f16, bf16, fp8, q8_0, q4_0, kivi4 … [default: the model's, f16 with --hq]."
DCP = "Ranks of --tp that share a sequence's tokens (decode context parallel)."
PCP = "Ranks that share the work on a prompt, not the cache (prefill context parallel)."
GPU = "Do weights, cache and the rest fit? h100, 8xh100, rtx-4090, m3-max-128, 24GiB …"
USERS = "Sequences held at once, as --batch. Without --gpu: which devices serve them?"
UTILIZATION = "The engine's share of a device, like 0.9 [default: its own]."
OVERHEAD = "What else an engine takes of one [default: a range, from public logs]."
AVAILABLE = "What the engine's log says is left for the cache on one device."
BANDWIDTH = "Memory bandwidth per rank: show the time of a decode step [with -v: 3.35TB/s]."


@dataclass(frozen=True)
class Options:
    """How many bytes does a KV cache take, and how much fits?

    Three ways in: head counts, a config.json, or the name of a well-known model. Numbers take k = 1024 and
    m = 1024²; sizes are printed in KiB, MiB and GiB, and as exact integers of bytes in --json and --csv. Where
    several contexts are given, single answers are about the longest.
    """

    hq: Annotated[
        str | None, text("--hq", "N", "Query heads. Together with --hkv: compare MHA, GQA and MQA.", Group.model)
    ] = None
    hkv: Annotated[str | None, text("--hkv", "N", "Key/value heads [default: as many as --hq].", Group.model)] = None
    head_dim: Annotated[str | None, text("--head-dim", "N", "Width of one head [default: 128].", Group.model)] = None
    layers: Annotated[str | None, text("--layers", "N", "Layers, all alike [default: 32].", Group.model)] = None
    config: Annotated[
        str | None, text("--config", "MODEL", "As -m: a config.json, say, or - for stdin.", Group.model)
    ] = None
    model: Annotated[str | None, text("-m --model", "MODEL", MODEL, Group.model)] = None
    compare: Annotated[
        str | None, text("--compare", "A,B,…", "Models as -m takes them, side by side.", Group.model)
    ] = None
    list_models: Annotated[
        bool, option("--list", "List the models that have a name, with their sources.", Group.model)
    ] = False

    assume_plain: Annotated[
        bool, option("--assume-plain", "Take a model_type that is not known for plain attention.", Group.model)
    ] = False

    tokens: Annotated[list[str] | None, text("--tokens --ctx", "N,…", TOKENS, Group.size)] = None
    batch: Annotated[str | None, text("--batch", "N", "Sequences held at once [default: 1].", Group.size)] = None
    dtype: Annotated[str | None, text("--dtype", "TYPE", DTYPE, Group.size)] = None
    k_dtype: Annotated[str | None, text("--k-dtype", "TYPE", "Of K alone.", Group.size)] = None
    v_dtype: Annotated[str | None, text("--v-dtype", "TYPE", "Of V alone.", Group.size)] = None
    state_dtype: Annotated[
        str | None, text("--state-dtype", "TYPE", "Of recurrent states [default: the engine's].", Group.size)
    ] = None
    encoder_tokens: Annotated[
        str | None, text("--encoder-tokens", "N", "Encoder length, for encoder-decoder models.", Group.size)
    ] = None
    draft: Annotated[
        str | None,
        text("--draft", "MODEL", "A model that drafts tokens: a name, or a path like --config's.", Group.size),
    ] = None
    prefix_shared: Annotated[
        str | None, text("--prefix-shared", "N", "Tokens all sequences share, counted once.", Group.size)
    ] = None

    engine: Annotated[
        str | None,
        engine_name(
            "--engine", lambda: ENGINES, "Whose memory to count [default: logical, what is needed].", Group.engine
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        text("-s --setting", "NAME=VALUE", "A setting of the engine, by its own name; may be repeated.", Group.engine),
    ] = None
    page: Annotated[str | None, text("--page", "N", "Round every sequence up to pages of N tokens.", Group.engine)] = (
        None
    )
    tp: Annotated[str, text("--tp", "N", "Tensor-parallel ranks.", Group.engine)] = "1"
    pp: Annotated[str, text("--pp", "N", "Pipeline stages.", Group.engine)] = "1"
    dp: Annotated[str, text("--dp", "N", "Data-parallel replicas, which split the batch.", Group.engine)] = "1"
    dcp: Annotated[str, text("--dcp", "N", DCP, Group.engine)] = "1"
    pcp: Annotated[str, text("--pcp", "N", PCP, Group.engine)] = "1"
    ep: Annotated[bool, option("--ep", "Spread experts whole over the ranks.", Group.engine)] = False

    gpu: Annotated[str | None, text("--gpu", "NAME|SIZE", GPU, Group.device)] = None
    num: Annotated[
        str | None, text("--num", "N", "How many there are, all alike [default: as many as ranks].", Group.device)
    ] = None
    users: Annotated[str | None, text("--users", "N", USERS, Group.device)] = None
    utilization: Annotated[str | None, text("--utilization", "SHARE", UTILIZATION, Group.device)] = None
    overhead: Annotated[str | None, text("--overhead", "SIZE", OVERHEAD, Group.device)] = None
    available: Annotated[str | None, text("--available", "SIZE", AVAILABLE, Group.device)] = None

    budget: Annotated[
        str | None, text("--budget", "SIZE", "Bytes for the cache alone, per rank: what fits into 24GiB?", Group.size)
    ] = None
    require_fit: Annotated[
        bool, option("--require-fit", "Exit 1 if it does not fit (--budget, --gpu).", Group.output)
    ] = False
    bandwidth: Annotated[str | None, text("--bandwidth", "RATE", BANDWIDTH, Group.size)] = None
    emit: Annotated[
        str | None, engine_name("--emit", servers, "The plan as that engine's command line.", Group.output)
    ] = None
    sweep: Annotated[bool, option("--sweep", "Plot the bytes over the context.", Group.view)] = False
    axis: Annotated[Axis, option("--axis", "The scales of --sweep.", Group.view)] = Axis.log
    output: Annotated[
        Path | None, option("-o --output", "Write the plot of --sweep to a file: .svg.", Group.output, metavar="FILE")
    ] = None
    as_json: Json = False
    as_csv: Csv = False
    quiet: Quiet = False
    verbose: Verbose = False
    color: ColorOption = Color.auto
