"""Reads outlines from their text: blocks of lines that models share, and a few lines for each model.

    block gqa
        @attention                                    the part of the lines that follow
        self_attn.q_proj   Rows x D   column   +Bias
        self_attn.sinks    H          column   ?Sinks
        when kind == 'full_attention'                 what is deeper is there only then
            use norms                                 the lines of another block
        under attn.                                   what is deeper has a longer name

    model qwen2 qwen2_like                            the types it is for
        layer gqa swiglu norms                        the blocks of each layer, and lines of its own, deeper
        once top                                      what there is once
        Bias = 1; OutBias = 0                         what words mean here; `with NAME` takes those of a group
    model qwen3_like
        like qwen2                                    all that another says, before what this one says

`name   H * E x D   column   +Bias   ?condition` is a linear map of H · E outputs and D inputs, split by outputs, with a
bias where `Bias` is true, there where the condition holds; `~` says that no quantisation touches it (a router). One
size alone is a vector. `X : M x D` stands for X of them. Two spaces end a column, `#` begins a remark. What `words
usual` says holds where a model says nothing else. `layer` and `once` may be left out: they are the plain decoder's
where there is no `stack` and no `inner`. `stack PREFIX COUNT` adds layers of another kind; `inner FIELD PART` a model
that the config nests in FIELD.

The texts are ours, so a slip in them is an assertion, and the tests read them all.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from glasscli.budget.weights.outline import Inner, Line, Lines, Outline, Stack
from glasscli.budget.weights.weight import PARTS, SPLITS, Part

FILES = Path(__file__).with_name("outlines")
LAYERS = "model.layers."
WORD = re.compile(r"([A-Z]\w*) = (.+)")
PLAIN_LAYER, PLAIN_TOP = "gqa swiglu norms", "top"


@dataclass
class Node:
    """A line of text and those deeper than it."""

    text: str
    inside: list["Node"] = field(default_factory=list)


def tree(text: str) -> list[Node]:
    """The lines of `text` by their depth, without comments and empty ones."""
    root = Node("")
    open_nodes = [(-1, root)]
    for line in text.splitlines():
        bare = line.split("#", 1)[0].rstrip()
        if not bare:
            continue
        depth = len(bare) - len(bare.lstrip())
        while open_nodes[-1][0] >= depth:
            open_nodes.pop()
        node = Node(bare.strip())
        open_nodes[-1][1].inside.append(node)
        open_nodes.append((depth, node))
    return root.inside


class Reader:
    """Blocks and models of all texts, in the order in which they are read."""

    def __init__(self) -> None:
        self.blocks: dict[str, Lines] = {}
        self.words: dict[str, Mapping[str, str]] = {}
        self.models: dict[str, Outline] = {}

    def read(self, text: str) -> None:
        """Adds what `text` says. A block stands before whatever uses it; no name comes twice."""
        for node in tree(text):
            kind, _, names = node.text.partition(" ")
            if kind == "block":
                assert names not in self.blocks, names
                self.blocks[names] = tuple(self.lines(node.inside))
                continue
            if kind == "words":
                self.words[names] = meanings(node.inside)
                continue
            assert kind == "model", node.text
            outline = self.model(node.inside)
            for name in names.split():
                assert name not in self.models, name
                self.models[name] = outline

    def lines(self, nodes: list[Node], part: Part = "other") -> Iterator[Line]:
        """The tensors of some lines of text; `part` is theirs until they say another."""
        for node in nodes:
            kind, _, rest = node.text.partition(" ")
            if node.text[0] == "@":
                part = next(known for known in PARTS if known == node.text[1:])
            elif kind == "use":
                yield from self.named(rest)
            elif kind == "when":
                yield from (line.when(rest) for line in self.lines(node.inside, part))
            elif kind == "under":
                yield from (replace(line, name=rest + line.name) for line in self.lines(node.inside, part))
            elif not WORD.match(node.text):
                yield one(node.text, part)

    def named(self, names: str) -> Iterator[Line]:
        """The lines of the blocks called so."""
        for name in names.split():
            yield from self.blocks[name]

    def model(self, nodes: list[Node]) -> Outline:
        """A model from the lines that describe it."""
        like = next((node.text.removeprefix("like ") for node in nodes if node.text.startswith("like ")), None)
        plain = not like and not any(node.text.startswith(("stack ", "inner ")) for node in nodes)
        base = self.models[like] if like else Outline(top=tuple(self.named(PLAIN_TOP)) if plain else ())
        layer: Lines = tuple(self.named(PLAIN_LAYER)) if plain else ()
        once, words = base.top, dict(base.words)
        stacks: list[Stack] = []
        inner: list[Inner] = []
        unknown = list(base.unknown)
        for node in nodes:
            kind, _, rest = node.text.partition(" ")
            if kind == "with":
                words |= self.words[rest]
            elif kind == "layer":
                layer = (*self.named(rest), *self.lines(node.inside))
            elif kind == "once":
                once = (*self.named(rest), *self.lines(node.inside))
            elif kind == "stack":
                prefix, _, count = rest.partition(" ")
                stacks.append(Stack(prefix, count, tuple(self.lines(node.inside)), meanings(node.inside)))
            elif kind == "inner":
                inner.append(nested(rest, node.inside))
            elif kind == "unknown":
                condition, at_fault, why = rest.split(" : ")
                unknown.append((condition, at_fault, why))
            else:
                assert kind == "like" or WORD.match(node.text), node.text
        if layer:
            stacks.insert(0, Stack(LAYERS, "N", layer))
        words |= meanings(nodes)
        return Outline(once, tuple(stacks) or base.stacks, tuple(inner) or base.inner, words, tuple(unknown))


def nested(head: str, nodes: list[Node]) -> Inner:
    """`inner vision_config vision: siglip_vision_model ?condition`, and what words mean there."""
    rest, _, condition = head.partition(" ?")
    rest, _, model_type = rest.partition(": ")
    place, _, part = rest.partition(" ")
    return Inner(place, part, model_type, meanings(nodes), condition)


def meanings(nodes: list[Node]) -> dict[str, str]:
    """What words mean, of the lines that say so."""
    pairs = [pair for node in nodes if WORD.match(node.text) for pair in node.text.split("; ")]
    return {found[1]: found[2] for pair in pairs if (found := WORD.fullmatch(pair))}


def one(text: str, part: Part) -> Line:
    """The tensor that a line of text says."""
    name, shape, *more = re.split(r"\s{2,}", text)
    assert " " not in name, text
    options = {word[0]: word[1:] for word in more if word[0] in "+?~"}
    splits = [word for word in more if word[0] not in "+?~"] or ["all"]
    assert len(splits) == 1, text
    word, _, heads = splits[0].partition(" ")
    split = next(known for known in SPLITS if known == word)
    copies, _, matrix = shape.rpartition(" : ")
    rows, _, columns = matrix.partition(" x ")
    heads = heads or ("K" if split == "kv" else "")
    return Line(
        name, part, rows, columns, split, heads, options.get("+", ""), copies, options.get("?", ""), "~" in options
    )


@cache
def library() -> Reader:
    """All texts, read: `blocks.txt` first, then the others by name."""
    reader = Reader()
    for path in sorted(FILES.glob("*.txt"), key=lambda path: (path.stem != "blocks", path.name)):
        reader.read(path.read_text(encoding="utf-8"))
    return reader
