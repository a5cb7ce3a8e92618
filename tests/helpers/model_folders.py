"""Model folders in Hugging Face layout for tests, written with the packages that others write them with."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from helpers.random_llama import settings, tensors

END = "<|endoftext|>"
STORY = [
    "Once upon a time there was a little cat named Tim. The cat sat on the mat.\n\n",
    "Lily had a red ball.  She said, “Let’s play!” and the dog ran to the tree.\n",
    "Then the bird sang, and they were happy, and the sun was in the sky. 日本語 🙂",
]


def byte_level(vocab_size: int = 320, story: Iterable[str] = STORY, bos: bool = True) -> Tokenizer:
    """A byte-level BPE tokenizer as GPT-2, Llama 3 and SmolLM have, `<|endoftext|>` at 0 and put in front."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(story, trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, 0)])
    return tokenizer


def sentencepiece_like(metaspace: bool = False) -> Tokenizer:
    """A tokenizer of Llama 2's kind: `▁` for a space, one byte tokens `<0xE2>`, `<s>` in front.

    Args:
        metaspace: written with the newer Metaspace parts instead of a normalizer and a Strip decoder.
    """
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2} | {f"<0x{byte:02X}>": 3 + byte for byte in range(256)}
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("▁", "▁"), ("▁", "c"), ("a", "t"), ("▁c", "at")]
    for token in [*"▁abcdefghijklmnopqrstuvwxyz.日", *(a + b for a, b in merges)]:
        vocab[token] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        parts = [decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first", split=False)]
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(parts)
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "byte-level": byte_level,
    "sentencepiece": sentencepiece_like,
    "metaspace": lambda: sentencepiece_like(metaspace=True),
}
TEXTS = [
    "",
    " ",
    "the cat",
    " the  cat",
    "the cat \n\n sat",
    "日本語 🙂 é",
    "👩‍👩‍👧",
    "a<s>b",
    "\x00\x1b[0m",
    "\ufffd",
    "x" * 500,
]


def write_folder(
    folder: Path,
    config: dict[str, Any] | None = None,
    weights: dict[str, NDArray[Any]] | None = None,
    tokenizer: Tokenizer | None = None,
) -> Path:
    """Write a whole model folder, random where nothing is given, and return it.

    Without a `config`, the vocabulary is as large as the tokenizer's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer or byte_level()
    config = config or settings(vocab_size=tokenizer.get_vocab_size())
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    save_file(tensors(config) if weights is None else weights, folder / "model.safetensors", {"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def safetensors_bytes(header: dict[str, Any] | bytes, data: bytes = b"", length: int | None = None) -> bytes:
    """A safetensors file by hand, for what no package would write.

    Args:
        header: an object, or the header's bytes as they are.
        length: what the file says of the header's length, if not the truth.
    """
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def write_bfloat16(path: Path, weights: dict[str, NDArray[np.float32]]) -> None:
    """Write `weights` in bfloat16, cut, not rounded. NumPy has no such type, so the file is made by hand."""
    header: dict[str, Any] = {}
    data = b""
    for name, array in weights.items():
        stored = (np.ascontiguousarray(array).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        header[name] = {
            "dtype": "BF16",
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(stored)],
        }
        data += stored
    path.write_bytes(safetensors_bytes(header, data))
