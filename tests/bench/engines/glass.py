"""Glass itself, as `glasscli` offers it to a program."""

from pathlib import Path

from glasscli import __version__, load_model


class Single:
    """One sequence through `Llama` and a `KVCache`."""

    name = f"glass {__version__}"

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self.model = load_model(folder).model
        self.cache = self.model.new_cache(max_tokens)

    def prefill(self, token_ids: list[int]) -> int:
        """Forget what was read, read `token_ids`, and return the likeliest next token."""
        self.cache.truncate(0)
        return int(self.model(token_ids, self.cache, last_only=True).argmax())

    def step(self, token_id: int) -> int:
        """Append `token_id` and return the likeliest next token."""
        return int(self.model([token_id], self.cache).argmax())


class Batch:
    """Several sequences through `Llama.decode_batch`, each prompt read alone."""

    name = Single.name

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self.model = load_model(folder).model
        self.max_tokens = max_tokens

    def prefill(self, prompts: list[list[int]]) -> list[int]:
        """Read one prompt a sequence, and return each one's likeliest next token."""
        self.cache = self.model.new_cache(self.max_tokens, len(prompts))
        chosen = []
        for i, prompt in enumerate(prompts):
            row = self.cache.row(i)
            chosen.append(int(self.model(prompt, row, last_only=True).argmax()))
            self.cache.lengths[i] = row.length
        return chosen

    def step(self, token_ids: list[int]) -> list[int]:
        """Append a token to each sequence and return each one's likeliest next token."""
        chosen: list[int] = self.model.decode_batch(token_ids, self.cache).argmax(axis=1).tolist()
        return chosen


SINGLE, BATCH = [Single], [Batch]
