"""Forty stories that a model writes by itself, and three counts of what is wrong with them.

The prompts and seeds stand here before any model has seen them, and all stories are told: none is picked.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SEEDS = (1, 2)
PROMPTS = (
    "Once upon a time",
    "One day, a little boy",
    "There was a big red ball",
    "Lily and Tom were",
    "The sun was shining and",
    "A small bird sat on a branch.",
    "Mia wanted to bake a cake",
    "In a quiet forest, there lived a fox",
    "Ben had a new toy car.",
    "It was a cold and snowy day.",
    "Once there was an old man who",
    "Sara was sad because",
    "A cat and a dog were best friends.",
    "Max heard a loud noise.",
    '"Mommy, can we go to the park?"',
    "Anna found a shiny key",
    "Every night, the little bear",
    "Tim did not want to share",
    "The princess looked out of the window.",
    "On the beach, Sam saw",
)
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


@dataclass(frozen=True)
class Written:
    """One story.

    Attributes:
        text: without its prompt.
        ended: whether it came to its end by itself.
        unknown: words that stand in no training story, in any case.
    """

    prompt: str
    seed: int
    text: str
    ended: bool
    unknown: tuple[str, ...]

    @property
    def grams(self) -> tuple[int, int]:
        """How many runs of four words it has, and how many of them it had before."""
        words = words_of(self.prompt + self.text)
        runs = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
        return len(runs), len(runs) - len(set(runs))


def words_of(text: str) -> list[str]:
    """The words of a text in small letters; `Mom's` is one."""
    return [word.lower() for word in _WORD.findall(text)]


def write_stories(folder: Path, train: Iterable[str]) -> list[Written]:
    """What `glass generate` writes with the model in `folder` at its own defaults, for every prompt and seed."""
    known = {word for story in train for word in words_of(story)}
    return [write(folder, prompt, seed, known) for prompt in PROMPTS for seed in SEEDS]


def write(folder: Path, prompt: str, seed: int, known: set[str]) -> Written:
    command = [sys.executable, "-m", "glasscli", "generate", prompt, "--seed", str(seed), "--json", "-m", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    unknown = dict.fromkeys(word for word in words_of(prompt + told["text"]) if word not in known)
    return Written(prompt, seed, told["text"], told["finish_reason"] == "eos", tuple(unknown))


def repeated_share(stories: Sequence[Written]) -> float:
    """Which share of all runs of four words stood before in the same story."""
    counts = [story.grams for story in stories]
    return sum(repeated for _, repeated in counts) / max(1, sum(total for total, _ in counts))
