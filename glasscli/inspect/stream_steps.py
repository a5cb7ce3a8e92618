"""The steps around attention: the residual stream, norms and the MLP of a layer; what the model does outside layers."""

from collections.abc import Mapping

from glasscli.inspect.step_info import StepInfo

_BLOCK = "glasscli.model.block"
_LLAMA = "glasscli.model.llama"


def _step(name: str, formula: str, explanation: str, source: tuple[str, str], width: str = "D") -> StepInfo:
    return StepInfo(name, formula, ("query", "dim"), explanation, source, width)


def _by_name(*steps: StepInfo) -> Mapping[str, StepInfo]:
    return {step.name: step for step in steps}


BEFORE = _by_name(
    _step(
        "resid_pre",
        "x",
        "The residual stream as it enters the layer: one row of {D} numbers a token. Nothing is ever taken out of it; "
        "each layer adds what it has to say.",
        (_BLOCK, 'at("resid_pre", x_BTD)'),
    ),
    _step(
        "attn_norm",
        "RMSNorm(x)·w",
        "Each row is brought to the same size, then each column is scaled by a learned weight. What attention reads "
        "is a direction, however long the stream has become.",
        (_BLOCK, 'at("attn_norm", norm('),
    ),
)

AFTER = _by_name(
    _step(
        "attn_post_norm",
        "RMSNorm(out)·w",
        "What attention has to say is brought to a size of its own before it is added. No head can flood the stream.",
        (_BLOCK, 'at("attn_post_norm", norm('),
    ),
    _step(
        "resid_mid",
        "x + out",
        "The stream once attention has spoken. It is the only place where a token has heard of others.",
        (_BLOCK, 'at("resid_mid", x_BTD'),
    ),
    _step(
        "ffn_norm",
        "RMSNorm(resid_mid)·w",
        "The same as before attention, with weights of its own. The MLP reads directions, too.",
        (_BLOCK, 'at("ffn_norm", norm('),
    ),
    _step(
        "gate",
        "ffn_norm·W_gate{bias}",
        "{F} detectors, each a direction that the row is compared with. Large ones open a gate.",
        (_BLOCK, 'at("gate", gate)'),
        "F",
    ),
    _step(
        "up",
        "ffn_norm·W_up{bias}",
        "{F} numbers, each what will be said if its gate opens. Every token is treated alone.",
        (_BLOCK, 'at("up", up)'),
        "F",
    ),
    _step(
        "hidden",
        "silu(gate) · up",
        "Each number passes as far as its gate is open. These are the neurons of the MLP.",
        (_BLOCK, 'at("hidden", hidden)'),
        "F",
    ),
    _step(
        "down",
        "hidden·W_down{bias}",
        "Each neuron writes its own direction into the stream, as loudly as it is active. Their sum is what the MLP "
        "says.",
        (_BLOCK, 'at("down", linear('),
    ),
    _step(
        "ffn_post_norm",
        "RMSNorm(down)·w",
        "What the MLP has to say is brought to a size of its own before it is added.",
        (_BLOCK, 'at("ffn_post_norm", norm('),
    ),
    _step(
        "resid_post",
        "resid_mid + down",
        "The stream as the next layer gets it. It is the sum of the embedding and of all that was said so far.",
        (_BLOCK, 'at("resid_post", x_BTD'),
    ),
)

# Of the model, not of a layer. `grad` exists where the next token is known.
OUTSIDE = _by_name(
    _step(
        "embedding",
        "row of the token in W_E",
        "Each token begins as a row of a table. Nothing is known yet but which token it is.",
        (_LLAMA, "self.weights.embedding[list(token_ids)]"),
    ),
    _step(
        "final_norm",
        "RMSNorm(x)·w",
        "The stream behind the last layer, brought to one size a last time.",
        (_LLAMA, 'at("final_norm", norm('),
    ),
    _step(
        "logits",
        "final_norm·W_Uᵀ",
        "The row is compared with the direction of every token of the vocabulary. The larger a logit, the likelier "
        "its token comes next.",
        (_LLAMA, "normed @ self.weights.unembedding.T"),
        "V",
    ),
    _step(
        "probs",
        "softmax(logits)",
        "e to the power of each logit, divided by the sum: what the model believes comes next.",
        ("glasscli.model.ops", "shares /= shares.sum"),
        "V",
    ),
    _step(
        "grad",
        "p − y",
        "Where the next token is known, this is how the loss −ln p answers a push on each logit: what was believed "
        "less what happened. Everything the model learns begins here.",
        ("glasscli.inspect.gradients", "gradient[target] -= 1"),
        "V",
    ),
)
