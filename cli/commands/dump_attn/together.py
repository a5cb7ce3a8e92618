"""Which options of `dump-attn` go together, and what to do instead where they don't."""

from glasscli.cli.commands.dump_attn.options import ALL_ENDINGS, ARRAYS, Options
from glasscli.cli.prompt_text import check_sources
from glasscli.errors import UsageError

# What a screen's numbers can be written to.
ENDINGS = {
    None: ALL_ENDINGS,
    "--cache": ARRAYS,
    "--step jacobian": ARRAYS,
    "--what-if": ARRAYS,
    "--weighted": ARRAYS,
    "--cell": ARRAYS,
    "--heads": (".json", ".csv", ".npz"),
    "--overview": (".json",),
    "--explain": (".json",),
    "--blocked": (),
}


def check_together(options: Options) -> None:
    """Refuse options that contradict each other, before anything is loaded.

    Raises:
        UsageError: names the two options.
    """
    check_sources(options.prompt, options.file)
    view = options.view
    _ = options.choice
    if view is not None:
        for name, (given, why) in _needless(options, view).items():
            if given:
                raise UsageError(f"{name} has no effect with {view}: {why}.")
    _check_view(options, view)
    _check_file(options, view)
    if options.layer is not None and options.all_layers:
        raise UsageError("--layer and --all contradict each other. Give one of them.")
    if options.n_new and options.decode and options.rows is None:
        raise UsageError("--new shows decode steps already. For one of them: --new N --rows last.")
    if options.seed is not None and not options.n_new:
        raise UsageError("--seed draws new tokens: give --new N too.")
    if options.decode and options.rows is not None and not options.n_new:
        raise UsageError("--decode has one row, the last token's. Leave --rows out, or add --new N.")


def _check_view(options: Options, view: str | None) -> None:
    if options.jacobian and len(options.steps) > 1:
        raise UsageError("--step jacobian is a screen of its own. Leave the other steps out.")
    if options.jacobian and ":" in (options.rows or ""):
        raise UsageError(f"--rows {options.rows}: a Jacobian is that of one row. Give its position, or last.")
    if view == "--cell" and options.head is None:
        raise UsageError("--cell is a score of one head: give --head H too.")


def _check_file(options: Options, view: str | None) -> None:
    if options.output is not None and options.as_json:
        raise UsageError("--json prints to stdout, -o writes a file. Give one of them.")
    for_file = options.output is not None or options.as_json
    if view == "--blocked" and for_file:
        asked = "--json" if options.as_json else f"-o {options.output}"
        raise UsageError(f"{asked}: --blocked measures memory on a screen only. Leave it out.")
    if options.output is not None and options.output.suffix in ALL_ENDINGS:
        endings = ENDINGS[view]
        if options.output.suffix not in endings:
            raise UsageError(f"-o {options.output}: {view} goes into {' '.join(endings)}, or to stdout with --json.")
    if options.names != "native" and not for_file:
        raise UsageError(f"--names {options.names} is for files and --json: add -o FILE.npz or --json.")
    if for_file and options.head is not None and view not in ("--step jacobian", "--cell"):
        raise UsageError("--head picks what a screen shows; files and JSON hold all heads. Leave it out.")


def _needless(options: Options, view: str) -> dict[str, tuple[bool, str]]:
    """Options that the chosen screen has no use for: whether they were given, and why not."""
    for_file = options.output is not None or options.as_json
    whole = view in ("--heads", "--overview")
    every = "it is of all layers and the whole prompt"
    shaded = view in ("--what-if", "--cache", "--weighted") or (view == "--explain" and not for_file)
    steps = options.jacobian or (view == "--cache" and for_file)
    steps = steps or (options.blocked and options.steps == ("softmax",))
    unused = {
        "--decode": (options.decode and whole, every),
        "--new": (bool(options.n_new) and whole, every),
        "--rows": (options.rows is not None and whole, every),
        "--head": (options.head is not None and whole, "it is of all heads"),
        "--layer": (options.layer is not None and whole, every),
        "--all": (options.all_layers and whole, every),
        "--names": (options.names != "native", "those are for the steps of a layer, and this has other numbers"),
        "--step": (bool(options.steps) and not steps, "each is a screen of its own"),
        "--scale log": (options.log and not shaded, "it shades no map"),
    }
    if view == "--blocked":
        unused["--head"] = (options.head is not None, "it computes all heads at once")
    if view == "--explain" and options.as_json:
        unused["--head"] = (options.head is not None, "the steps are those of all heads")
    if options.what_if == "no-mask":
        why = "the mask hides nothing from the newest token, which has nothing ahead of it; --rows last shows that row"
        unused |= {"--decode": (options.decode, why), "--new": (bool(options.n_new), why)}
    return unused
