"""`glass kv-budget --dtype kivi4`: what KIVI's constant part is, on every form of the answer."""

import json
import shlex

import pytest
from helpers.in_process import budget, glass

HEADS = ("--hq", "4", "--hkv", "2", "--head-dim", "32", "--layers", "4")  # the shipped model's
PACKED, ROOM = 320, 2 * 4 * 2 * 32 * (63 * 4 - 20)  # 320 B a token; 63 in f32 less the 32 that are never packed


@pytest.mark.parametrize("model", [("-m", "glass-1m"), HEADS])
def test_documents_have_what_grows_and_what_does_not(model: tuple[str, ...]) -> None:
    said = budget(*model, "--dtype", "kivi4", "--ctx", "512")
    assert (said["k_dtype"], said["v_dtype"]) == ("kivi4", "kivi4")
    assert (said["bytes_per_token"], said["bytes_per_sequence_constant"]) == (PACKED, ROOM)
    assert said["bytes_total"] == said["logical_bytes"] == 512 * PACKED + ROOM
    assert said["layers"][0]["bytes_constant"] == ROOM
    assert any("kivi4 packs 32 tokens together" in text for text in said["warnings"])


def test_tables_and_curves() -> None:
    table = glass("kv-budget", "-m", "glass-1m", "--dtype", "kivi4", "--ctx", "512", "--csv").out.splitlines()
    row = dict(zip(table[0].split(","), table[1].split(","), strict=True))
    assert (row["bytes_per_sequence_constant"], row["bytes"]) == (str(ROOM), str(512 * PACKED + ROOM))
    (drawn,) = budget("-m", "glass-1m", "--dtype", "kivi4", "--sweep")["sweep"]
    assert (drawn["tokens"][-1], drawn["bytes"][-1]) == (512, 512 * PACKED + ROOM)
    assert "room for 63" in drawn["constant"]
    assert budget("-m", "glass-1m", "--sweep")["sweep"][0]["constant"] is None


@pytest.mark.parametrize("more", [(), ("--sweep",), ("-s", "residual=64")])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_every_screen_names_the_constant_part(columns: int, more: tuple[str, ...]) -> None:
    for model in (("-m", "glass-1m"), HEADS):
        page = glass("kv-budget", *model, "--dtype", "kivi4", *more, columns=columns).out
        words = " ".join(page.split())
        assert f"room for {95 if '-s' in more else 63} is constant" in words
        assert max(map(len, page.splitlines())) <= columns


@pytest.mark.parametrize("spec", ["kivi4", "k=kivi4,v=q8_0", "k=f16,v=kivi2,residual=64"])
def test_kv_quality_names_the_command_that_says_its_bytes(spec: str) -> None:
    """What the verdict prints runs, and is what a chunk was measured to take."""
    told = glass("kv-quality", "--spec", spec, "--ctx", "200", "--chunks", "1", "--json")
    (cache,) = json.loads(told.out)["caches"]
    words = glass("kv-quality", "--spec", spec, "--ctx", "200", "--chunks", "1", "--max-kld", "9").out
    line = next(line for line in words.splitlines() if "glass kv-budget" in line)
    command, *arguments = shlex.split(line)[1:]
    assert arguments[2:] == cache["flags"]["kv_budget"]
    said = json.loads(glass(command, *arguments, "--ctx", "200", "--json").out)
    assert said["bytes_total"] == cache["bytes"]
    assert said["bytes_per_token"] == cache["bytes_per_token"]
    assert said["bytes_per_sequence_constant"] == cache["constant_bytes"]


def test_refusals_say_what_to_do() -> None:
    for arguments, words, code in (
        (("-m", "gemma-3-27b"), "kivi4 packs keys and values of 32 tokens together", 1),
        (("-m", "llama-3.1-8b", "--engine", "vllm"), "vLLM has no kivi4 cache; it has f32", 1),
        (("-m", "glass-1m", "-s", "residual=40"), "residual is 40; it is a multiple of 32", 2),
    ):
        ran = glass("kv-budget", *arguments, "--dtype", "kivi4")
        assert (ran.code, ran.out) == (code, "")
        assert words in ran.err
