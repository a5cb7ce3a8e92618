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
    """

    seed: int = 0
    total_tokens: int = 70_000_000
    decay_tokens: int = 1  # at once: the rate stays up to the end
    warmup_tokens: int = 1_000_000
    batch_tokens: int = 8_192
    muon_lr: float = 0.025
    adam_lr: float = 6e-3
    weight_decay: float = 0.1
    swap_share: float = 0.5

    def rate(self, tokens: int) -> float:
        """Factor on both learning rates: up, constant, then down in a line to zero.

        Source: Hu et al. 2024, arXiv:2404.06395, section 4 (warm up, stay, decay).
        """
        up = min(1.0, (tokens + self.batch_tokens) / self.warmup_tokens)
        down = min(1.0, (self.total_tokens - tokens) / self.decay_tokens)
        return max(0.0, min(up, down))

    def scaled(self, share: float) -> "Settings":
        """The same in fewer tokens, all its parts in proportion."""
        names = ("total_tokens", "decay_tokens", "warmup_tokens")
        return replace(self, **{name: max(1, int(getattr(self, name) * share)) for name in names})


CONSTANT = Settings()

# Another seed, so that the stories come in another order and get other names.
DECAY = replace(CONSTANT, seed=1, total_tokens=120_000_000, decay_tokens=50_000_000)

# The decay keeps the weights as they were at these counts of tokens. What is shipped is a mean: so much of the last
# weights, and half of these, each alike.
POINTS = (114_696_418, 115_725_737, 117_237_603, 118_337_429)
LAST_SHARE = 0.6
