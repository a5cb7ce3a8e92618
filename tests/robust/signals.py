"""Signals at random moments: while a text is written, a file exported, a table drawn.

The text so far must stand, JSON be whole after Ctrl-C, an exported file be the old one or the new one, and nothing
else be left in its folder. Only SIGKILL, which no program can answer, may leave the file that was being written,
beside its target and with the ending `.part`.
"""

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from helpers.model_folders import write_folder
from helpers.terminal import GLASS, Terminal, environment

from robust.judge import faults
from robust.tally import Tally

SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
ENDLESS = ["generate", "Once", "-n", "700", "--overflow", "slide", "--ignore-eos", "--seed", "1"]
STORY = "The cat saw the dog. The dog saw the cat. " * 6
ENDINGS = (".npz", ".safetensors", ".json", ".csv", ".svg", ".html")
OLD = b"what was there before"


@dataclass
class Job:
    """Something to interrupt.

    Attributes:
        check: given the exit code, stdout and what an undisturbed run wrote, what is wrong.
        target: the file it writes, if it does.
    """

    args: list[str]
    check: Callable[[int, bytes, bytes], list[str]]
    target: Path | None = None
    terminal: bool = False
    whole: bytes = b""
    took_s: float = 0.0


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    out: bytes
    err: bytes


def try_signals(base: Path, rng: Random, n: int) -> Tally:
    """`n` runs that get one signal each."""
    tally = Tally("signals at random moments")
    jobs = _jobs(base)
    for number in range(n):
        job, signum = jobs[number % len(jobs)], rng.choice(SIGNALS)
        if not job.whole:
            _undisturbed(tally, job)
        _try_one(tally, job, signum, rng.uniform(0, 1.1 * job.took_s), there_before=rng.random() < 0.5)
    return tally


def _undisturbed(tally: Tally, job: Job) -> None:
    """Learn what a job writes and how long it takes."""
    began = time.monotonic()
    done = _run(job, None, 0)
    job.took_s = time.monotonic() - began
    job.whole = job.target.read_bytes() if job.target else done.out
    if done.code != 0:
        tally.found.append(f"{job.args} fails undisturbed: {done.err!r}")


def _try_one(tally: Tally, job: Job, signum: signal.Signals, after_s: float, there_before: bool) -> None:
    if job.target is not None:
        for file in job.target.parent.iterdir():
            file.unlink()
        if there_before:
            job.target.write_bytes(OLD)
    done = _run(job, signum, after_s)
    if _before_glass(done):
        tally.count(f"{signum.name} while Python starts", [], "")
        return
    code = 0 if done.code in _codes(signum) else done.code
    found = faults(code, b"", done.err, job.args, job.terminal)
    found += job.check(done.code, done.out, job.whole)
    if job.target is not None:
        found += _left(job, signum, done, there_before)
        if signum is signal.SIGKILL and len(list(job.target.parent.iterdir())) > 1:
            tally.remarks["SIGKILL left a .part file"] += 1
    outcome = f"{signum.name}" if done.code else "finished before the signal"
    tally.count(f"{job.args[0]}: {outcome}", found, f"{signum.name} {after_s:.3f} s into {job.args}"[:400])


def _codes(signum: signal.Signals) -> tuple[int, ...]:
    """Exit codes for this signal, and that of a run that was quicker. A shell shows 130 for death by SIGINT too."""
    return (0, 130, -signum) if signum is signal.SIGINT else (0, -signum)


def _before_glass(done: Ended) -> bool:
    """Whether Ctrl-C came while Python was starting, which then prints a traceback; nothing of glass ran yet."""
    return b"KeyboardInterrupt" in done.err and b"app.py" not in done.err and not done.out


