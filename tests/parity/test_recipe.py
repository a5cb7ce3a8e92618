"""The recipe of the shipped weights, run small: it resumes where it was killed, and exports what it trained."""

import json
import math
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from glasscli import load_model
from glasscli.inspect.probes import probe_heads, probe_uniform, repeat_probes
from glasscli.inspect.scoring import score_stories
from glasscli.weights.recipe.average import average, go_on, tail_mean
from glasscli.weights.recipe.card import Card, sharing_section
from glasscli.weights.recipe.checkpoint import Progress
from glasscli.weights.recipe.data import IGNORE, Corpus, Story, cut_windows, fill_batches, read_stories
from glasscli.weights.recipe.evaluate import HeldOut, Score
from glasscli.weights.recipe.export import choose_dtype, export, greedy, rounded, try_dtypes
from glasscli.weights.recipe.heads import Head, measure, patterns, told_twice
from glasscli.weights.recipe.model import Llama, Shape
from glasscli.weights.recipe.muon import orthogonalise
from glasscli.weights.recipe.names import POOL_OF
from glasscli.weights.recipe.settings import DECAY, Settings
from glasscli.weights.recipe.sharing import compare_kv_heads
from glasscli.weights.recipe.stories import PROMPTS, Written, repeated_share, words_of, write
from glasscli.weights.recipe.tokenizer import END_ID, train_tokenizer
from glasscli.weights.recipe.train import Run

SHAPE = Shape(vocab_size=300, dim=32, n_layers=2, n_heads=2, n_kv_heads=1, head_dim=16, ffn_dim=48)
STORIES = [
    f'Once there was a {size} {animal} named {name}. {name} saw a {thing}. {name}\'s friend Lily said, "Run!" The end.'
    for size in ("big", "small")
    for animal in ("cat", "dog", "bird")
    for name in ("Tim", "Sue")
    for thing in ("ball", "tree", "long " * 150 + "road")
]

# Trains a tiny model in the folder given; a checkpoint follows every step.
TRAIN = f"""
import sys, torch
from pathlib import Path
from glasscli.weights.recipe.average import average, go_on, tail_mean
from glasscli.weights.recipe.data import Corpus
from glasscli.weights.recipe.evaluate import HeldOut
from glasscli.weights.recipe.model import Shape
from glasscli.weights.recipe.settings import DECAY, Settings
from glasscli.weights.recipe.tokenizer import load_or_train
from glasscli.weights.recipe.train import Run
torch.set_num_threads(1)
stories = {STORIES!r}
folder = Path(sys.argv[1])
settings = Settings(
    total_tokens=9_000, decay_tokens=3_000, warmup_tokens=500, batch_tokens=512
)
tokenizer = load_or_train(folder / "tokenizer.json", stories, 300)
run = Run(folder, settings, {SHAPE!r}, compiled=False)
corpus = Corpus(stories[2:], tokenizer)
run.train(corpus, HeldOut(stories[:2], tokenizer), save_every_s=0, score_every=1_000)
"""


