"""`glass dump-attn`: every number of an attention layer, on one screen or in a file."""

from glasscli.cli.blas import pin_threads
from glasscli.cli.commands.dump_attn import options as o
from glasscli.cli.console import Color
from glasscli.cli.interrupts import tidy_end
from glasscli.cli.options import ColorOption, Json, ModelDir, Quiet

EPILOG = """\
Weights are shaded: . below .05, then .05 .2 .4 .7 and more; blank is masked. Measures are means over rows, beside
those of a head that ignores content. Long maps are pooled by maximum, and say so.

Files: .npz and .safetensors hold L2.q … L2.out; .json is strict, masked scores are null; .csv has a line a number
(scores and softmax unless --step says others); .svg and .html are pages that need nothing else. A file is complete
or not there; one that exists is replaced.

\b
Examples:
  glass dump-attn --layer 2 "The cat saw the dog. The cat"
  glass dump-attn --layer 2 --head 1 --step scores
  glass dump-attn --decode --head 3 "The cat saw the dog. The cat"
  glass dump-attn --new 8 "Once upon a time"
  glass dump-attn --heads
  glass dump-attn --all -o attention.html
"""


def command(
    prompt: o.Prompt = None,
    layer: o.Layer = None,
    all_layers: o.AllLayers = False,
    step: o.StepOption = None,
    head: o.Head = None,
    rows: o.Rows = None,
    scale: o.ScaleOption = o.Scale.linear,
    decode: o.Decode = False,
    new: o.New = None,
    seed: o.Seed = None,
    what_if: o.WhatIfOption = None,
    heads: o.Heads = False,
    explain: o.Explain = False,
    blocked: o.Blocked = False,
    output: o.Output = None,
    names: o.NamesOption = o.Names.native,
    special: o.Special = False,
    overflow: o.OverflowOption = o.Overflow.error,
    as_json: Json = False,
    model: ModelDir = None,
    color: ColorOption = Color.auto,
    quiet: Quiet = False,
) -> int:
    """Show one attention layer: q k v, rope, cache, scores, mask, softmax, mix, out."""
    ask = o.Ask(
        prompt, layer, all_layers, tuple(part.strip() for part in step.split(",")) if step else (),
        head, rows, scale is o.Scale.log, decode, new or 0, seed, what_if.value if what_if else None,
        heads, explain, blocked, output, names.value, special, overflow.value, as_json, model, color, quiet,
    )  # fmt: skip
    ask.check()
    pin_threads(model)
    from glasscli.cli.commands.dump_attn.run import run

    with tidy_end():
        run(ask)
    return 0
