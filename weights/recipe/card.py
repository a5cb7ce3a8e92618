"""The model card: `card.md` with the run's own numbers put in."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from .checkpoint import Progress
from .evaluate import Score
from .export import DtypeTrial
from .heads import Head
from .settings import EARLIER_SHARE, NUDGED, POLISH, POLISH_SHARE, Settings

SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Card:
    """What is to be told: both parts of training, their mean, and how many stories the three files hold."""

    constant: Settings
    decay: Settings
    progress: Progress
    mean_score: Score
    n_stories: Sequence[int]

    def write(
        self,
        folder: Path,
        score: Score,
        other_half: Score,
        heads: Sequence[Head],
        trials: Sequence[DtypeTrial],
        dtype: str,
        sha256: str,
    ) -> None:
        """Write README.md into the model folder, whose other files must be there already.

        `other_half` is the score on the held-out stories by which the shares of the mean were not chosen.
        """
        template = Template(Path(__file__).with_name("card.md").read_text(encoding="utf-8"))
        numbers = {
            **self._numbers(),
            "nats": f"{score.nats_per_token:.4f}",
            "bits": f"{score.bits_per_byte:.4f}",
            "other_half": f"{other_half.bits_per_byte:.4f}",
            "val_tokens": f"{score.n_tokens:,}",
            "val_bytes": f"{score.n_bytes:,}",
            "heads": heads_table(heads),
            "trials": trials_table(trials),
            "dtype": dtype,
            "size": f"{(folder / 'model.safetensors').stat().st_size:,}",
            "sha256": sha256,
            "samples": "\n\n".join(sample(folder, seed) for seed in SEEDS),
        }
        (folder / "README.md").write_text(template.substitute(numbers), encoding="utf-8")

    def _numbers(self) -> dict[str, object]:
        """Those of the training: settings as `constant_…` and `decay_…`, the curve, times."""
        progress = self.progress
        counts = zip(("train_stories", "val_stories", "extra_stories"), self.n_stories, strict=True)
        return {
            **{f"constant_{name}": value for name, value in vars(self.constant).items()},
            **{f"decay_{name}": value for name, value in vars(self.decay).items()},
            **{name: f"{count:,}" for name, count in counts},
            "constant_end": millions(self.constant.total_tokens),
            "decay_end": millions(self.decay.total_tokens),
            "warmup": millions(self.constant.warmup_tokens),
            "earlier_share": f"{EARLIER_SHARE:.0%}".replace("%", " %"),
            "mean_bits": f"{self.mean_score.bits_per_byte:.4f}",
            "polish_share": f"{POLISH_SHARE:.0%}".replace("%", " %"),
            "polish_tokens": millions(POLISH.total_tokens),
            "nudge": POLISH.nudge,
            "nudged": f"{NUDGED[0]}.{NUDGED[1]}",
            "last_bits": f"{progress.curve[-1]['val_bits_per_byte']:.4f}",
            "tokens": millions(progress.tokens),
            "steps": f"{progress.step:,}",
            "epochs": progress.epoch + 1,
            "cpu_hours": f"{progress.cpu_s / 3600:.1f}",
            "wall_hours": f"{progress.wall_s / 3600:.1f}",
            "curve": curve_table(progress.curve),
            "plot": curve_plot(progress.curve),
        }


def millions(tokens: int) -> str:
    return f"{tokens / 1e6:.1f}"


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
    """Held-out bits per byte as bars that begin at 0.6."""
    points = thinned(curve, 16)
    most = max(point["val_bits_per_byte"] for point in points) - 0.6
    return "\n".join(
        f"{point['tokens'] / 1e6:6.1f} M {'█' * max(1, round(width * (point['val_bits_per_byte'] - 0.6) / most))} "
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


def trials_table(trials: Sequence[DtypeTrial]) -> str:
    lines = ["| dtype | prompts whose 100 greedy tokens changed | largest change of a logit |", "| --- | ---: | ---: |"]
    lines += [f"| {t.dtype} | {t.n_changed} of {t.n_prompts} | {t.largest_logit_change:.4f} |" for t in trials]
    return "\n".join(lines)


def sample(folder: Path, seed: int) -> str:
    """What glass itself writes at its default settings, not edited."""
    command = ["generate", "Once upon a time", "--seed", str(seed)]
    done = subprocess.run(
        [sys.executable, "-m", "glasscli", *command, "--model", str(folder)], capture_output=True, text=True, check=True
    )
    return f"Seed {seed}:\n\n```text\n{done.stdout.rstrip()}\n```"