def _left(job: Job, signum: signal.Signals, done: Ended, there_before: bool) -> list[str]:
    """What is wrong with the files that an export left."""
    assert job.target is not None
    found = []
    data = job.target.read_bytes() if job.target.exists() else None
    before = OLD if there_before else None
    if data != job.whole and (data != before or done.code == 0):
        found.append(f"{job.target.name} is neither the old file nor the new one")
    others = [file.name for file in job.target.parent.iterdir() if file != job.target]
    if signum is signal.SIGKILL and len(others) == 1:
        others = [name for name in others if not (name.startswith(f".{job.target.name}.") and name.endswith(".part"))]
    return [*found, f"{others} left beside {job.target.name}"] if others else found


def _run(job: Job, signum: signal.Signals | None, after_s: float) -> Ended:
    """Run a job; send it a signal after a while."""
    if job.terminal:
        shown = Terminal(*job.args, NO_COLOR="1")
        _send(shown.process, signum, after_s)
        code, text = shown.finish()
        trace = text[text.find("Traceback") :] if "Traceback" in text else ""
        return Ended(code, b"" if trace else text.encode(), trace.encode())
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*GLASS, *job.args], bufsize=0, env=environment(), **streams) as run:
        _send(run, signum, after_s)
        out, err = run.communicate(timeout=60)
    return Ended(run.returncode, out, err)


def _send(run: "subprocess.Popen[bytes]", signum: signal.Signals | None, after_s: float) -> None:
    """Send the signal, if the program is still there by then."""
    if signum is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(after_s)
        run.send_signal(signum)


def _jobs(base: Path) -> list[Job]:
    model = ["-m", str(write_folder(base / "model"))]
    prompts = base / "prompts.txt"
    prompts.write_text("Once\nThe cat\n")
    batch = ["generate", "--prompts", str(prompts), "-n", "300", "--ignore-eos", "--seed", "1", "--json"]
    jobs = [
        Job([*ENDLESS, *model], _text),
        Job([*ENDLESS, *model], _anything, terminal=True),
        Job([*ENDLESS, *model, "--show", "probs"], _anything, terminal=True),
        Job([*ENDLESS, *model, "--json"], _json),
        Job([*batch, *model], _json),
        Job([*ENDLESS, *model, "--jsonl"], _json_lines),
        Job(["kv-budget", "--compare", "llama-2-70b,gemma-3-27b", "--sweep"], _text),
        Job(["kv-budget", "--hq", "32", "--hkv", "8", "--json"], _anything),
    ]
    for ending in ENDINGS:
        (base / ending[1:]).mkdir()
        target = base / ending[1:] / f"out{ending}"
        args = ["dump-attn", STORY, "--all", "-o", str(target), *model]
        args += ["--step", "softmax"] if ending in (".json", ".csv") else []
        jobs.append(Job(args, _nothing, target))
    return jobs


def _anything(code: int, out: bytes, whole: bytes) -> list[str]:
    return []


def _nothing(code: int, out: bytes, whole: bytes) -> list[str]:
    return ["something on stdout"] if out else []


def _text(code: int, out: bytes, whole: bytes) -> list[str]:
    """The text so far, and after Ctrl-C a newline."""
    text = out.removesuffix(b"\n").removesuffix("\ufffd".encode()) if code else out
    found = [] if whole.startswith(text) else ["the text is not the start of the whole text"]
    return [*found, "the last line does not end"] if code == 130 and out and not out.endswith(b"\n") else found


def _json(code: int, out: bytes, whole: bytes) -> list[str]:
    """Nothing, or a whole document; a signal that kills may cut it."""
    if code not in (0, 130) or not out:
        return ["no JSON"] if code == 0 else []
    try:
        document = json.loads(out)
    except ValueError:
        return ["half a JSON document"]
    return [] if document else ["an empty document"]


def _json_lines(code: int, out: bytes, whole: bytes) -> list[str]:
    """Whole lines; after Ctrl-C the last one tells the end."""
    lines = out.split(b"\n")
    if lines.pop():
        return ["half a line of JSON"]
    events = [json.loads(line)["event"] for line in lines]
    return [] if code != 130 or not events or events[-1] == "done" else ["the last line is not the end"]
