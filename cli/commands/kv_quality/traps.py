"""What to beware of in the rows, in sentences: figures that look good and are not."""

from glasscli.cli.commands.kv_quality.figures import nats, percent
from glasscli.cli.commands.kv_quality.run import Found
from glasscli.quality.verdict import flatters, forgets, is_untried


def warnings(found: Found) -> list[str]:
    """The traps that the rows show, in sentences."""
    said, context = [], found.trial.context
    untried = [result.choice.explicit_text for result in found.results if is_untried(result.choice, context)]
    if untried:
        said.append(f"{', '.join(untried)}: chunks of {context:,} tokens are too short to drop or pack any")
    flattered = [result for result in found.results if flatters(result, found.max_kld)]
    if flattered:
        names = ", ".join(result.choice.explicit_text for result in flattered)
        upto = "up to " if len(flattered) > 1 else ""
        changed = percent(max(1 - result.divergence.same_top for result in flattered))
        worst = nats(max(result.divergence.kld for result in flattered))
        said.append(
            f"{names}: perplexity improves, yet the predictions are others: "
            f"KLD {upto}{worst}, and {upto}{changed} of the top tokens change"
        )
    forgetful = [result for result in found.results if forgets(result, found.trial.copied)]
    dropped = [result for result in forgetful if result.choice.keeps != "all"]
    if dropped:
        names = ", ".join(result.choice.explicit_text for result in dropped)
        most = max(result.copied or 0 for result in dropped)
        said.append(
            f"{names}: of a random string that the full cache repeats to {percent(found.trial.copied)}, "
            f"{percent(most) if most else 'nothing'} is left: a text like this one does not show it"
        )
    shorter = found.verdict.shorter
    if shorter is not None and shorter not in dropped:
        said.append(
            f"{shorter.choice.explicit_text} stays under the limit too and is smaller, but drops tokens: "
            "on this text they were not missed"
        )
    return said
