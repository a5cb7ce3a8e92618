"""What is asked about a model, apart from the model: how long, how many, which dtypes, engine and ranks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from glasscli.budget.engines import ENGINES
from glasscli.budget.plan import Budget, plan
from glasscli.budget.request import Request
from glasscli.budget.subjects import Subject


@dataclass(frozen=True)
class Settings:
    """One plan for any model.

    `tokens` are the contexts to size, the longest of which is the one that answers with a single number are
    about. `draft` is a model that drafts tokens for it. `options` go to the engine by name; `usual` are its defaults on
    the device that is asked about, where they depend on it.
    """

    tokens: tuple[int, ...] = (8192,)
    batch: int = 1
    k_dtype: str | None = None
    v_dtype: str | None = None
    state_dtype: str | None = None
    engine: str = "logical"
    encoder_tokens: int | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dcp: int = 1
    pcp: int = 1
    ep: bool = False
    prefix_shared: int = 0
    draft: Subject | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    usual: Mapping[str, Any] = field(default_factory=dict)

    @property
    def main(self) -> int:
        """The context that answers with a single number are about."""
        return max(self.tokens)

    @property
    def n_ranks(self) -> int:
        """Devices that the plan is split over."""
        return self.tp * self.pp * self.dp * self.pcp

    def request(self, subject: Subject, tokens: int | None = None) -> Request:
        """The plan for `subject` at `tokens` (default: the main context)."""
        return Request(
            layout=subject.layout,
            logical=subject.logical,
            tokens=self.main if tokens is None else tokens,
            batch=self.batch,
            k_dtype=self.k_dtype,
            v_dtype=self.v_dtype,
            state_dtype=self.state_dtype,
            engine=self.engine,
            encoder_tokens=self.encoder_tokens,
            tp=self.tp,
            pp=self.pp,
            dp=self.dp,
            dcp=self.dcp,
            pcp=self.pcp,
            ep=self.ep,
            prefix_shared=self.prefix_shared,
            draft=self.draft.layout if self.draft is not None else None,
            options=self.options,
            usual=self.usual,
        )

    def budget(self, subject: Subject, tokens: int | None = None) -> Budget:
        """The bytes of `subject` at `tokens` (default: the main context)."""
        return plan(self.request(subject, tokens))

    def spread_over(self, n_devices: int) -> "Settings":
        """The same plan over so many devices, split as the engine does where nothing says how."""
        return replace(self, pp=n_devices) if ENGINES[self.engine].spread == "pp" else replace(self, tp=n_devices)

    def with_dtype(self, name: str) -> "Settings":
        """The same plan with keys and values stored as `name`."""
        return replace(self, k_dtype=name, v_dtype=name)