def train(folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    return subprocess.Popen([sys.executable, "-c", TRAIN, str(folder)], stderr=subprocess.DEVNULL)


def state(folder: Path) -> dict[str, Any]:
    return torch.load(folder / "checkpoint.pt", weights_only=True)


def untimed(curve: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{name: x for name, x in point.items() if name not in ("cpu_s", "wall_s")} for point in curve]


def test_a_killed_run_goes_on_to_the_very_same_end(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert train(whole).wait() == 0
    for n_saved in (3, 9):  # killed twice, each time some steps after its start
        process = train(killed)
        while process.poll() is None:
            if (killed / "checkpoint.pt").exists() and state(killed)["progress"]["step"] >= n_saved:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.01)
        assert process.wait() == -signal.SIGKILL, "it ended before it could be killed"
    assert train(killed).wait() == 0

    expected, found = state(whole), state(killed)
    assert found["progress"]["tokens"] == expected["progress"]["tokens"] >= 9_000, "the end is kept"
    assert untimed(found["progress"]["curve"]) == untimed(expected["progress"]["curve"])
    assert len(expected["progress"]["curve"]) >= 9
    for name, tensor in expected["model"].items():
        assert torch.equal(found["model"][name], tensor), name
    assert expected["progress"]["curve"][-1]["val_nats"] < 0.7 * expected["progress"]["curve"][0]["val_nats"]


def test_every_token_is_a_target_once_and_has_its_story_before_it() -> None:
    ids = torch.arange(1300).numpy()
    seen = []
    for window in cut_windows(ids, overlap=64):
        assert len(window.inputs) <= 512
        counted = window.targets != IGNORE
        assert (window.targets[counted] == window.inputs[counted] + 1).all()
        assert window.inputs[0] == 0 or counted.argmax() == 64
        seen += window.targets[counted].tolist()
    assert seen == list(range(1, 1300))


def test_batches_hold_every_target_of_an_epoch() -> None:
    tokenizer = train_tokenizer(STORIES, 300)
    corpus = Corpus(STORIES, tokenizer)
    settings = Settings(seed=3, batch_tokens=1024, swap_share=0.0)
    batches = corpus.epoch(settings, 1)
    expected = sorted(i for text in STORIES for i in [*tokenizer.encode(text).ids[1:], END_ID])
    assert sorted(int(i) for _, targets in batches for i in targets[targets != IGNORE]) == expected
    again = corpus.epoch(settings, 1)
    assert all(
        torch.equal(a, b) for one, two in zip(batches, again, strict=True) for a, b in zip(one, two, strict=True)
    )


def test_names_change_and_nothing_else_does() -> None:
    tokenizer = train_tokenizer(STORIES, 300)
    corpus = Corpus(STORIES, tokenizer)
    text = "Sue met Tim. Tim's cat, Timothy, sat by Sue and Lily."
    story = Story(text, tokenizer)
    assert story.names == ["Sue", "Tim", "Lily"]
    assert story.ids(corpus.spell, {}).tolist() == [*tokenizer.encode(text).ids, END_ID]
    renamed = {"Sue": "Mia", "Tim": "Max", "Lily": "Sue"}
    expected = "Mia met Max. Max's cat, Timothy, sat by Mia and Sue."
    assert tokenizer.decode(story.ids(corpus.spell, renamed).tolist()) == expected
    assert all(POOL_OF[old] == POOL_OF[new] for old, new in renamed.items())


def test_rate_goes_up_stays_and_falls_to_zero() -> None:
    settings = Settings(total_tokens=100, decay_tokens=40, warmup_tokens=10, batch_tokens=1)
    assert [settings.rate(tokens) for tokens in (4, 9, 30, 60, 80, 100)] == [0.5, 1.0, 1.0, 1.0, 0.5, 0.0]
    short = DECAY.scaled(0.1)
    assert (short.decay_tokens, short.batch_tokens) == (DECAY.decay_tokens // 10, DECAY.batch_tokens)


def test_the_second_part_begins_where_the_first_ended(tmp_path: Path) -> None:
    assert train(tmp_path / "first").wait() == 0
    before, after = (tmp_path / name / "checkpoint.pt" for name in ("first", "second"))
    expected = state(before.parent)
    settings = Settings(seed=1, total_tokens=15_000, decay_tokens=1_000, batch_tokens=512)
    go_on(before, after, settings)
    second = Run(after.parent, Settings(), SHAPE, compiled=False)
    assert second.settings == settings
    assert (second.progress.tokens, second.progress.batch) == (expected["progress"]["tokens"], 0)
    assert second.progress.epoch == expected["progress"]["epoch"] + 1
    for name, tensor in second.model.state_dict().items():
        assert torch.equal(tensor, expected["model"][name]), name
    go_on(before, after, Settings())
    assert Run(after.parent, Settings(), SHAPE, compiled=False).settings == settings, "it began anew"


def test_an_average_weighs_each_checkpoint_by_its_share(tmp_path: Path) -> None:
    for name, value in (("a", 1.0), ("b", 5.0)):
        run = Run(tmp_path / name, Settings(), SHAPE, compiled=False)
        with torch.no_grad():
            for param in run.model.parameters():
                param.fill_(value)
        run.save()
    paths = [tmp_path / name / "checkpoint.pt" for name in "ab"]
    mean = average(SHAPE, dict(zip(paths, (0.25, 0.75), strict=True)))
    assert all((param == 4.0).all() for param in mean.parameters())
    run.save(tmp_path / "c")
    mean = tail_mean(SHAPE, paths, tmp_path / "c")  # .2 · 1 + .2 · 5 + .6 · 5
    assert all(torch.allclose(param, torch.full_like(param, 4.2)) for param in mean.parameters())


def test_the_weights_at_a_point_are_kept(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(STORIES, 300)
    settings = Settings(total_tokens=3_000, warmup_tokens=500, batch_tokens=512)
    run = Run(tmp_path, settings, SHAPE, compiled=False)
    run.train(Corpus(STORIES[2:], tokenizer), HeldOut(STORIES[:2], tokenizer), points=(1, 2_000, 9_000))
    kept = [torch.load(run.point(tokens), weights_only=True) for tokens in (1, 2_000)]
    assert kept[0]["progress"]["step"] == 1
    assert 2_000 <= kept[1]["progress"]["tokens"] < 2_600
    assert not run.point(9_000).exists()
    assert not torch.equal(kept[0]["model"]["model.norm.weight"], kept[1]["model"]["model.norm.weight"])


@pytest.mark.parametrize(("rows", "cols"), [(48, 48), (96, 32), (32, 96)])
def test_muon_updates_are_nearly_orthogonal(rows: int, cols: int) -> None:
    torch.manual_seed(0)
    matrices = torch.randn(3, rows, cols) * 7
    singular = torch.linalg.svdvals(orthogonalise(matrices))
    assert 0.6 < singular.min() < singular.max() < 1.3
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    assert (orthogonalise(matrices) * (u @ v)).sum() > 0.9 * orthogonalise(matrices).norm() * (u @ v).norm()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_transformers_computes_the_exported_model_alike(tmp_path: Path, dtype: str) -> None:
    import transformers

    torch.manual_seed(1)
    model = Llama(SHAPE)
    with torch.no_grad():
        for param in model.parameters():  # output matrices start at zero, which would hide the blocks
            param.add_(0.2 * torch.randn_like(param))
    tokenizer = train_tokenizer(STORIES, SHAPE.vocab_size)
    export(model, tokenizer, tmp_path, dtype)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, dtype=torch.float32, attn_implementation="eager"
    )
    assert theirs.num_parameters() == sum(param.numel() for param in model.parameters())
    ids = torch.tensor([random.Random(2).choices(range(SHAPE.vocab_size), k=91)])
    with torch.no_grad():
        found = theirs(ids, output_attentions=True)
        torch.testing.assert_close(rounded(model, dtype)(ids), found.logits, rtol=1e-4, atol=1e-4)
        ours = patterns(rounded(model, dtype), ids[0].tolist())
    torch.testing.assert_close(ours, torch.cat(found.attentions), rtol=1e-4, atol=1e-4)


def test_glass_scores_what_the_evaluation_scores(tmp_path: Path) -> None:
    """The same tokens, bytes and nats, a story of several windows included."""
    torch.manual_seed(1)
    model = Llama(SHAPE)
    with torch.no_grad():
        for param in model.parameters():
            param.add_(0.2 * torch.randn_like(param))
    tokenizer = train_tokenizer(STORIES, SHAPE.vocab_size)
    export(model, tokenizer, tmp_path, "float32")
    stories = [*STORIES[:3], " ".join(STORIES[3:] * 20)]
    theirs = HeldOut(stories, tokenizer).score(model)
    ours = score_stories(load_model(tmp_path), "\n<|endoftext|>\n".join(stories))
    assert max(token.window for token in ours.tokens) > 1
    assert (len(ours.tokens), ours.n_bytes) == (theirs.n_tokens, theirs.n_bytes)
    assert ours.nats == pytest.approx(theirs.nats, rel=1e-5)
    assert ours.bits_per_byte == pytest.approx(theirs.bits_per_byte, rel=1e-5)


def test_the_dtype_is_the_first_that_changes_no_greedy_token() -> None:
    tokenizer = train_tokenizer(STORIES, SHAPE.vocab_size)
    torch.manual_seed(0)
    model = Llama(SHAPE)
    with torch.no_grad():
        for param in model.parameters():
            param.copy_(param.bfloat16())
    trials = try_dtypes(model, STORIES, tokenizer, n_tokens=5)
    assert [(trial.dtype, trial.n_changed) for trial in trials][1] == ("bfloat16", 0)
    changed = [trial for trial in trials if trial.n_changed]
    assert choose_dtype(changed) == "float32"
    assert choose_dtype(trials[1:]) == "bfloat16"
    prompts = torch.tensor([tokenizer.encode(STORIES[0]).ids[:8]])
    ids = greedy(model, prompts, 3)
    assert ids[0, 8] == model(prompts)[0, -1].argmax()


def test_head_scores_of_a_hand_made_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that always looks one back, and one that looks 23 back (where it can, else at the first)."""

    def made(model: Llama, token_ids: list[int]) -> torch.Tensor:
        n_tokens = len(token_ids)
        at = torch.arange(n_tokens)
        pattern = torch.zeros(2, 2, n_tokens, n_tokens)
        pattern[:, 0, at, (at - 1).clamp(min=0)] = 1
        pattern[:, 1, at, (at - 23).clamp(min=0)] = 1
        return pattern

    monkeypatch.setattr("glasscli.weights.recipe.heads.patterns", made)
    one_back, far_back = measure(Llama(SHAPE), STORIES[:3], train_tokenizer(STORIES, 300))[:2]
    assert one_back.previous == pytest.approx(1.0)
    assert (one_back.induct, far_back.induct) == (0.0, pytest.approx(1.0))
    assert far_back.induct_sd == pytest.approx(0.0, abs=1e-6)
    assert far_back.uniform == pytest.approx(sum(1 / (p + 1) for p in range(25, 49)) / 24)


def test_head_scores_are_those_that_glass_measures() -> None:
    """On the shipped weights, probe by probe drawn alike: mean and standard deviation."""
    shipped = load_model()
    model = Llama(Shape())
    model.load_state_dict(load_file(shipped.folder / "model.safetensors"))
    found = measure(model, STORIES[:1], train_tokenizer(STORIES, 300))
    probes = repeat_probes(shipped)
    assert told_twice(1024) == probes
    uniform = probe_uniform(probes).mean.induct
    glass = probe_heads(shipped, probes)
    for head in found:
        probed = glass[head.layer][head.head]
        assert (head.induct, head.induct_sd) == pytest.approx((probed.mean.induct, probed.induct_sd), abs=1e-4)
        assert head.uniform == pytest.approx(uniform)


def test_a_story_that_stands_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "stories.txt"
    path.write_text("One.\nTwo.\n<|endoftext|>\nThree.\n<|endoftext|>\nOne.\nTwo.\n<|endoftext|>\n")
    assert read_stories(path) == ["One.\nTwo.", "Three."]


def test_leftover_rows_move_up_and_empty_rows_end() -> None:
    windows = [w for n in (100, 150, 500) for w in cut_windows(torch.arange(n).numpy(), overlap=64)]
    batches = list(fill_batches(windows, batch_tokens=2048))
    assert [tuple(inputs.shape) for inputs, _ in batches] == [(4, 512)]
    assert (batches[0][1] != IGNORE).sum() == 99 + 149 + 499


def test_two_kv_heads_are_compared_by_the_same_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run small: each has its own shape, all end at the same token, and the cache is what glass allocates."""
    monkeypatch.setattr("glasscli.weights.recipe.sharing.TABLE", tmp_path / "kv-heads.json")
    monkeypatch.setattr("glasscli.weights.recipe.sharing.TOKENS", 60_000)
    monkeypatch.setattr("glasscli.weights.recipe.sharing.KV_HEADS", (4, 1))
    tokenizer = train_tokenizer(STORIES, Shape().vocab_size)
    corpus, held_out = Corpus(STORIES[2:], tokenizer), HeldOut(STORIES[:2], tokenizer)
    compare_kv_heads(corpus, held_out, tokenizer, tmp_path, compiled=False)
    rows = json.loads((tmp_path / "kv-heads.json").read_text())
    assert [row["n_kv_heads"] for row in rows] == [4, 1]
    assert rows[0]["tokens"] == rows[1]["tokens"] >= 60_000
    assert rows[0]["n_parameters"] - rows[1]["n_parameters"] == 4 * 2 * 3 * 32 * 128
    for row in rows:
        loaded = load_model(tmp_path / f"kv-heads-{row['n_kv_heads']}" / "model")
        cache = loaded.model.new_cache(8)
        assert row["cache_bytes_per_token"] == cache.nbytes / 8 / 2  # glass keeps float32 here, the table says float16
        assert row["curve"][-1][0] == row["tokens"]
    section = sharing_section(rows)
    assert f"| 1 | {rows[1]['n_parameters']:,} | {rows[1]['nats_per_token']:.4f} |" in section


def test_what_is_counted_in_a_story() -> None:
    """By hand: `a b c d e a b c d` has six runs of four words, one of them twice."""
    story = Written("A b", 1, " c d, e. A b c d!", ended=True, unknown=())
    assert story.grams == (6, 1)
    assert repeated_share([story, Written("x", 1, " y", ended=False, unknown=())]) == 1 / 6
    assert words_of("Mom's cat-fish said “Don't!” 3 times") == ["mom's", "cat", "fish", "said", "don't", "times"]
    assert len(set(PROMPTS)) == 20


def test_a_story_is_what_the_command_writes() -> None:
    folder = load_model().folder
    first, second = (write(folder, PROMPTS[0], seed, {"once"}) for seed in (1, 1))
    assert first == second
    assert "once" not in first.unknown
    assert "upon" in first.unknown


def test_the_card_tells_what_it_was_given(tmp_path: Path) -> None:
    """No number of the template's own: every one that a run could change is put in."""
    (tmp_path / "model.safetensors").write_bytes(b"x" * 1234)
    heads = [Head(1, 0, 0.7, 0.1, 0.01, 0.001, 0.02), Head(2, 2, 0.1, 0.2, 0.2, 0.05, 0.02)]
    point = {"tokens": 5e6, "train_nats": 2.0, "val_nats": 1.9, "val_bits_per_byte": 0.85, "rate": 0.5, "cpu_s": 60}
    Card(
        constant=Settings(total_tokens=3_000_000),
        decay=Settings(seed=7, total_tokens=5_000_000),
        progress=Progress(tokens=5_000_000, step=77, curve=[point]),
        decayed=Score(100.0, 60, 160),
        watched=Score(99.0, 60, 160),
        last=Score(50.0, 30, 80),
        n_stories=(11, 12, 13),
        heads=heads,
        trials=[],
        dtype="float16",
        sha256="abc",
        stories=[Written("One", 1, " day.", True, ()), Written("Two", 2, " zug.", False, ("zug",))],
    ).write(tmp_path)
    card = (tmp_path / "README.md").read_text()
    nats, bits = 99 / 60, 99 / math.log(2) / 160
    assert f"| 12 | 60 | 160 | {nats:.4f} | **{bits:.4f}** |" in card
    assert f"| 13 | 30 | 80 | {50 / 30:.4f} | **{50 / math.log(2) / 80:.4f}** |" in card
    assert "Head 1.0 looks at the token before (0.70); head 2.2 finds what followed" in card
    assert "* 1 of 2 come to their end by themselves." in card
    assert "* 1 of 2 hold a word that is in no training story: zug." in card
    assert "`Two`, seed 2:\n\n```text\nTwo zug.\n(cut where the context ends)\n```" in card
    assert "5.0 M tokens in 77 steps" in card
