"""What the exit code says to a script"""

from glasscli.cli.help.parts import Part, Prose, Sample, table

CODES = {
    0: "Done.",
    1: "The model or the data is at fault, or an answer is no: --require-fit, --max-kld.",
    2: "Wrong usage: what was asked for makes no sense, whatever the model.",
    130: "Interrupted by Ctrl-C. What was written until then stays.",
    141: "Whoever read the output closed it, as `head` does. Nothing is said.",
}


def parts() -> list[Part]:
    """A row a code."""
    return [
        table((str(code), says) for code, says in CODES.items()),
        Prose(
            "An error is one or two lines on stderr, the first after `glass:`. stdout then holds nothing, or what was "
            "right until then. With --json a refusal of kv-budget is a JSON document too."
        ),
        Sample(["glass kv-budget --model llama-3.1-8b --gpu rtx-4090 --require-fit && echo it fits"]),
    ]
