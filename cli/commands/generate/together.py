"""Which options of `glass generate` go together, and what they mean before a model is there."""

from dataclasses import replace
from pathlib import Path

from glasscli.cli.commands.generate.options import Options, Show
from glasscli.cli.commands.generate.settings import params_of, split_bias
from glasscli.cli.prompt_text import check_sources
from glasscli.config.writing import WritingDefaults
from glasscli.errors import UsageError
from glasscli.generation.prompts import Overflow

ENDINGS = {".json": "as_json", ".jsonl": "as_jsonl", ".csv": "as_csv"}  # of files that say their form by themselves


def with_form(options: Options) -> Options:
    """The options, with the form that the ending of `--output` asks for; `-` is stdout.

    Raises:
        UsageError: another form was asked for too.
    """
    if options.output == Path("-"):
        return replace(options, output=None)
    form = ENDINGS.get(options.output.suffix.lower()) if options.output is not None else None
    if form is None or getattr(options, form):
        return options
    for name, given in _formats(options).items():
        if given and not (form == "as_csv" and name == "--show"):
            raise UsageError(f"-o {options.output} and {name} are two formats: choose one")
    made: Options = replace(options, **{form: True})  # type: ignore[arg-type]
    return made


def check_together(options: Options) -> None:
    """Refuse options that contradict each other, or have no meaning.

    Raises:
        UsageError: names the option, or the two.
    """
    formats = [name for name, given in _formats(options).items() if given]
    if len(formats) > 1 and not (options.show is Show.probs and formats == ["--show", "--csv"]):
        raise UsageError(f"{formats[0]} and {formats[1]} are two formats: choose one")
    _check_watched(options)
    if options.logprobs is not None and (not formats or options.tinted):
        raise UsageError("--logprobs has nothing to go into: add --json, --jsonl, --csv or --show probs")
    if options.as_csv and options.logprobs == 0:
        raise UsageError("--csv has a line for each of --logprobs tokens: give 1 or more")
    _check_sources(options)
    _check_chat(options)
    if options.no_cache and options.cache is not None:
        raise UsageError("--no-cache keeps nothing that --cache could keep in another way: choose one")
    if options.output is not None:
        from glasscli.export.target import check_target

        check_target(options.output)
    for text in options.logit_bias or ():
        split_bias(text)
    _ = options.choice


def check_params(options: Options) -> None:
    """Refuse settings without meaning. Imports NumPy.

    Raises:
        UsageError: names the setting.
    """
    params_of(options, WritingDefaults())


def _formats(options: Options) -> dict[str, bool]:
    shown = options.show is not None and not options.watches  # what was looked at has its place in JSON
    return {"--show": shown, "--json": options.as_json, "--jsonl": options.as_jsonl, "--csv": options.as_csv}


def _check_watched(options: Options) -> None:
    if not options.watches and (options.layer is not None or options.head is not None):
        raise UsageError(f"--{'head' if options.layer is None else 'layer'} picks what --show attn looks at: add that")
    if options.watches and options.as_csv:
        raise UsageError("--csv is of probabilities; what was looked at goes into --json or --jsonl")
    if options.watches and (options.no_cache or options.overflow is Overflow.slide):
        other = "--no-cache" if options.no_cache else "--overflow slide"
        raise UsageError(f"--show attn looks at steps behind a cache that keeps its tokens in place: no {other}")


def _check_sources(options: Options) -> None:
    """Where prompts come from, and how many texts are wanted."""
    check_sources(options.prompt, options.file)
    for name, given in (("a prompt", options.prompt), ("--file", options.file)):
        if options.prompts is not None and given is not None:
            raise UsageError(f"{name} and --prompts are two sources: choose one")
    if options.messages is not None and options.prompts is not None:
        raise UsageError("--messages and --prompts are two sources: choose one")
    if options.samples is not None and options.prompts is not None:
        raise UsageError("--samples is for one prompt, and --prompts has several: choose one")
    if options.several is None:
        return
    if options.show is not None and not options.as_csv:
        raise UsageError(f"--show is for one text; with {options.several} use --json, --jsonl or --csv")
    if options.no_cache:
        raise UsageError(f"--no-cache is for one text: those of {options.several} are decoded through one cache")
    if options.overflow is Overflow.slide:
        raise UsageError(f"--overflow slide is for one text, not for those of {options.several}")


def _check_chat(options: Options) -> None:
    if options.system is not None and not options.in_chat:
        raise UsageError("--system has no chat to go into: add --chat")
    if options.show_prompt and (options.several or options.show or options.as_jsonl or options.as_csv):
        raise UsageError("--show-prompt prints one prompt, as text or with --json")
