"""Swapping the names of a story's people, so that names must be read and not remembered.

The corpus is small enough to be seen dozens of times. Telling "Lily and Tom" now and then as
"Sue and Max" costs nothing, keeps the plot from being tied to a name, and rewards the heads that
look back to where a name stood first. New names are drawn as often as the corpus uses them.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence

# Common in the corpus, and never an ordinary word at the start of a sentence ("Grace", "Joy", "Will" are).
GIRLS = (
    "Lily Sue Lucy Mia Anna Amy Sally Jane Sara Sarah Molly Emma Jill Mary Lila Emily Jenny Bella Lisa "
    "Alice Mimi Jen Polly Ann Susie Ella Mandy Betty Luna Kate Lola Sophie Rosie Lilly Tina Julie Milly "
    "Maria Annie Rachel Julia Abigail Cindy Maggie Clara Zara Sophia Nora"
)
BOYS = (
    "Tim Tom Max Ben Sam Timmy Jack Bob John Joe Billy Tommy Benny Jimmy Sammy Jake Peter Bobby Jim Andy "
    "Fred Pete Alex Leo Jerry Toby Danny Johnny George Tony Henry James Charlie Joey Ted Steve Mike Harry "
    "Oliver Todd Paul Rob David Dan Daniel Jason"
)
POOLS = tuple(tuple(names.split()) for names in (GIRLS, BOYS))
POOL_OF = {name: pool for pool in POOLS for name in pool}


def count_names(words: Iterable[str]) -> Counter[str]:
    """How often each known name occurs; every known name counts at least once."""
    counts = Counter(dict.fromkeys(POOL_OF, 1))
    counts.update(word for word in words if word in POOL_OF)
    return counts


def choose_names(names: Sequence[str], counts: Counter[str], rng: random.Random) -> dict[str, str]:
    """A new name for each of a story's names: of the same pool, all different, as common as drawn."""
    chosen: dict[str, str] = {}
    for name in names:
        pool = [other for other in POOL_OF[name] if other not in chosen.values()]
        chosen[name] = rng.choices(pool, weights=[counts[other] for other in pool])[0]
    return chosen
