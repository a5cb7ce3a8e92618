"""The tokenizer in a GGUF's header, made into one of the `tokenizers` package. Knows no file and no model.

Metadata come as the header has them: a list is an object whose `read()` gives its items.

Two kinds: byte-level pairs with a list of merges (`gpt2`), and SentencePiece with scores (`llama`).
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glasscli.errors import CheckpointError, TokenizerError
from glasscli.tokenizer.pre_tokenizers import PRE_TOKENIZERS, PreTokenizer
from glasscli.tokenizer.scores import merges as merges_by_score
from glasscli.tokenizer.tokenizer import Tokenizer
from glasscli.untrusted_files import plain, quoted

if TYPE_CHECKING:
    import tokenizers

KEYS = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # token_type
SPACE = "▁"
# Marks that end a text or a turn, by the names that models give them.
# Source: llama.cpp's `llama-vocab.cpp`, which stops at them whatever else a file says.
ENDS = frozenset(
    {"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>"}
    | {"<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<eos>"}
    | {"<end_of_utterance>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["}
)
# Phi-3's marks swallow the spaces after them; the file says so only by its name.
SWALLOWING = ("phi-3", "phi3")
NOT_SWALLOWING = frozenset({"<unk>", "<s>", "<|endoftext|>"})


def tokenizer_of(metadata: Mapping[str, Any], source: str) -> Tokenizer:
    """The tokenizer that the metadata describe.

    Args:
        source: opens the message of an error.

    Raises:
        TokenizerError: there is none, or one of a kind, or with a pre-tokenizer, that glass does not know; or what
            is said of it does not fit together.
    """
    kind = metadata.get(f"{KEYS}model")
    if kind is None:
        raise TokenizerError(f"{source}: holds no tokenizer ({KEYS}model is missing)")
    vocabulary = Vocabulary(metadata, source)
    if kind == "gpt2":
        backend = _byte_level(vocabulary)
    elif kind == "llama":
        backend = _sentencepiece(vocabulary)
    else:
        raise TokenizerError(
            f"{source}: its tokenizer is {kind!r}; glass knows 'gpt2' (byte-level) and 'llama' (scores)"
        )
    return Tokenizer(backend, source)


def end_ids(metadata: Mapping[str, Any], source: str) -> list[int]:
    """The ids at which a text ends: those that the file names, and special tokens whose name says so.

    Raises:
        TokenizerError: the vocabulary can't be read.
    """
    if not hasattr(metadata.get(f"{KEYS}tokens"), "read"):
        return []
    vocabulary = Vocabulary(metadata, source)
    named = [vocabulary.id_of(name) for name in ("eos", "eot", "eom")]
    marks = {
        token: i
        for i, (token, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types, strict=False))
        if kind in (CONTROL, USER_DEFINED) and token in ENDS
    }
    if {"<|return|>", "<|call|>"} <= marks.keys() or {"<|flush|>", "<|calls|>"} <= marks.keys():
        marks.pop("<|end|>", None)  # there it ends a part of a turn
    return list(dict.fromkeys(i for i in (*named, *marks.values()) if i is not None))


def marks_of(metadata: Mapping[str, Any], source: str, names: Mapping[str, str]) -> dict[str, str]:
    """The tokens with a task by name.

    Args:
        names: for each name, what the metadata call the task (`eos`).

    Raises:
        TokenizerError: the vocabulary can't be read.
    """
    vocabulary = Vocabulary(metadata, source)
    ids = {name: vocabulary.id_of(task) for name, task in names.items()}
    return {name: vocabulary.tokens[i] for name, i in ids.items() if i is not None}


class Vocabulary:
    """The lists of a tokenizer, seen to fit together.

    Attributes:
        tokens: by id, each once.
        types: of each, as `NORMAL` and the others number them.
    """

    def __init__(self, metadata: Mapping[str, Any], source: str) -> None:
        self.source = source
        self._metadata = metadata
        self.tokens: list[str] = self.listed("tokens", str)
        for i, token in enumerate(self.tokens):
            if not token:
                self.tokens[i] = f"[EMPTY_{i}]"
        if len(set(self.tokens)) < len(self.tokens):
            raise self.error("tokenizer.ggml.tokens has a token twice")
        self.types: list[int] = self.listed("token_type", int, [NORMAL] * len(self.tokens))
        if len(self.types) < len(self.tokens):
            raise self.error(f"{len(self.tokens):,} tokens have {len(self.types):,} types")

    def error(self, words: str) -> TokenizerError:
        """What to raise about the tokenizer."""
        return TokenizerError(f"{self.source}: {words}")

    def listed(self, name: str, kind: type, default: list[Any] | None = None) -> list[Any]:
        """A list of the metadata, its items of a Python type."""
        value = self._metadata.get(f"{KEYS}{name}")
        if value is None and default is not None:
            return default
        if value is None or not hasattr(value, "read"):
            raise self.error(f"{KEYS}{name} {'is missing' if value is None else 'is no list'}")
        try:
            items: list[Any] = value.read()
        except CheckpointError as error:
            raise TokenizerError(str(error)) from None
        if items and type(items[0]) is not kind:
            raise self.error(f"{KEYS}{name} does not list what it should")
        return items

    def said(self, name: str, default: Any) -> Any:
        """A single value of the metadata; the default where it is absent or of another type."""
        value = self._metadata.get(f"{KEYS}{name}")
        return value if type(value) is type(default) else default

    def id_of(self, name: str, default: int | None = None) -> int | None:
        """The id of a token with a task (`eos`); None if there is none, or the file names one that is no token."""
        value = self._metadata.get(f"{KEYS}{name}_token_id", default)
        return value if type(value) is int and 0 <= value < len(self.tokens) else None

    def special(self) -> "list[tokenizers.AddedToken]":
        """The tokens that are found in a text before anything else is done to it."""
        from tokenizers import AddedToken

        model = str(self._metadata.get("general.name", "")).lower()
        swallows = any(name in model for name in SWALLOWING)
        return [
            AddedToken(
                token, special=kind != USER_DEFINED, normalized=False, rstrip=swallows and token not in NOT_SWALLOWING
            )
            for token, kind in zip(self.tokens, self.types, strict=False)
            if kind in (CONTROL, UNKNOWN, USER_DEFINED)
        ]

    def frame(self, backend: "tokenizers.Tokenizer", begins: bool, begin_id: int | None) -> None:
        """Put the marks of the beginning and the end around every text, as the file says.

        Args:
            begins: whether there is a mark of the beginning, and which, where the file does not say.
        """
        from tokenizers import processors

        first = self.id_of("bos", begin_id) if self.said("add_bos_token", begins) else None
        last = self.id_of("eos") if self.said("add_eos_token", False) else None
        marks = [(self.tokens[i], i) for i in (first, last) if i is not None]
        if marks:
            template = [*([self.tokens[first]] if first is not None else []), "$A"]
            template += [self.tokens[last]] if last is not None else []
            backend.post_processor = processors.TemplateProcessing(single=template, special_tokens=marks)


def _byte_level(vocabulary: Vocabulary) -> "tokenizers.Tokenizer":
    from tokenizers import Regex, decoders, models, pre_tokenizers

    way = _way(vocabulary)
    pairs = [_pair(vocabulary, text) for text in vocabulary.listed("merges", str)]
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    backend = _built(vocabulary, lambda: models.BPE(ids, pairs, ignore_merges=way.whole_words))
    cuts = [pre_tokenizers.Split(Regex(expression), "isolated") for expression in way.expressions]
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    backend.decoder = decoders.ByteLevel()
    _finish(vocabulary, backend, way.begins, None)
    return backend


def _sentencepiece(vocabulary: Vocabulary) -> "tokenizers.Tokenizer":
    from tokenizers import decoders, models, normalizers

    scores = vocabulary.listed("scores", float)
    if len(scores) < len(vocabulary.tokens) or not all(map(math.isfinite, scores)):
        raise vocabulary.error("its tokens do not have a score each")
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    usual = {token: i for token, i in ids.items() if vocabulary.types[i] not in (UNKNOWN, CONTROL, USER_DEFINED, BYTE)}
    pairs = merges_by_score(usual, {token: scores[i] for token, i in usual.items()})
    unknown = vocabulary.id_of("unknown", 0)
    name = None if unknown is None else vocabulary.tokens[unknown]
    backend = _built(vocabulary, lambda: models.BPE(ids, pairs, unk_token=name, fuse_unk=True, byte_fallback=True))
    prefixed = vocabulary.said("add_space_prefix", True)
    spaces = normalizers.Replace(" ", SPACE)
    backend.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), spaces]) if prefixed else spaces
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence([*steps, *([decoders.Strip(" ", 1, 0)] if prefixed else [])])
    _finish(vocabulary, backend, True, 1)
    return backend


def _way(vocabulary: Vocabulary) -> PreTokenizer:
    name = vocabulary.said("pre", "")
    if name not in PRE_TOKENIZERS:
        found = f"its pre-tokenizer is {quoted(name)}, which glass does not know"
        if not name:
            found = f"it names no pre-tokenizer ({KEYS}pre), as files made before May 2024; convert the model anew"
        raise vocabulary.error(found)
    return PRE_TOKENIZERS[name]


def _pair(vocabulary: Vocabulary, text: str) -> tuple[str, str]:
    """A merge as files write it: two tokens with a space between; one of them may begin with a space."""
    at = text.find(" ", 1)
    if at < 0 or at == len(text) - 1:
        raise vocabulary.error(f"the merge {quoted(text)} is no pair of tokens")
    return text[:at], text[at + 1 :]


def _built(vocabulary: Vocabulary, make: Any) -> "tokenizers.Tokenizer":
    import tokenizers

    try:
        return tokenizers.Tokenizer(make())
    except Exception as error:  # the package raises nothing more exact
        raise vocabulary.error(f"its merges do not fit its tokens ({plain(str(error))})") from None


def _finish(vocabulary: Vocabulary, backend: "tokenizers.Tokenizer", begins: bool, begin_id: int | None) -> None:
    backend.add_tokens(vocabulary.special())
    try:
        vocabulary.frame(backend, begins, begin_id)
    except Exception as error:  # the package raises nothing more exact
        raise vocabulary.error(f"its marks can't be put around a text ({plain(str(error))})") from None
