"""Ctrl-C in mid-text: what was written stays, JSON stays whole, the exit code is 130."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.terminal import GLASS, Terminal, environment, glass

# Pipes are read unbuffered here: `communicate` knows nothing of what a buffered `read` took in before.
FOR_EVER = ["Once", "-n", "100000000", "--overflow", "slide", "--ignore-eos", "--seed", "1"]


def test_ctrl_c_on_a_terminal_keeps_the_text_and_ends_the_line(model: list[str]) -> None:
    terminal = Terminal(*model, *FOR_EVER, NO_COLOR="1")
    shown = terminal.read(300)
    terminal.interrupt()
    code, text = terminal.finish()
    assert code == 130
    assert "Traceback" not in text
    assert text.startswith(shown.decode(errors="ignore").replace("\r\n", "\n")[:250])
    last = text.rstrip("\n").split("\n")
    assert any("interrupted" in line and "seed 1" in line for line in last[-4:])


def test_ctrl_c_in_a_pipe_keeps_the_text_and_ends_the_line(model: list[str]) -> None:
    run = subprocess.Popen(
        [*GLASS, *model, *FOR_EVER], bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert run.stdout is not None
    start = run.stdout.read(50)
    run.send_signal(signal.SIGINT)
    rest, said = run.communicate(timeout=60)
    assert (run.returncode, said) == (130, b"")
    assert (start + rest).endswith(b"\n")
    whole = json.loads(glass(*model, *FOR_EVER[:2], "2000", *FOR_EVER[3:], "--json").stdout)["text"].encode()
    written = (start + rest)[:-1].removesuffix("\ufffd".encode())  # a character that Ctrl-C cut in half
    assert whole.startswith(written[: len(whole)])


def test_ctrl_c_leaves_json_whole(make_model_folder: Callable[..., Path]) -> None:
    folder = make_model_folder(vocab_size=330)  # rows without a token: a note says so once the model is loaded
    run = subprocess.Popen(
        [*GLASS, "generate", "-m", str(folder), *FOR_EVER, "--json"],
        bufsize=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert run.stderr is not None
    assert b"never sampled" in run.stderr.readline()
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    out, said = run.communicate(timeout=60)
    document = json.loads(out)
    assert (run.returncode, said) == (130, b"")
    assert document["finish_reason"] == "interrupted"
    assert len(document["tokens"]) > 0


def test_ctrl_c_leaves_json_lines_whole(model: list[str]) -> None:
    run = subprocess.Popen(
        [*GLASS, *model, *FOR_EVER, "--jsonl"],
        bufsize=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert run.stdout is not None
    first = run.stdout.readline()
    run.send_signal(signal.SIGINT)
    rest, said = run.communicate(timeout=60)
    events = [json.loads(line) for line in [first, *rest.splitlines()]]
    assert (run.returncode, said) == (130, b"")
    assert [event["event"] for event in events] == ["token"] * (len(events) - 1) + ["done"]
    assert events[-1]["finish_reason"] == "interrupted"
    assert events[-1]["text"].startswith("".join(event["delta"] for event in events[:-1]))


def test_an_ignored_ctrl_c_stays_ignored(model: list[str]) -> None:
    run = subprocess.Popen(
        [*GLASS, *model, "Once", "-n", "200", "--jsonl", "--ignore-eos"],
        bufsize=0,
        stdout=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert run.stdout is not None
    first = run.stdout.readline()
    run.send_signal(signal.SIGINT)
    rest, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert json.loads([first, *rest.splitlines()][-1])["finish_reason"] == "length"


# The writer of the file stops when it has begun, and waits for the signal.
STOPS = """
import sys, time, numpy
from glasscli.cli.app import main
def stop(file, **arrays):
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    time.sleep(60)
numpy.savez = stop
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_a_signal_in_an_export_leaves_the_old_file_alone(
    tiny_model_folder: Path, tmp_path: Path, signum: int, code: int
) -> None:
    path = tmp_path / "a.npz"
    path.write_text("before")
    args = [sys.executable, "-c", STOPS, "dump-attn", "-m", str(tiny_model_folder), "-o", str(path)]
    run = subprocess.Popen(args, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert run.stdout is not None
    assert run.stdout.readline() == b"begun\n"
    run.send_signal(signum)
    out, said = run.communicate(timeout=60)
    assert (run.returncode, out, said) == (code, b"", b"")
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]
    assert path.read_text() == "before"


def test_an_ignored_hang_up_stays_ignored(tiny_model_folder: Path, tmp_path: Path) -> None:
    args = [*GLASS, "dump-attn", "-m", str(tiny_model_folder), "-o", str(tmp_path / "a.npz"), " The cat." * 40]
    run = subprocess.Popen(
        args, stderr=subprocess.PIPE, env=environment(), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    while run.poll() is None:
        run.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    _, said = run.communicate(timeout=60)
    assert (run.returncode, said[:13]) == (0, b"glass: wrote ")
