"""The model card: `card.md` with the run's own numbers put in. Whatever is true of one run only comes from here."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import torch

from .checkpoint import Progress
from .evaluate import Score
from .export import SAMPLING, DtypeTrial
from .heads import Head
from .settings import LAST_SHARE, POINTS, Settings
from .sharing import TABLE
from .stories import PROMPTS, SEEDS, Written, repeated_share

FLOOR = 0.6  # bits per byte where the bars of the curve begin


@dataclass(frozen=True)
class Card:
    """What is to be told.

    Attributes:
        constant, decay, progress: both parts of training, and how far the second has come.
        decayed: the last weights, before the mean, on the stories that the run was watched by.
        watched, last: the shipped weights on those, and on those looked at once.
        n_stories: to train on, to watch the run by, to look at once.
        remark: what else is to be said of this run.
    """

    constant: Settings
    decay: Settings
    progress: Progress
    decayed: Score
    watched: Score
    last: Score
    n_stories: tuple[int, int, int]
    heads: Sequence[Head]
    trials: Sequence[DtypeTrial]
    dtype: str
    sha256: str
    stories: Sequence[Written]
    remark: str = ""

    def write(self, folder: Path) -> None:
        """Write README.md into the model folder, whose other files must be there already."""
        template = Template(Path(__file__).with_name("card.md").read_text(encoding="utf-8"))
        size = f"{(folder / 'model.safetensors').stat().st_size:,}"
        told = {**self._training(), **self._measures(), **self._stories(), "size": size}
        (folder / "README.md").write_text(template.substitute(told), encoding="utf-8")

    def _training(self) -> dict[str, object]:
        """Settings as `constant_…` and `decay_…`, the curve, times."""
        progress = self.progress
        return {
            **{f"constant_{name}": value for name, value in vars(self.constant).items()},
            **{f"decay_{name}": value for name, value in vars(self.decay).items()},
            "constant_batch_tokens": f"{self.constant.batch_tokens:,}",
            "constant_end": millions(self.constant.total_tokens),
            "decay_end": millions(self.decay.total_tokens),
            "warmup": millions(self.constant.warmup_tokens),
            "remark": self.remark,
            "n_points": len(POINTS),
            "first_point": millions(POINTS[0]),
            "last_point": millions(POINTS[-1]),
            "last_share": percent(LAST_SHARE),
            "tokens": millions(progress.tokens),
            "steps": f"{progress.step:,}",
            "epochs": progress.epoch + 1,
            "cpu_hours": f"{progress.cpu_s / 3600:.1f}",
            "wall_hours": f"{progress.wall_s / 3600:.1f}",
            "threads": f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}",
            "cores": os.cpu_count(),
            "torch": torch.__version__.split("+")[0],
            "curve": curve_table(progress.curve),
            "plot": curve_plot(progress.curve),
            "floor": FLOOR,
        }

    def _measures(self) -> dict[str, object]:
        """How well it predicts, what its heads do, what rounding changed, what sharing heads costs."""
        names = ("train_stories", "val_stories", "last_stories")
        return {
            "nats": f"{self.watched.nats_per_token:.4f}",
            "bits": f"{self.watched.bits_per_byte:.4f}",
            "val_tokens": f"{self.watched.n_tokens:,}",
            "val_bytes": f"{self.watched.n_bytes:,}",
            "last_nats": f"{self.last.nats_per_token:.4f}",
            "last_bits": f"{self.last.bits_per_byte:.4f}",
            "last_tokens": f"{self.last.n_tokens:,}",
            "last_bytes": f"{self.last.n_bytes:,}",
            "decayed_bits": f"{self.decayed.bits_per_byte:.4f}",
            **{name: f"{count:,}" for name, count in zip(names, self.n_stories, strict=True)},
            "heads": heads_table(self.heads),
            "two_heads": two_heads(self.heads),
            "trials": trials_table(self.trials),
            "dtype": self.dtype,
            "sha256": self.sha256,
            "sharing": sharing_section(json.loads(TABLE.read_text(encoding="utf-8"))) if TABLE.exists() else "",
        }

    def _stories(self) -> dict[str, object]:
        unknown = [story for story in self.stories if story.unknown]
        words = list(dict.fromkeys(word for story in unknown for word in story.unknown))
        return {
            **SAMPLING,
            "n_written": len(self.stories),
            "n_prompts": len(PROMPTS),
            "n_seeds": len(SEEDS),
            "n_ended": sum(story.ended for story in self.stories),
            "repeated": f"{100 * repeated_share(self.stories):.1f} %",
            "n_unknown": len(unknown),
            "unknown": f": {', '.join(words)}" if words else "",
            "samples": "\n\n".join(map(sample, self.stories)),
        }


def millions(tokens: int) -> str:
    return f"{tokens / 1e6:.1f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def thinned(curve: Sequence[dict[str, float]], n_points: int) -> list[dict[str, float]]:
    """At most about `n_points` of the curve, the last among them."""
    step = max(1, round(len(curve) / n_points))
    return list(curve[::-1][::step][::-1])


def curve_table(curve: Sequence[dict[str, float]]) -> str:
    lines = [
        "| million tokens | rate | training nats/token | held-out nats/token | held-out bits/byte | CPU minutes |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {point['tokens'] / 1e6:.1f} | {point['rate']:.2f} | {point['train_nats']:.3f} | {point['val_nats']:.4f} "
        f"| {point['val_bits_per_byte']:.4f} | {point['cpu_s'] / 60:.0f} |"
        for point in thinned(curve, 30)
    ]
    return "\n".join(lines)


def curve_plot(curve: Sequence[dict[str, float]], width: int = 50) -> str:
    """Held-out bits per byte as bars that begin at FLOOR."""
    points = thinned(curve, 16)
    most = max(point["val_bits_per_byte"] for point in points) - FLOOR
    return "\n".join(
        f"{point['tokens'] / 1e6:6.1f} M {'█' * max(1, round(width * (point['val_bits_per_byte'] - FLOOR) / most))} "
        f"{point['val_bits_per_byte']:.3f}"
        for point in points
    )


def heads_table(heads: Sequence[Head]) -> str:
    lines = ["| layer.head | previous | sink | induction | times uniform |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| {head.layer}.{head.head} | {head.previous:.2f} | {head.sink:.2f} | {head.induct:.3f} "
        f"± {head.induct_sd:.3f} "
        f"| {head.induct / head.uniform:.1f} |"
        for head in heads
    ]
    return "\n".join(lines)


def two_heads(heads: Sequence[Head]) -> str:
    """Which looks back one token most, and which finds what followed last time best."""
    back = max(heads, key=lambda head: head.previous)
    copies = max(heads, key=lambda head: head.induct)
    return (
        f"Head {back.layer}.{back.head} looks at the token before ({back.previous:.2f}); head "
        f"{copies.layer}.{copies.head} finds what followed last time ({copies.induct:.3f} ± {copies.induct_sd:.3f}, "
        f"{copies.induct / copies.uniform:.1f} times uniform)."
    )


def trials_table(trials: Sequence[DtypeTrial]) -> str:
    lines = ["| dtype | prompts whose 100 greedy tokens changed | largest change of a logit |", "| --- | ---: | ---: |"]
    lines += [f"| {t.dtype} | {t.n_changed} of {t.n_prompts} | {t.largest_logit_change:.4f} |" for t in trials]
    return "\n".join(lines)


def sharing_section(rows: Sequence[dict[str, Any]]) -> str:
    """What 4, 2 and 1 KV heads cost when the model is trained with them."""
    lines = [
        "## What sharing KV heads costs",
        "",
        f"Trained alike from the first step, in {millions(rows[0]['tokens'])} M tokens each: the same text, seed and",
        "settings, the parts of the recipe in proportion; the last weights as they are, without a mean. One run each:",
        "how far another seed would move them is not measured. `weights/kv-heads.json` holds the curves. Decode speed",
        "is glass's own, in float32: medians of 25 rounds in turns, 400 tokens each behind a short prompt.",
        "",
        "| KV heads | parameters | held-out nats/token | bits/byte | cache bytes a token (f16) | decode, tokens/s |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['n_kv_heads']} | {row['n_parameters']:,} | {row['nats_per_token']:.4f} | {row['bits_per_byte']:.4f} "
        f"| {row['cache_bytes_per_token']:,} | {row['decode_tokens_per_s']:,.0f} |"
        for row in rows
    ]
    return "\n".join([*lines, "", ""])


def sample(story: Written) -> str:
    """A story as it was written, its prompt in front."""
    end = "" if story.ended else "\n(cut where the context ends)"
    return f"`{story.prompt}`, seed {story.seed}:\n\n```text\n{story.prompt}{story.text.rstrip()}{end}\n```"
