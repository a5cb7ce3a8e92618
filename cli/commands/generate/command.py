"""`glass generate`: check what was asked, then write one text or several."""

from glasscli.cli.blas import pin_threads
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.commands.generate.together import check_params, check_together, with_form

EPILOG = """\
Without --show, --json, --jsonl or --csv, stdout gets the text and nothing else; a terminal also shows the prompt and,
on stderr, a line of numbers: its tok/s are of the model and the sampler, from the second token on. What tells how
likely each token was tells it of the raw model (p, logprob, rank, entropy) and after the sampler (p_sampled). The
sampler's order: biases, repetition penalty (of prompt and text), frequency and presence penalty (OpenAI's; of the text
alone), temperature, top-k, top-p, min-p.

Prompt and text together never exceed the context, except with --overflow slide. What is not given is taken from the
model's generation_config.json, where it has one. Texts of --prompts and --samples are shown as they end on a terminal
and with --jsonl, else in order. --cache tells what an engine's smaller cache makes of the text; its bytes are really
held, and are in the numbers below the text. --chat needs Jinja2: pip install 'glasscli[chat]'.

\b
Examples:
  glass generate "Once upon a time" -n 60 --seed 1
  glass generate "Once upon a time" -n 12 --temperature 0 --show probs
  glass generate "Lily had a red ball. One day," -n 8 --show attn
  echo "Lily had a red" | glass generate --json --logprobs 3
  glass generate "The dog ran" --stop "." --top-k 40
  glass generate "The dog ran" -n 40 --samples 5 --echo
  glass generate "The dog ran" -n 40 --frequency-penalty 0.5 --logit-bias ".=-2"
  glass generate "A girl named Lily. One day," -n 8 --ablate 2.2
  glass generate "The dog ran" --cache sinks=4+window=28 --seed 1
"""


def run(options: Options) -> int:
    """Write one text, several of one prompt, or continue each line of a file; the exit code."""
    options = with_form(options)
    check_together(options)
    if options.show_prompt:
        from glasscli.cli.commands.generate.asked import show_prompt
        from glasscli.cli.output_file import into_file, tell

        with into_file(options.output):
            show_prompt(options)
        if options.output is not None and not options.quiet:
            tell(options.output, "what the model would read")
        return 0
    pin_threads(options.model, options.quiet)
    check_params(options)
    if options.several is not None:
        from glasscli.cli.commands.generate.batch import run_batch

        return run_batch(options)
    from glasscli.cli.commands.generate.single import run_single

    return run_single(options)
