"""transformers' model in a bare decode loop: no `generate`, no sampler, inference mode, its own dynamic cache."""

from pathlib import Path

import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.set_num_threads(1)


def load(folder: Path) -> "transformers.LlamaForCausalLM":
    """The model in float32."""
    return transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


class Single:
    """One sequence."""

    name = f"transformers {transformers.__version__}"

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self.model = load(folder)
        self.cache = transformers.DynamicCache(config=self.model.config)

    def prefill(self, token_ids: list[int]) -> int:
        """Forget what was read, read `token_ids`, and return the likeliest next token."""
        self.cache = transformers.DynamicCache(config=self.model.config)
        return self._read(token_ids)

    def step(self, token_id: int) -> int:
        """Append `token_id` and return the likeliest next token."""
        return self._read([token_id])

    @torch.inference_mode()
    def _read(self, token_ids: list[int]) -> int:
        ids = torch.tensor([token_ids])
        logits = self.model(ids, cache=self.cache, use_cache=True, logits_to_keep=1).logits
        return int(logits[0, -1].argmax())


class Batch:
    """Several sequences, padded on the left to the longest prompt."""

    name = Single.name

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self.model = load(folder)

    def prefill(self, prompts: list[list[int]]) -> list[int]:
        """Read one prompt a sequence, and return each one's likeliest next token."""
        self.cache = transformers.DynamicCache(config=self.model.config)
        longest = max(map(len, prompts))
        self.mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
        positions = (self.mask.cumsum(dim=1) - 1).clamp(min=0)
        self.next_position = positions[:, -1:] + 1
        return self._read(torch.tensor([[0] * (longest - len(p)) + p for p in prompts]), positions)

    def step(self, token_ids: list[int]) -> list[int]:
        """Append a token to each sequence and return each one's likeliest next token."""
        self.mask = torch.nn.functional.pad(self.mask, (0, 1), value=1)
        chosen = self._read(torch.tensor(token_ids)[:, None], self.next_position)
        self.next_position = self.next_position + 1
        return chosen

    @torch.inference_mode()
    def _read(self, ids: torch.Tensor, positions: torch.Tensor) -> list[int]:
        logits = self.model(
            ids,
            attention_mask=self.mask,
            position_ids=positions,
            cache=self.cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        chosen: list[int] = logits[:, -1].argmax(dim=1).tolist()
        return chosen


SINGLE, BATCH = [Single], [Batch]
