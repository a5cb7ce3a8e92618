"""A plan as the command line of the engine that would run it.

What an engine can't be told is refused by name, never dropped.
"""

from fractions import Fraction

from glasscli.budget.drafting import Drafter
from glasscli.budget.engines import servers
from glasscli.budget.engines.engine import Served
from glasscli.budget.plan import Budget
from glasscli.budget.questions import Settings
from glasscli.errors import ConfigError, UsageError


def command_line(
    engine: str,
    settings: Settings,
    budget: Budget,
    model_dtype: str,
    model: str,
    available: int | None = None,
    utilization: Fraction | None = None,
    drafts_itself: bool = False,
    drafter: Drafter | None = None,
) -> list[str]:
    """The words of the command that serves `settings.batch` sequences of `settings.main` tokens.

    `model` is what the engine is to load; `available` the bytes for the cache on one rank, if they are fixed;
    `utilization` its share of a device, if that is; `model_dtype` the cache's when nobody says one, empty where the
    checkpoint fixes another; `drafts_itself` whether the model has layers that draft, `drafter` a model beside it.
    Raises ConfigError for whatever the engine can't be told, UsageError for an engine without a command line.
    """
    found = servers().get(engine)
    if found is None:
        raise UsageError(f"{engine} has no command line; {' and '.join(servers())} have")
    if utilization is not None and not found.takes_a_share:
        why = found.no_share or f"{found.title}'s command line can't be told of a share of a device"
        raise ConfigError(why, "utilization")
    if drafter is not None and not found.takes_a_drafter:
        raise ConfigError(f"{found.title}'s command line for a drafting model is not known here", "draft")
    roles = frozenset(role for line in budget.lines for role, _ in line.held)
    return found.command_line(
        Served(
            settings,
            budget.k_dtype,
            budget.v_dtype,
            model,
            model_dtype,
            available,
            roles,
            utilization,
            drafts_itself,
            drafter,
        )
    )
