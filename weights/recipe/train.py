"""The training loop: batches in, a falling loss out, stopped and resumed at will.

Muon moves the matrices of the blocks, AdamW the embedding and the norms. Matrix products run in
bfloat16 where PyTorch's autocast says so; weights, norms, gradients and updates stay in float32.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from . import checkpoint
from .checkpoint import Progress
from .data import IGNORE, Corpus
from .evaluate import HeldOut
from .model import Llama, Shape
from .muon import Muon
from .settings import Settings

Loss = Callable[[Tensor, Tensor], Tensor]


class Run:
    """A model in training, with all that a checkpoint holds."""

    def __init__(self, folder: Path, settings: Settings, shape: Shape, compiled: bool = True) -> None:
        """Start anew in `folder`, or go on from its checkpoint (whose settings then hold)."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "checkpoint.pt"
        self.settings, self.progress = settings, Progress()
        torch.manual_seed(settings.seed)
        self.model = Llama(shape)
        self.optimizers = make_optimizers(self.model, settings)
        if self.path.exists():
            self.settings, self.progress, state = checkpoint.load(self.path)
            self.model.load_state_dict(state["model"])
            for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(saved)
        self.loss: Loss = self.model.loss
        if compiled:
            torch._dynamo.config.recompile_limit = 32  # one graph for each row width
            self.loss = torch.compile(self.model.loss, dynamic=False)
        self._clock = (time.process_time(), time.perf_counter())

    def save(self, path: Path | None = None) -> None:
        self._tick()
        checkpoint.save(path or self.path, self.settings, self.progress, self.model, self.optimizers)

    def _tick(self) -> None:
        """Add the time since the last tick to the run's totals."""
        now = (time.process_time(), time.perf_counter())
        self.progress.cpu_s += now[0] - self._clock[0]
        self.progress.wall_s += now[1] - self._clock[1]
        self._clock = now

    def step(self, inputs: Tensor, targets: Tensor) -> float:
        """Learn from one batch; its mean loss in nats per token."""
        factor = self.settings.rate(self.progress.tokens)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = factor * group["full_lr"]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = self.loss(inputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.progress.step += 1
        self.progress.batch += 1
        self.progress.tokens += int((targets != IGNORE).sum())
        nats = float(loss.detach())
        self.progress.loss_sum += nats
        self.progress.loss_count += 1
        return nats

    def point(self, tokens: int) -> Path:
        """Where the weights are kept that it had at so many tokens."""
        return self.path.with_name(f"{tokens}.pt")

    def train(
        self,
        corpus: Corpus,
        held_out: HeldOut,
        save_every_s: float = 60.0,
        score_every: int = 3_000_000,
        points: Sequence[int] = (),
    ) -> None:
        """Go on to the end of the schedule, saving and scoring on the way; the weights at `points` are kept."""
        report = Report(self.progress.tokens)
        saved_at = time.perf_counter()
        while self.progress.tokens < self.settings.total_tokens:
            for inputs, targets in self._rest_of_epoch(corpus):
                before = self.progress.tokens
                report.add(self.step(inputs, targets), self)
                if before // score_every < self.progress.tokens // score_every:
                    self.score(held_out, report)
                for tokens in points:
                    if before < tokens <= self.progress.tokens:
                        self.save(self.point(tokens))
                if time.perf_counter() - saved_at > save_every_s:
                    self.save()
                    saved_at = time.perf_counter()
                if self.progress.tokens >= self.settings.total_tokens:
                    break
            else:
                self.progress.epoch += 1
                self.progress.batch = 0
        if not self.progress.curve or self.progress.curve[-1]["tokens"] < self.progress.tokens:
            self.score(held_out, report)
        self.save()

    def _rest_of_epoch(self, corpus: Corpus) -> list[tuple[Tensor, Tensor]]:
        """This epoch's batches from where it stands."""
        progress = self.progress
        return corpus.epoch(self.settings, progress.epoch)[progress.batch :]

    def score(self, held_out: HeldOut, report: "Report") -> None:
        """Add a point to the curve."""
        score = held_out.score(self.model)
        self._tick()
        point = {
            "tokens": self.progress.tokens,
            "train_nats": self.progress.loss_sum / max(1, self.progress.loss_count),
            "val_nats": score.nats_per_token,
            "val_bits_per_byte": score.bits_per_byte,
            "rate": self.settings.rate(self.progress.tokens),
            "cpu_s": self.progress.cpu_s,
            "wall_s": self.progress.wall_s,
        }
        self.progress.loss_sum, self.progress.loss_count = 0.0, 0
        self.progress.curve.append(point)
        report.point(point)


class Report:
    """Progress on stderr: one line, rewritten on a terminal, else a new one every half minute."""

    def __init__(self, tokens: int) -> None:
        self.start = (time.perf_counter(), tokens)
        self.recent: deque[float] = deque(maxlen=50)
        self.shown_at = 0.0
        self.live = sys.stderr.isatty()

    def add(self, loss: float, run: Run) -> None:
        self.recent.append(loss)
        now = time.perf_counter()
        if now - self.shown_at < (0.5 if self.live else 30.0):
            return
        self.shown_at = now
        done, total = run.progress.tokens, run.settings.total_tokens
        tokens_per_s = (done - self.start[1]) / (now - self.start[0])
        left_s = (total - done) / tokens_per_s
        bar = "█" * (20 * done // total)
        line = (
            f"{bar:░<20} {done / 1e6:.1f} of {total / 1e6:.0f} M tokens  loss {sum(self.recent) / len(self.recent):.3f}"
            f"  {tokens_per_s:,.0f} tokens/s  {left_s / 60:.0f} min left"
        )
        print(f"\r{line}\x1b[K" if self.live else line, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def point(self, point: dict[str, float]) -> None:
        line = (
            f"{point['tokens'] / 1e6:.1f} M tokens: training {point['train_nats']:.4f}, held out "
            f"{point['val_nats']:.4f} nats/token, {point['val_bits_per_byte']:.4f} bits/byte"
        )
        print(f"\r{line}\x1b[K" if self.live else line, file=sys.stderr, flush=True)


def make_optimizers(model: Llama, settings: Settings) -> list[torch.optim.Optimizer]:
    """Muon for the blocks' matrices, AdamW for the rest; norms are not decayed."""
    named = dict(model.named_parameters())
    norms = [param for param in named.values() if param.ndim == 1]
    matrices = [param for name, param in named.items() if param.ndim == 2 and "embed" not in name]
    embedding = [model.model.embed_tokens.weight]
    muon = Muon(matrices, lr=settings.muon_lr, weight_decay=settings.weight_decay)
    adam = torch.optim.AdamW(
        [{"params": embedding, "weight_decay": settings.weight_decay}, {"params": norms, "weight_decay": 0.0}],
        lr=settings.adam_lr,
        betas=(0.9, 0.98),
        eps=1e-10,
        fused=True,
    )
    for optimizer in (muon, adam):
        for group in optimizer.param_groups:
            group["full_lr"] = group["lr"]
    return [muon, adam]
