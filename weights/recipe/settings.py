"""Every number of the two parts of training, and the learning rate as a function of tokens seen."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """How one part goes. Rates, shares, and counts of target tokens since the very beginning.

    Attributes:
        total_tokens: where it ends.
        decay_tokens: how long before that the rate begins to fall, to reach zero there.
        batch_tokens: inputs in a batch, padding included.
        swap_share: stories whose people get new names.
        nudge: nats per token that one previous-token head, looking there alone, would be worth (see `NUDGED`).
        extra_share: tokens from the second collection, in epochs that begin before `extra_until_tokens`.
    """

    seed: int = 0
    total_tokens: int = 31_833_000
    decay_tokens: int = 1  # at once: the rate stays up to the end
    warmup_tokens: int = 1_000_000
    batch_tokens: int = 8_192
    muon_lr: float = 0.025
    adam_lr: float = 6e-3
    weight_decay: float = 0.025
    swap_share: float = 0.5
    extra_share: float = 0.2
    extra_until_tokens: int = 10_000_000
    nudge: float = 0.0

    def rate(self, tokens: int) -> float:
        """Factor on both learning rates: up, constant, then down in a line to zero.

        Source: Hu et al. 2024, arXiv:2404.06395, section 4 (warm up, stay, decay).
        """
        up = min(1.0, (tokens + self.batch_tokens) / self.warmup_tokens)
        down = min(1.0, (self.total_tokens - tokens) / self.decay_tokens)
        return max(0.0, min(up, down))

    def scaled(self, share: float) -> "Settings":
        """The same in fewer tokens, all its parts in proportion."""
        names = ("total_tokens", "decay_tokens", "warmup_tokens", "extra_until_tokens")
        return replace(self, **{name: max(1, int(getattr(self, name) * share)) for name in names})


CONSTANT = Settings()

# Small weight changes are what learns stories by heart, so this part has more fables and more changed names.
DECAY = replace(
    CONSTANT,
    seed=1,
    total_tokens=52_000_000,
    decay_tokens=20_166_003,
    swap_share=0.8,
    extra_share=0.3,
    extra_until_tokens=10**9,
)

# Then a mean is taken: this much of the weights at the end of the constant part, the rest of the decayed ones.
EARLIER_SHARE = 0.1

# A last, short part makes the head that looks back one token, (layer, head), do so more plainly, for those who watch.
NUDGED = (2, 3)
POLISH = replace(
    DECAY,
    seed=2,
    total_tokens=1_500_000,
    decay_tokens=1_500_000,
    warmup_tokens=100_000,
    muon_lr=0.0025,
    adam_lr=6e-4,
    nudge=0.3,
)

# Whole, that part would cost 0.01 bits per byte: the shipped weights are the mean and this much of it.
POLISH_SHARE = 0.2
