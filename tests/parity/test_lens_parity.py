"""The lens against transformers' hidden states in float64, each read by its own last norm and head."""

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from glasscli import load_model
from glasscli.inspect.lens import read_lens
from glasscli.inspect.predictions import one_token
from glasscli.locate.shipped import shipped_folder

STORY = "Once upon a time there was a little girl named Lily. One day,"


def test_the_lens_of_every_position() -> None:
    loaded = load_model()
    theirs = AutoModelForCausalLM.from_pretrained(shipped_folder(), dtype=torch.float64).eval()
    ids, token = loaded.encode(STORY), one_token(loaded, "Lily")
    mids: list[torch.Tensor] = []
    for layer in theirs.model.layers:
        layer.post_attention_layernorm.register_forward_pre_hook(lambda _, given: mids.append(given[0][0]))
    with torch.no_grad():
        out = theirs(torch.tensor([ids]), output_hidden_states=True)
        streams = [hidden[0] for hidden in out.hidden_states[:-1]]  # the last is normed already
        said = [theirs.lm_head(theirs.model.norm(x)).log_softmax(-1).numpy() for x in streams]
        said_mid = [theirs.lm_head(theirs.model.norm(x)).log_softmax(-1).numpy() for x in mids]
    said.append(out.logits[0].log_softmax(-1).numpy())
    for lens in read_lens(loaded, STORY, range(len(ids)), token=token, n_top=2):
        for rows, expected in ((lens.rows[::2], said), (lens.rows[1::2], said_mid)):
            for row, logprobs in zip(rows, (layer[lens.position] for layer in expected), strict=True):
                assert row.watched is not None
                assert abs(row.watched.logprob - logprobs[token.id]) < 1e-3 * max(1, -logprobs[token.id] / 10)
                assert row.top[0].token.id == logprobs.argmax()
                entropy = -(np.exp(logprobs) * logprobs).sum() / np.log(2)
                assert abs(row.entropy_bits - entropy) < 1e-3
        for x, row in zip(streams, lens.rows[::2], strict=False):
            assert abs(row.norm - x[lens.position].norm().item()) < 1e-4
