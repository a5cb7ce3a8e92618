"""The options of `glass dump-attn`, apart from those that other commands have too, and which of them go together."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from glasscli.cli.console import Color
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


Prompt = Annotated[
    str | None, typer.Argument(metavar="[PROMPT]", help="The text to read [default: a demo text]; - reads stdin.")
]
Layer = Annotated[
    str | None,
    typer.Option("-l", "--layer", metavar="N", help="Which layer: 2, 0,2 or last [default: the middle one]."),
]
AllLayers = Annotated[bool, typer.Option("--all", help="All layers.")]
StepOption = Annotated[
    str | None,
    typer.Option(
        "--step",
        metavar="NAME",
        help="The numbers of a step: q k v rope_q rope_k cache scores mask softmax mix out, or jacobian. "
        "In files: only these steps (q,softmax).",
    ),
]
Head = Annotated[
    str | None, typer.Option("--head", metavar="N", help="Which heads: 1 or 0,2. KV heads where a step has those.")
]
Rows = Annotated[
    str | None, typer.Option("--rows", metavar="ROWS", help="Which queries: last, a position, or a range 4:8.")
]
ScaleOption = Annotated[Scale, typer.Option("--scale", help="Shade weights evenly or by powers of ten.")]
Decode = Annotated[
    bool, typer.Option("--decode", help="Read the last token as generation does: 1 query, from the cache.")
]
New = Annotated[
    int | None,
    typer.Option("--new", min=1, metavar="N", help="Write N tokens and show the step that chose each (greedy)."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, metavar="S", help="With --new: draw tokens as generate does.")
]
WhatIfOption = Annotated[
    WhatIf | None, typer.Option("--what-if", help="The layer without its causal mask, or without 1/√head_dim.")
]
Heads = Annotated[bool, typer.Option("--heads", help="All heads of all layers, measured on the text and on a probe.")]
Explain = Annotated[bool, typer.Option("--explain", help="Each step in two sentences, with its line of code.")]
Blocked = Annotated[bool, typer.Option("--blocked", help="Online softmax beside the plain one, memory of both.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write a file: .npz .safetensors .json .csv .svg .html."),
]
NamesOption = Annotated[
    Names, typer.Option("--names", help="Array names: L2.q, TransformerLens' hooks, or transformers' attentions.")
]
Special = Annotated[bool, typer.Option("--special", help="Read names like <|endoftext|> as special tokens.")]
OverflowOption = Annotated[
    Overflow, typer.Option("--overflow", help="A prompt too long: refuse it, or cut its oldest tokens.")
]


@dataclass(frozen=True)
class Ask:
    """What was asked for, checked as far as that needs no model."""

    prompt: str | None = None
    layer: str | None = None
    all_layers: bool = False
    steps: tuple[str, ...] = ()
    head: str | None = None
    rows: str | None = None
    log: bool = False
    decode: bool = False
    n_new: int = 0
    seed: int | None = None
    what_if: str | None = None
    heads: bool = False
    explain: bool = False
    blocked: bool = False
    output: Path | None = None
    names: str = "native"
    special: bool = False
    overflow: str = "error"
    as_json: bool = False
    model: Path | None = None
    color: Color = Color.auto
    quiet: bool = False

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
            "--heads": self.heads,
            "--explain": self.explain,
            "--blocked": self.blocked,
        }
        chosen = [name for name, wanted in views.items() if wanted]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} are different screens. Give one of them.")
        return chosen[0] if chosen else None

    def check(self) -> None:
        """Refuse options that contradict each other, before anything is loaded.

        Raises:
            UsageError: names the two options.
        """
        view = self.view
        for name, given in self._needless(view).items():
            if given:
                raise UsageError(f"{name} says nothing about {view}.")
        if self.jacobian and len(self.steps) > 1:
            raise UsageError("--step jacobian is a screen of its own. Leave the other steps out.")
        if self.jacobian and ":" in (self.rows or ""):
            raise UsageError(f"--rows {self.rows}: a Jacobian is that of one row. Give its position, or last.")
        if self.layer is not None and self.all_layers:
            raise UsageError("--layer and --all contradict each other. Give one of them.")
        if self.n_new and self.decode and self.rows is None:
            raise UsageError("--new shows decode steps already. For one of them: --new N --rows last.")
        if self.seed is not None and not self.n_new:
            raise UsageError("--seed draws new tokens: give --new N too.")
        if self.output is not None and self.as_json:
            raise UsageError("--json prints to stdout, -o writes a file. Give one of them.")
        for_file = self.output is not None or self.as_json
        if self.names != "native" and not for_file:
            raise UsageError(f"--names {self.names} is for files and --json: add -o FILE.npz or --json.")
        if for_file and self.head is not None and not self.jacobian:
            raise UsageError("--head picks what a screen shows; files and JSON hold all heads. Leave it out.")
        if self.decode and self.rows is not None and not self.n_new:
            raise UsageError("--decode has one row, the last token's. Leave --rows out, or add --new N.")

    def _needless(self, view: str | None) -> dict[str, bool]:
        """Options that the chosen screen has no use for, and whether they were given."""
        if view is None:
            return {}
        unused = {
            f"-o {self.output}": self.output is not None,
            "--decode": self.decode and view == "--heads",
            "--new": bool(self.n_new) and view == "--heads",
            "--rows": self.rows is not None and view == "--heads",
            "--head": self.head is not None and view in ("--heads", "--explain", "--blocked"),
            "--layer": self.layer is not None and view == "--heads",
            "--all": self.all_layers and view == "--heads",
            "--names": self.names != "native",
            "--step": bool(self.steps) and not self.jacobian and not (self.blocked and self.steps == ("softmax",)),
            "--scale log": self.log and self.what_if is None,
        }
        if self.what_if == "no-mask":
            unused |= {"--decode": self.decode, "--new": bool(self.n_new)}
        return unused
