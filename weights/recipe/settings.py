"""Every number of the two runs, and the learning rate as a function of tokens seen."""

from dataclasses import dataclass, replace

NEVER = 10**12  # tokens, more than any run sees


@dataclass(frozen=True)
class Settings:
    """How one run goes. Rates, shares, and counts of target tokens; defaults are those of the first run.

    Attributes:
        total_tokens: where the rate reaches zero.
        decay_tokens: how long before that it begins to fall.
        stop_tokens: where the run ends, if before `total_tokens`.
        branch_tokens: where a copy is kept for another run to begin with.
        batch_tokens: inputs in a batch, padding included.
        swap_share: stories whose people get new names.
        extra_share: tokens from the second collection, in epochs that begin before `extra_until_tokens`.
    """

    seed: int = 0
    total_tokens: int = 68_000_000
    decay_tokens: int = 36_100_000
    stop_tokens: int = 60_723_000
    branch_tokens: int = 31_833_000
    warmup_tokens: int = 1_000_000
    batch_tokens: int = 8_192
    muon_lr: float = 0.025
    adam_lr: float = 6e-3
    weight_decay: float = 0.025
    swap_share: float = 0.5
    extra_share: float = 0.2
    extra_until_tokens: int = 10_000_000

    @property
    def end(self) -> int:
        """Tokens after which the run is over."""
        return min(self.total_tokens, self.stop_tokens)

    def rate(self, tokens: int) -> float:
        """Factor on both learning rates: up, constant, then down in a line to zero.

        Source: Hu et al. 2024, arXiv:2404.06395, section 4 (warm up, stay, decay).
        """
        up = min(1.0, (tokens + self.batch_tokens) / self.warmup_tokens)
        down = min(1.0, (self.total_tokens - tokens) / self.decay_tokens)
        return max(0.0, min(up, down))

    def scaled(self, share: float) -> "Settings":
        """The same run in fewer tokens, all its parts in proportion."""
        names = ("total_tokens", "decay_tokens", "stop_tokens", "branch_tokens", "warmup_tokens", "extra_until_tokens")
        return replace(self, **{name: max(1, int(getattr(self, name) * share)) for name in names})


# Seen sixty million tokens, the first run had begun to know its stories by heart. The second leaves it
# halfway, reads in another order with more other names and fables, and forgets what only one of them learnt
# when their weights are averaged.
FIRST = Settings()
SECOND = replace(
    FIRST,
    seed=1,
    total_tokens=52_000_000,
    decay_tokens=20_166_003,
    stop_tokens=NEVER,
    branch_tokens=NEVER,
    swap_share=0.8,
    extra_share=0.3,
    extra_until_tokens=NEVER,
)

# What each checkpoint counts for in the shipped model.
SHARES = {"branch": 0.1, "first": 0.45, "second": 0.45}
