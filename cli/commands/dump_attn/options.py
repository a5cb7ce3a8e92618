"""The options of `glass dump-attn`, and which of them go together."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from glasscli.cache.choice import CacheChoice
from glasscli.cli.cache_option import CacheOption, choice_of
from glasscli.cli.console import Color
from glasscli.cli.options import (
    Ablate,
    ColorOption,
    Group,
    Json,
    ModelDir,
    Quiet,
    Special,
    TextFile,
    Verbose,
    argument,
    option,
)
from glasscli.errors import UsageError


class Scale(StrEnum):
    """How weights are shaded."""

    linear = "linear"
    log = "log"


class WhatIf(StrEnum):
    """What to change about the layer."""

    no_mask = "no-mask"
    no_scale = "no-scale"


class Names(StrEnum):
    """Whose names the arrays of a file go by."""

    native = "native"
    tl = "tl"
    hf = "hf"


class Overflow(StrEnum):
    """What to do with a prompt longer than the context."""

    error = "error"
    left = "left"


STEP = (
    "The numbers of a step: q k v rope_q rope_k cache scores mask softmax mix out, or jacobian; around attention "
    "resid_pre attn_norm resid_mid ffn_norm gate up hidden down resid_post; of the model embedding final_norm logits "
    "probs grad. In files: only these steps (q,softmax)."
)


ARRAYS = (".json", ".npz", ".safetensors")  # files that hold whatever arrays there are
ALL_ENDINGS = (".npz", ".safetensors", ".json", ".csv", ".svg", ".html")


@dataclass(frozen=True)
class Options:
    """Show one attention layer: q k v, rope, cache, scores, mask, softmax, mix, out."""

    prompt: Annotated[str | None, argument("[PROMPT]", "The text to read [default: a demo text]; - reads stdin.")] = (
        None
    )
    file: TextFile = None
    layer: Annotated[
        str | None,
        option("-l --layer", "Which: 2, 0,2 or last [default: the middle one; .html: all].", Group.view, metavar="N"),
    ] = None
    all_layers: Annotated[bool, option("--all", "All layers.", Group.view)] = False
    step: Annotated[str | None, option("--step", STEP, Group.view, metavar="NAME")] = None
    head: Annotated[
        str | None,
        option("--head", "Which heads: 1 or 0,2. KV heads where a step has those.", Group.view, metavar="N"),
    ] = None
    rows: Annotated[
        str | None,
        option("--rows", "Which queries: last, a position, or a range 4:8.", Group.view, metavar="ROWS"),
    ] = None
    scale: Annotated[Scale, option("--scale", "Shade weights evenly or by powers of ten.", Group.view)] = Scale.linear
    decode: Annotated[
        bool, option("--decode", "Read the last token as generation does: 1 query, from the cache.", Group.view)
    ] = False
    new: Annotated[
        int | None,
        option("--new", "Write N tokens and show the step that chose each (greedy).", Group.text, metavar="N", min=1),
    ] = None
    seed: Annotated[
        int | None,
        option("--seed", "With --new: draw tokens as generate does.", Group.sampling, metavar="S", min=0),
    ] = None
    what_if: Annotated[
        WhatIf | None,
        option("--what-if", "The layer without its causal mask, or without 1/√head_dim.", Group.view),
    ] = None
    weighted: Annotated[
        bool, option("--weighted", "Weights times the length of what they fetch, A·‖v‖.", Group.view)
    ] = False
    cell: Annotated[
        str | None,
        option(
            "--cell",
            "One score by dimensions, before and after RoPE: 8,5 is query 8, key 5.",
            Group.view,
            metavar="Q,K",
        ),
    ] = None
    cache: CacheOption = None
    overview: Annotated[
        bool, option("--overview", "The whole model, a line a place: size, checks, what it would say.", Group.view)
    ] = False
    heads: Annotated[
        bool, option("--heads", "All heads of all layers, measured on the text and on a probe.", Group.view)
    ] = False
    explain: Annotated[bool, option("--explain", "Add what each step does, with its line of code.", Group.view)] = False
    blocked: Annotated[
        bool, option("--blocked", "Online softmax beside the plain one, memory of both.", Group.view)
    ] = False
    output: Annotated[
        Path | None,
        option("-o --output", "Write a file: .npz .safetensors .json .csv .svg .html.", Group.output, metavar="FILE"),
    ] = None
    names: Annotated[
        Names,
        option("--names", "Array names: L2.q, TransformerLens' hooks, or transformers' attentions.", Group.output),
    ] = Names.native
    special: Special = False
    overflow: Annotated[
        Overflow, option("--overflow", "A prompt too long: refuse it, or cut its oldest tokens.", Group.text)
    ] = Overflow.error
    as_json: Json = False
    model: ModelDir = None
    ablate: Ablate = None
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    @property
    def demo(self) -> bool:
        """Whether the text is ours."""
        return self.prompt is None and self.file is None

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps whose numbers are wanted."""
        return tuple(part.strip() for part in self.step.split(",")) if self.step else ()

    @property
    def n_new(self) -> int:
        """How many tokens to write first."""
        return self.new or 0

    @property
    def as_page(self) -> bool:
        """Whether a page is written: it has room for the whole model."""
        return self.output is not None and self.output.suffix == ".html"

    @property
    def every_layer(self) -> bool:
        """Whether all layers are wanted."""
        return self.all_layers or (self.as_page and self.layer is None)

    @property
    def log(self) -> bool:
        """Whether weights are shaded by powers of ten."""
        return self.scale is Scale.log

    @property
    def choice(self) -> CacheChoice:
        """How keys and values are kept. Raises UsageError as `choice_of`."""
        return choice_of(self.cache)

    @property
    def jacobian(self) -> bool:
        """Whether the derivative of softmax is wanted, which is no step of a run."""
        return "jacobian" in self.steps

    @property
    def view(self) -> str | None:
        """The option that picks a screen of its own, if one does."""
        views = {
            "--step jacobian": self.jacobian,
            "--what-if": self.what_if is not None,
            "--weighted": self.weighted,
            "--cell": self.cell is not None,
            "--cache": self.cache is not None,
            "--heads": self.heads,
            "--overview": self.overview,
            "--explain": self.explain,
            "--blocked": self.blocked,
        }
        chosen = [name for name, wanted in views.items() if wanted]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} are different screens. Give one of them.")
        return chosen[0] if chosen else None
