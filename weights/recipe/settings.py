"""Every number of the run, and the learning rate as a function of tokens seen."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """Defaults are the run that made the shipped weights. Rates, shares and counts of target tokens."""

    seed: int = 0
    total_tokens: int = 68_000_000
    decay_tokens: int = 36_100_000  # the last part, where the rate falls to zero
    warmup_tokens: int = 1_000_000
    batch_tokens: int = 8_192  # inputs in a batch, padding included
    muon_lr: float = 0.025
    adam_lr: float = 6e-3
    weight_decay: float = 0.025
    swap_share: float = 0.5  # stories whose people get new names
    extra_share: float = 0.2  # tokens from the second collection, in epochs that begin early:
    extra_until_tokens: int = 10_000_000

    def rate(self, tokens: int) -> float:
        """Factor on both learning rates: up, constant, then down in a line to zero.

        Source: Hu et al. 2024, arXiv:2404.06395, section 4 (warm up, stay, decay).
        """
        up = min(1.0, (tokens + self.batch_tokens) / self.warmup_tokens)
        down = min(1.0, (self.total_tokens - tokens) / self.decay_tokens)
        return max(0.0, min(up, down))

    @classmethod
    def of_length(cls, total_tokens: int) -> "Settings":
        """The same run in fewer tokens, its parts in proportion."""
        full = cls()
        share = total_tokens / full.total_tokens
        return replace(
            full,
            total_tokens=total_tokens,
            decay_tokens=max(1, int(full.decay_tokens * share)),
            warmup_tokens=max(1, int(full.warmup_tokens * min(1.0, share))),
        )
