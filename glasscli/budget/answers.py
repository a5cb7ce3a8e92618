"""Everything there is to say about one model under one plan: bytes at each context, what fits, what a step reads."""

from dataclasses import dataclass

from glasscli.budget.decode_read import Read, decode_read
from glasscli.budget.engines import ENGINES
from glasscli.budget.fit import Fit, fit
from glasscli.budget.plan import Budget, plan
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import Subject
from glasscli.errors import ConfigError


@dataclass(frozen=True)
class Answer:
    """`budgets` has one entry for each context asked about; the rest is about the longest.

    `others` are the bytes with other dtypes, None where the dtype can't hold the model's heads.
    """

    subject: Subject
    settings: Settings
    budgets: tuple[Budget, ...]
    read: Read
    others: tuple[tuple[str, int | None], ...]
    fit: Fit | None = None

    @property
    def main(self) -> Budget:
        """The budget at the longest context."""
        return self.budgets[self.settings.tokens.index(self.settings.main)]


def answer(subject: Subject, settings: Settings, available: int | None = None) -> Answer:
    """Size `subject` under `settings`; `available` bytes a rank are what has to suffice.

    Raises ConfigError or UsageError where the engine's rule for this model is not known.
    """
    budgets = tuple(settings.budget(subject, tokens) for tokens in settings.tokens)
    request = settings.request(subject)
    held = {as_large(name) for name in (budgets[0].k_dtype, budgets[0].v_dtype)}
    names = [name for name in ENGINES[settings.engine].other_dtypes if held != {as_large(name)}]
    others = tuple((name, total(subject, settings, name)) for name in names)
    return Answer(
        subject,
        settings,
        budgets,
        decode_read(request),
        others,
        None if available is None else fit(request, available),
    )


def as_large(name: str) -> str:
    """The dtype that stands for all which are as large: nothing is learnt from a bf16 cache in f16."""
    return "f16" if name == "bf16" else name


def total(subject: Subject, settings: Settings, dtype: str) -> int | None:
    """The bytes at the main context with keys and values stored as `dtype`; None if it can't hold them."""
    try:
        return plan(settings.with_dtype(dtype).request(subject)).bytes_total
    except ConfigError:
        return None
