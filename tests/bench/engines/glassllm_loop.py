"""glassllm, another NumPy Llama made to be looked at, with the weights of our folder put into its model.

Its MLP is 8/3 of the width by default, but computes with matrices of any size. Like glass, it keeps the pairs that
rope turns side by side.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from folders import pairs_side_by_side, read_folder
from glassllm import Config, GlassLM, no_grad
from glassllm.autograd import Tensor


class Single:
    """One sequence."""

    name = f"glassllm {version('glassllm')}"

    def __init__(self, folder: Path, max_tokens: int) -> None:
        config, tensors = read_folder(folder)
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        shape = {"vocab_size": config["vocab_size"], "d_model": config["hidden_size"]}
        shape |= {"n_layers": config["num_hidden_layers"], "n_heads": heads, "n_kv_heads": kv_heads}
        self.model = GlassLM(
            Config(**shape, max_len=max_tokens, rope_base=config["rope_theta"], eps=config["rms_norm_eps"])
        )
        self.model.E = Tensor(tensors["model.embed_tokens.weight"])
        self.model.norm_f.gamma = Tensor(tensors["model.norm.weight"])
        for layer, block in enumerate(self.model.blocks):

            def matrix(name: str, n_heads: int = 0, layer: int = layer) -> Tensor:
                rows = tensors[f"model.layers.{layer}.{name}.weight"]
                return Tensor(np.ascontiguousarray((pairs_side_by_side(rows, n_heads) if n_heads else rows).T))

            attn, ffn = block.attn, block.ffn
            attn.W_Q, attn.W_K = matrix("self_attn.q_proj", heads), matrix("self_attn.k_proj", kv_heads)
            attn.W_V, attn.W_O = matrix("self_attn.v_proj"), matrix("self_attn.o_proj")
            ffn.W1, ffn.W3, ffn.W2 = matrix("mlp.gate_proj"), matrix("mlp.up_proj"), matrix("mlp.down_proj")
            block.norm1.gamma, block.norm2.gamma = matrix("input_layernorm"), matrix("post_attention_layernorm")
        self.cache, self.length = self.model.new_cache(), 0

    def prefill(self, token_ids: list[int]) -> int:
        """Forget what was read, read `token_ids`, and return the likeliest next token."""
        self.cache, self.length = self.model.new_cache(), 0
        return self._read(token_ids)

    def step(self, token_id: int) -> int:
        """Append `token_id` and return the likeliest next token."""
        return self._read([token_id])

    def _read(self, token_ids: list[int]) -> int:
        with no_grad():
            logits = self.model.forward(token_ids, cache=self.cache, start=self.length)
        self.length += len(token_ids)
        return int(logits.data[0, -1].argmax())


SINGLE = [Single]
