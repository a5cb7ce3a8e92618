"""The tokenizer: byte-level BPE, learnt from the training stories alone.

All 256 bytes are in the alphabet, so any text comes back byte for byte and no unknown token is
needed. `<|endoftext|>` is id 0; it opens every story and closes it.

Source: Radford et al. 2019 ("Language Models are Unsupervised Multitask Learners"), section 2.2.
"""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

END_OF_TEXT = "<|endoftext|>"
END_ID = 0


def train_tokenizer(stories: Iterable[str], vocab_size: int) -> Tokenizer:
    """Learn `vocab_size` tokens: the end-of-text mark, 256 bytes, and the most useful merges."""
    tokenizer = Tokenizer(models.BPE())
    # No prefix space: leading and doubled spaces must survive a round trip.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(stories, trainer)
    # A prompt starts a story, so encoding puts the mark in front, as every training story has it.
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END_OF_TEXT} $A", pair=f"{END_OF_TEXT} $A $B", special_tokens=[(END_OF_TEXT, END_ID)]
    )
    return tokenizer


def load_or_train(path: Path, stories: Iterable[str], vocab_size: int) -> Tokenizer:
    """The tokenizer at `path` if one was finished there, else a new one, saved there."""
    if path.exists():
        return Tokenizer.from_file(str(path))
    tokenizer = train_tokenizer(stories, vocab_size)
    partial = path.with_suffix(".partial")
    tokenizer.save(str(partial))
    partial.replace(path)
    return tokenizer
