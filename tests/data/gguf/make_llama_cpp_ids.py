"""Write llama_cpp_ids.json: two small vocabularies, some texts, and the ids that llama.cpp gives these.

    pip install llama-cpp-python && python tests/data/gguf/make_llama_cpp_ids.py

The vocabularies are learnt without cutting into words first, so that tokens cross words and every way to cut shows.
The file in the repository is from llama-cpp-python 0.3.36, tokenizers 0.23.
"""

import ctypes
import json
import random
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import llama_cpp as lib
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
from helpers.gguf_files import as_written, write_gguf  # noqa: E402

WAYS = ["gpt-2", "smollm", "llama-bpe", "glm4", "dbrx", "qwen2", "qwen35", "tekken", "gpt-4o", "deepseek-v3",
        "deepseek-coder", "bloom", "viking", "falcon"]  # fmt: skip
PIECES = [
    "The cat's mat, don't they'LL WE'VE I'm 12345 6,789.01",
    "def f(x):\n    return {'a': x[0] != 1}\n\n\n", "Привет, мир!",
    "日本語のテキスト。東京", "中文字符", "안녕하세요 세계", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดี",
    "Ça va? L'été! ñandú",
    "🙂🚀👩‍👩‍👧", "x²+y²≠z² ½ ②", "ﬁ e\u0301 a\u0308", "\u200b\u00a0\u3000\u2003", "<|end|><unk> </s> <user>",
    "##### ===== -----",
    "aaaaaaaaaaaaaaaa", "ha" * 9, "http://a.b/c?d=e&f=%20", "\x01\x7f\x85", "CamelCaseWORDSlower",
    "\t\tif (i<10) {\r\n",
]  # fmt: skip
GAPS = ["", " ", "  ", "   ", "     ", "\n", "\n\n", " \n ", "\r\n", "\t", "\t\t", "                 "]


def some_texts(n: int) -> list[str]:
    """Pieces with gaps between, the same each time."""
    rng = random.Random(5)
    return [
        "".join(rng.choice(GAPS) + rng.choice(PIECES) for _ in range(rng.randint(1, 4))) + rng.choice(GAPS)
        for _ in range(n)
    ]


def byte_level() -> dict[str, Any]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False, max_token_length=12)
    tokenizer.train_from_iterator(some_texts(300), trainer)
    state = json.loads(tokenizer.model.__getstate__())
    tokens = ["<unk>", "<|end|>", "<user>", *sorted(state["vocab"], key=state["vocab"].get)]
    return {
        "general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [2, 3, 4] + [1] * (len(tokens) - 3),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in state["merges"]],
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 1,
    }  # fmt: skip


def with_scores() -> dict[str, Any]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    trainer = trainers.BpeTrainer(vocab_size=700, show_progress=False, max_token_length=10)
    tokenizer.train_from_iterator(some_texts(300), trainer)
    state = json.loads(tokenizer.model.__getstate__())
    learnt = sorted(state["vocab"], key=state["vocab"].get)
    spaces = [token for n in range(2, 9) if (token := "▁" * n) not in learnt]
    tokens = ["<unk>", "<s>", "</s>", "<user>", *(f"<0x{byte:02X}>" for byte in range(256)), *learnt, *spaces]
    kinds = [2, 3, 3, 4] + [6] * 256 + [1] * (len(learnt) + len(spaces))
    scores = [0.0] * 260 + [-float(i) for i in range(len(learnt))] + [-1e9] * len(spaces)
    return {
        "general.architecture": "llama", "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores, "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0,
    }  # fmt: skip


@lib.llama_log_callback
def _silent(level: int, text: bytes, user_data: object) -> None:
    """Say nothing."""


def ids_of(path: Path, texts: list[str], special: bool) -> list[list[int]]:
    """What llama.cpp makes of the texts, with its marks around them."""
    settings = lib.llama_model_default_params()
    settings.vocab_only = True
    model = lib.llama_model_load_from_file(str(path).encode(), settings)
    assert model, path
    vocabulary = lib.llama_model_get_vocab(model)
    found = []
    for text in texts:
        data = text.encode()
        room = (lib.llama_token * (len(data) + 16))()
        n = lib.llama_tokenize(vocabulary, data, len(data), room, len(room), True, special)
        found.append(list(room[:n]))
    lib.llama_model_free(model)
    return found


if __name__ == "__main__":
    lib.llama_log_set(_silent, ctypes.c_void_p(0))
    lib.llama_backend_init()
    texts = ["", " ", "\n", *some_texts(60)]
    bytes_way, scores_way = byte_level(), with_scores()
    made: dict[str, Any] = {"made by": f"llama-cpp-python {version('llama-cpp-python')}", "texts": texts,
                            "gpt2": bytes_way, "llama": scores_way, "ids": {}}  # fmt: skip
    with TemporaryDirectory() as folder:
        for way in WAYS:
            path = write_gguf(Path(folder) / "m.gguf", as_written(bytes_way) | {"tokenizer.ggml.pre": way})
            made["ids"][way] = ids_of(path, texts, special=False)
        for prefix in (True, False):
            path = write_gguf(
                Path(folder) / "m.gguf", as_written(scores_way) | {"tokenizer.ggml.add_space_prefix": prefix}
            )
            for special in (True, False):
                made["ids"][f"scores, prefix {prefix}, special {special}"] = ids_of(path, texts, special)
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    (HERE / "llama_cpp_ids.json").write_text(text, encoding="utf-8")
