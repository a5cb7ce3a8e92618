"""The variables of the environment that glass reads"""

from glasscli.cli.help.parts import Heading, Part, Prose, table

MODEL = {
    "GLASS_MODEL": "The model of every command that is given no -m.",
    "HF_HUB_CACHE": "Where models that were downloaded lie.",
    "HUGGINGFACE_HUB_CACHE": "The older name of HF_HUB_CACHE.",
    "HF_HOME": "The folder that holds hub/, where HF_HUB_CACHE is not set [default: ~/.cache/huggingface].",
    "XDG_CACHE_HOME": "The folder that holds huggingface/, where HF_HOME is not set [default: ~/.cache].",
    "XDG_STATE_HOME": "The folder that holds glass/lesson.json: where you left the lesson [default: ~/.local/state].",
}
LOOKS = {
    "NO_COLOR": "Set to anything: no colour.",
    "CLICOLOR_FORCE": "Set, and not to 0: colour in a pipe, too.",
    "FORCE_COLOR": "Set to anything: the same.",
    "CLICOLOR": "0: no colour on a terminal either.",
    "COLORTERM": "truecolor: the terminal shows 24-bit colours.",
    "TERM": "dumb: no colour.",
    "COLUMNS": "How wide to print, on a terminal and in a pipe.",
}
SHELL = {
    "SHELL": "Which shell --install-completion is for, where it is not told.",
    "ZDOTDIR": "Where zsh's .zshrc lies [default: your home].",
    "XDG_DATA_HOME": "The folder that holds glass/, with the scripts of bash and zsh [default: ~/.local/share].",
    "XDG_CONFIG_HOME": "The folder that holds fish/ [default: ~/.config].",
}
OTHERS = {
    "HF_TOKEN": "The token for private models.",
    "HF_ENDPOINT": "Another hub than huggingface.co.",
    "HF_HUB_OFFLINE": "1: nothing is downloaded.",
    "HF_HUB_DISABLE_TELEMETRY": "glass sets it unless you do: the hub is told nothing but what is downloaded.",
    "OPENBLAS_NUM_THREADS": "Threads of matrix products, with weights above 200 MB; smaller models take one, so that a "
    "seed always gives the same text. Also OMP_NUM_THREADS, MKL_NUM_THREADS, VECLIB_MAXIMUM_THREADS.",
}


def parts() -> list[Part]:
    """Tables by what they are about."""
    return [
        Heading("Models"),
        table(MODEL.items()),
        Heading("Looks"),
        Prose("--color always and --color never beat all of these; NO_COLOR beats those that colour."),
        table(LOOKS.items()),
        Heading("Completion"),
        table(SHELL.items()),
        Heading("Read by the packages that glass uses"),
        table(OTHERS.items()),
    ]
