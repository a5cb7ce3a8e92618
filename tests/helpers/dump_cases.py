"""A tiny model with a byte tokenizer, and dumps of it, for the tests of dump-attn and its files."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from glasscli.checkpoint.load import LoadedModel, load_model
from glasscli.config.model_config import ModelConfig
from glasscli.inspect.dump import Dump, dump_attention, dump_decode
from glasscli.inspect.steps import steps_of
from helpers import model_folders, random_llama

STEPS = steps_of(ModelConfig.from_dict(random_llama.settings()))  # those of a Llama
PROMPT = "one two one two"  # a token a letter


def write_folder(folder: Path, kind: str = "gqa", **changes: Any) -> Path:
    """A model folder of random weights; every byte is a token, id 0 is `<|endoftext|>`, nothing is put in front."""
    config = random_llama.settings(**{"vocab_size": 257, **random_llama.KINDS[kind], **changes})
    return model_folders.write_folder(folder, config, tokenizer=model_folders.byte_level(257, bos=False))


@cache
def tiny_folder(kind: str = "gqa") -> Path:
    """A tiny model of one of `random_llama.KINDS`."""
    return write_folder(Path(mkdtemp()) / kind, kind)


@cache
def tiny(kind: str = "gqa") -> LoadedModel:
    """The same, loaded."""
    return load_model(tiny_folder(kind))


@cache
def tiny_dump(kind: str = "gqa", prompt: str = PROMPT, layers: tuple[int, ...] = (1,)) -> Dump:
    """A prefill of `prompt`."""
    return dump_attention(tiny(kind), prompt, layers)


@cache
def tiny_decode(n_new: int = 0) -> Dump:
    """One decode step, or those of `n_new` made-up tokens."""
    new_ids = np.random.default_rng(2).integers(1, 257, n_new).tolist()
    return dump_decode(tiny(), PROMPT, (0, 2), new_ids)
