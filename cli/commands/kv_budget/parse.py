"""From what was typed to what is meant: every mistake of the command line is found here, before any work."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glasscli.budget.drafting import Drafter, method_of
from glasscli.budget.engines import servers
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import MOST_LAYERS, Heads, Subject, divisors_near
from glasscli.cli.commands.kv_budget.engine_settings import engine, engine_settings
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.commands.kv_budget.values import count, counts_of, dtype
from glasscli.errors import UsageError
from glasscli.export.curves import check_svg
from glasscli.likeness import enumerated
from glasscli.locate.hub_name import hub_name

CONTEXTS = (1024, 8192, 32768, 131072)
SPLITS = ("tp", "pp", "dp", "dcp", "pcp")  # fields of refusals that name an option: how a plan is split over ranks
OF_MODELS = ("f16", "bf16", "f32", "f64")  # what models are computed in
# Options of which at most one may be given.
APART = (
    ("--json", "--csv", "--emit"), ("--sweep", "--emit"), ("--sweep", "--require-fit"), ("--compare", "--emit"),
    ("--json", "--output"), ("--csv", "--output"),
)  # fmt: skip


def check(options: Options) -> None:
    """Refuse options that contradict each other, or that say too little."""
    heads = options.hq is not None or options.hkv is not None
    named = [("--config", options.config), ("--model", options.model), ("--compare", options.compare)]
    ways = [("--hq", heads), *((name, value is not None) for name, value in named), ("--list", options.list_models)]
    given = [name for name, value in ways if value]
    if not given:
        raise UsageError(
            "which model? Give head counts (--hq 32 --hkv 8), a folder or a file (-m config.json)\n"
            "or a name (-m llama-3.1-8b; --list shows all)."
        )
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: one model at a time. To see several, use --compare a,b.")
    if options.hkv is not None and options.hq is None:
        raise UsageError("--hkv needs --hq: how many query heads share those key/value heads?")
    for name, value in (("--head-dim", options.head_dim), ("--layers", options.layers)):
        if value is not None and not heads:
            raise UsageError(f"{name} belongs to --hq and --hkv; {given[0]} brings its own")
    if options.dtype is not None and options.k_dtype is not None and options.v_dtype is not None:
        raise UsageError("--dtype sets both K and V; leave it out beside --k-dtype and --v-dtype")
    if options.require_fit and not (options.budget or options.gpu or options.available or options.users):
        raise UsageError("--require-fit needs --budget, like --budget 24GiB, or a device, like --gpu h100")
    if options.output is not None:
        if not options.sweep:
            raise UsageError("-o writes the plot of --sweep; for numbers use --json or --csv and the shell's >")
        check_svg(options.output)
    for forms in APART:
        chosen = [name for name in forms if given_forms(options)[name]]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} don't go together")


def given_forms(options: Options) -> dict[str, bool]:
    """Which options were given that decide the form of the answer."""
    return {
        "--json": options.as_json,
        "--csv": options.as_csv,
        "--emit": options.emit is not None,
        "--sweep": options.sweep,
        "--require-fit": options.require_fit,
        "--compare": options.compare is not None,
        "--output": options.output is not None,
    }


def heads(options: Options) -> Heads:
    """The head counts, checked; what was not given is assumed."""
    hq = count("--hq", options.hq)
    hkv = count("--hkv", options.hkv, default=hq)
    if hkv > hq:
        raise UsageError(f"--hkv {hkv:,} is more than --hq {hq:,}. Key/value heads are shared, not split: 1 to {hq:,}.")
    if hq % hkv:
        choice = enumerated([f"{n}" for n in divisors_near(hq, hkv)], "or")
        raise UsageError(f"--hkv {hkv} does not divide --hq {hq}. Query heads must split evenly.\nTry --hkv {choice}.")
    layers = count("--layers", options.layers, 32, MOST_LAYERS)
    asked = dtype("--dtype", options.dtype)
    name = asked if asked in OF_MODELS else "f16"  # a cache in fp8 is not what an engine would take by itself
    return Heads(hq, hkv, count("--head-dim", options.head_dim, 128), layers, name)


def settings(options: Options) -> Settings:
    """The plan that was asked for, without the model."""
    both = dtype("--dtype", options.dtype)
    tokens = counts_of("--tokens", options.tokens) if options.tokens else ()
    encoder = options.encoder_tokens
    return Settings(
        tokens=tokens or CONTEXTS,
        batch=count("--users", options.users) if options.users else count("--batch", options.batch),
        k_dtype=dtype("--k-dtype", options.k_dtype) or both,
        v_dtype=dtype("--v-dtype", options.v_dtype) or both,
        state_dtype=dtype("--state-dtype", options.state_dtype),
        engine=engine(options),
        encoder_tokens=None if encoder is None else 0 if encoder == "0" else count("--encoder-tokens", encoder),
        tp=count("--tp", options.tp, most=65536),
        pp=count("--pp", options.pp, most=65536),
        dp=count("--dp", options.dp, most=10**9),
        dcp=count("--dcp", options.dcp, most=65536),
        pcp=count("--pcp", options.pcp, most=65536),
        ep=options.ep,
        prefix_shared=0 if options.prefix_shared in (None, "0") else count("--prefix-shared", options.prefix_shared),
        options=engine_settings(options),
    )


def shortened(options: Options, plan: Settings, subject: Subject) -> Settings:
    """`plan` with default contexts that the model was made for."""
    most = subject.logical.max_positions
    if options.tokens or most is None:
        return plan
    tokens = tuple(n for n in CONTEXTS if n < most)
    return replace(plan, tokens=(*tokens, most))


def compared(options: Options) -> list[str]:
    """The models of `--compare`: names and paths."""
    names = [name.strip() for name in (options.compare or "").split(",") if name.strip()]
    if len(names) < 2:
        raise UsageError(
            "--compare takes two or more models with commas between: --compare llama-2-70b,mistral-7b-v0.1"
        )
    if names.count("-") > 1:
        raise UsageError("--compare: standard input can be read once")
    return names


def span(options: Options, plan: Settings, subjects: Sequence[Subject]) -> tuple[int, int]:
    """The contexts that a sweep goes from and to: those asked for, else all that the models were made for."""
    if options.tokens and len(plan.tokens) > 1:
        return min(plan.tokens), max(plan.tokens)
    most = [subject.logical.max_positions or CONTEXTS[-1] for subject in subjects]
    last = plan.tokens[0] if options.tokens else max(most)
    return max(1, min(128, last // 8)), last


def loadable(options: Options) -> str:
    """What an engine is to load: the folder of the config if it loads those, else a name to fill in."""
    assert options.emit is not None
    server = servers()[options.emit]
    return to_load(options.config or options.model or "-", server.loads, server.loads_folders)


def to_load(named: str, otherwise: str, folders: bool = True) -> str:
    """What loads `named`: its name on the hub, its folder if `folders` are loaded; `otherwise` where there is none."""
    if not folders:
        return otherwise
    if (on_hub := hub_name(named)) is not None and not Path(named).exists():
        return otherwise if on_hub.file or "/" not in on_hub.repo else on_hub.repo
    path = Path(named)
    folder = path if path.is_dir() else path.parent if path.name == "config.json" else None
    return otherwise if folder is None or not str(folder).isprintable() else str(folder)


def drafter(options: Options, settings: Settings) -> Drafter | None:
    """The model that drafts, as an engine is told of it."""
    if options.draft is None or settings.draft is None:
        return None
    return Drafter(to_load(options.draft, "DRAFT"), method_of(settings.draft.config) or "draft_model")
