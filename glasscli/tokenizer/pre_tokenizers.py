"""How byte-level tokenizers cut a text into words before they merge: by the names that GGUF files give.

A file names the model whose way it is (`tokenizer.ggml.pre`) and does not carry the expressions, which are here as
these models' tokenizer.json have them. Several expressions are applied one after the other, each to the pieces that
the one before it left. A name that is not here is refused: other words would give other tokens, and no error.

Sources: the tokenizer.json of each model; which name stands for which, llama.cpp's `llama-vocab.cpp`.
"""

from dataclasses import dataclass

_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}"
_QWEN2 = rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}"
_QWEN35 = rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_REST}"
_LATE = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"  # a word's capitals come first
_EARLY = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_TEKKEN = rf"{_LATE}|{_EARLY}|\p{{N}}|{_SIGNS}|{_REST}"
_GPT4O = rf"{_LATE}{_ENDINGS}?|{_EARLY}{_ENDINGS}?|\p{{N}}{{1,3}}|{_SIGNS}|{_REST}"
_CHINESE = "[一-龥ࠀ-一가-퟿]+"
_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_REST}",
)


@dataclass(frozen=True)
class PreTokenizer:
    """One way to cut.

    Attributes:
        expressions: what is found becomes a piece of its own, as does what lies between.
        whole_words: a word that is a token needs no merges to become it.
        begins: whether texts begin with the mark of the beginning, where the file does not say.
    """

    expressions: tuple[str, ...]
    whole_words: bool = False
    begins: bool = False


def _names(text: str, way: PreTokenizer) -> dict[str, PreTokenizer]:
    return dict.fromkeys(text.split(), way)


PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    **_names(
        "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert exaone4 mpt olmo jais"
        " trillion granite-docling",
        PreTokenizer((_GPT2,)),
    ),
    **_names("starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", PreTokenizer((r"\p{N}", _GPT2))),
    **_names(
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        PreTokenizer((_LLAMA3,), whole_words=True, begins=True),
    ),
    **_names("glm4 glm5", PreTokenizer((_LLAMA3,), whole_words=True)),
    **_names("dbrx smaug-bpe chatglm-bpe", PreTokenizer((_LLAMA3,))),
    **_names(
        "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2", PreTokenizer((_QWEN2,))
    ),
    "qwen35": PreTokenizer((_QWEN35,)),
    "tekken": PreTokenizer((_TEKKEN,), whole_words=True, begins=True),
    **_names("gpt-4o llama4 kanana2", PreTokenizer((_GPT4O,))),
    **_names("deepseek-v3 hunyuan-dense joyai-llm", PreTokenizer(_DEEPSEEK_V3)),
    "deepseek-coder": PreTokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CHINESE, r"\p{N}")),
    **_names("bloom gpt3-finnish poro-chat", PreTokenizer((r" ?[^(\s|.,!?…。，、।۔،)]+",))),
    "viking": PreTokenizer((r" ?[^(\s|.,!?…。，、।۔،)]+", r"\p{N}")),
    "falcon": PreTokenizer((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")),
}
