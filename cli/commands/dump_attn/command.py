"""`glass dump-attn`: check what was asked, then show the layer or write it."""

from glasscli.cli.blas import pin_threads
from glasscli.cli.commands.dump_attn.options import Options
from glasscli.cli.commands.dump_attn.together import check_together
from glasscli.cli.interrupts import tidy_end

EPILOG = """\
Weights are shaded: . below .05, then .05 .2 .4 .7 and more; blank is masked. Measures are means over rows, beside
those of a head that ignores content. Long maps are pooled by maximum, and say so.

Files: .npz and .safetensors hold L2.q … L2.out; .json is strict, masked scores are null; .csv has a line a number
(scores and softmax unless --step says others); .svg and .html are pages that need nothing else. Other screens write
their own numbers, what --json prints, to .json, .npz or .safetensors (--heads to .csv too). A file is complete or not
there; one that exists is replaced.

\b
Examples:
  glass dump-attn --layer 2 "The cat saw the dog. The cat"
  glass dump-attn --layer 2 --head 1 --step scores
  glass dump-attn --decode --head 3 "The cat saw the dog. The cat"
  glass dump-attn --new 8 "Once upon a time"
  glass dump-attn --layer 0 --cache sinks=1+window=3
  glass dump-attn --layer 3 --weighted
  glass dump-attn --layer 3 --head 2 --cell 8,5
  glass dump-attn --heads
  glass dump-attn --new 8 -o attention.html
"""


def run(options: Options) -> int:
    """Show the layer, or write it to a file; the exit code."""
    check_together(options)
    pin_threads(options.model, options.quiet)
    from glasscli.cli.commands.dump_attn.run import run_dump

    with tidy_end():
        run_dump(options)
    return 0
