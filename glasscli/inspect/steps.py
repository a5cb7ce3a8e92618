"""The steps of one attention layer in the order they happen: names, formulas, shapes, explanations.

A glossary: it says what each step is and where our own code computes it, and computes nothing itself.
"""

import inspect
from collections.abc import Iterable, Mapping
from importlib import import_module

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError
from glasscli.inspect.step_forms import form_of, missing, specialised
from glasscli.inspect.step_info import StepInfo
from glasscli.inspect.stream_steps import AFTER, BEFORE, OUTSIDE
from glasscli.inspect.trace import FIELDS, LayerTrace
from glasscli.likeness import did_you_mean

_ATTENTION = "glasscli.model.attention"
_BLOCK = "glasscli.model.block"

STEPS: Mapping[str, StepInfo] = {
    step.name: step
    for step in (
        StepInfo(
            "q",
            "RMSNorm(x)·W_Q{bias}",
            ("head", "query", "dim"),
            "A query is what a token asks of the tokens before it. Each head makes its own, with its own "
            "{E} columns of W_Q.",
            (_BLOCK, "heads = linear(normed_BTD"),
        ),
        StepInfo(
            "k",
            "RMSNorm(x)·W_K{bias}",
            ("kv_head", "query", "dim"),
            "A key is what a token offers to be found by. There are {K} sets of keys for {H} query heads: {group}.",
            (_BLOCK, "heads = linear(normed_BTD"),
        ),
        StepInfo(
            "v",
            "RMSNorm(x)·W_V{bias}",
            ("kv_head", "query", "dim"),
            "A value is what a token hands over once it has been found. It carries no position: it is not rotated.",
            (_BLOCK, "heads = linear(normed_BTD"),
        ),
        StepInfo(
            "q_norm",
            "RMSNorm(q)·w",
            ("head", "query", "dim"),
            "The numbers of each head are scaled to a root mean square of 1, then each by a learned weight. However "
            "large a query was, it now asks as loudly as any other.",
            (_BLOCK, 'at("q_norm", norm_heads('),
        ),
        StepInfo(
            "k_norm",
            "RMSNorm(k)·w",
            ("kv_head", "query", "dim"),
            "The numbers of each head are scaled to a root mean square of 1, then each by a learned weight. Scores "
            "can't grow by long keys, which keeps training calm.",
            (_BLOCK, 'at("k_norm", norm_heads('),
        ),
        StepInfo(
            "rope_q",
            "turn q by its position",
            ("head", "query", "dim"),
            "Dimensions i and i + {half} form a pair that is turned by the angle position × frequency i. "
            "Turning changes no length, so a query asks as loudly as before.",
            ("glasscli.model.rope", "np.multiply(heads.view"),
        ),
        StepInfo(
            "rope_k",
            "turn k by its position",
            ("kv_head", "query", "dim"),
            "Keys are turned the same way, so a dot product of both depends only on how far apart they "
            "stand. Position 0 is turned by the angle 0.",
            ("glasscli.model.rope", "np.multiply(heads.view"),
        ),
        StepInfo(
            "cache",
            "append rope_k and v",
            ("side", "kv_head", "key", "dim"),
            "Turned keys and values are kept, because later tokens need them unchanged. This is the KV "
            "cache: it grows by {row} numbers a token in this layer.",
            ("glasscli.cache.full", "[0, :, :, starts[0] : seen] = k_BKTE"),
        ),
        StepInfo(
            "scores",
            "rope_q·rope_kᵀ / √{E}",
            ("head", "query", "key"),
            "Every query is compared with every key by a dot product. Dividing by √{E} would keep the scores near 1 "
            "in size if q and k were independent and of unit variance; learned vectors need not be.",
            (_ATTENTION, "scores = rows @"),
        ),
        StepInfo(
            "softcap",
            "c·tanh(scores / c)",
            ("head", "query", "key"),
            "Scores are bent so that none leaves the range of ± the cap. Small ones hardly change, and no token can "
            "take all attention by one huge score.",
            (_ATTENTION, 'at("softcap", softcap *'),
        ),
        StepInfo(
            "mask",
            "−∞ where key > query",
            ("query", "key"),
            "A token may look at itself and back, never ahead: later tokens were not there when it was "
            "written. Their scores become −∞, which softmax turns into exactly 0.",
            ("glasscli.cache.store", "np.tri(n_new"),
        ),
        StepInfo(
            "softmax",
            "each row sums to 1",
            ("head", "query", "key"),
            "e to the power of each score, divided by the sum of its row: scores become shares of "
            "attention. A score that is larger by 0.69 gets twice the share.",
            (_ATTENTION, "weights /= sums"),
        ),
        StepInfo(
            "mix",
            "softmax · v[kv head]",
            ("head", "query", "dim"),
            "Each head takes the average of the values it may see, weighted by its row of shares. "
            "Values are shared as keys are: {group}.",
            (_ATTENTION, "(rows @ v_KSE)"),
        ),
        StepInfo(
            "out",
            "concat(mix) · W_O{bias}",
            ("query", "dim"),
            "The heads' results are laid side by side and mixed by W_O into one vector of {D} numbers. It "
            "is added to the token's residual stream.",
            (_BLOCK, 'at("out", linear('),
            width="D",
        ),
    )
}


# Those of a whole layer, in the order of computing, and those of the model around its layers.
LAYER_STEPS: Mapping[str, StepInfo] = {**BEFORE, **STEPS, **AFTER}
EVERY_STEP: Mapping[str, StepInfo] = {**LAYER_STEPS, **OUTSIDE}


def steps_of(config: ModelConfig, layer: int = 0) -> Mapping[str, StepInfo]:
    """The steps of attention that a model has, as one of its layers computes them."""
    return {name: step for name, step in layer_steps(config, layer).items() if name in STEPS}


def layer_steps(config: ModelConfig, layer: int = 0) -> Mapping[str, StepInfo]:
    """All steps of a layer: norms, attention, the residual stream, the MLP."""
    absent, form = missing(config), form_of(config, layer)
    return {name: specialised(step, form) for name, step in LAYER_STEPS.items() if name not in absent}


def check_step(name: str, config: ModelConfig) -> None:
    """See that a model has the step called `name`.

    Raises:
        UsageError: it has not; the message lists those it has.
    """
    find_step(name)
    if name in missing(config):
        known = _listed(layer_steps(config))
        raise UsageError(f"this {config.architecture.model_type} model has no step {name!r}. {known}")


def find_step(name: str) -> StepInfo:
    """The step called `name`, of a layer or of the model.

    Raises:
        UsageError: there is none; the message lists those there are.
    """
    if name not in EVERY_STEP:
        raise UsageError(f"no step {name[:40]!r}. {did_you_mean(name, EVERY_STEP) or _listed(LAYER_STEPS)}")
    return EVERY_STEP[name]


def _listed(names: Iterable[str]) -> str:
    """The steps there are, by where they are."""
    attention, around = [n for n in names if n in STEPS], [n for n in names if n not in STEPS]
    places = {"Steps of attention": attention, "around it": around, "of the model": list(OUTSIDE)}
    return "; ".join(f"{place}: {', '.join(found)}" for place, found in places.items()) + "."


def step_array(trace: LayerTrace, name: str) -> Array | Mask:
    """The numbers of a layer's step, indexed by its `axes`. `cache` stacks keys (0) and values (1)."""
    if name == "cache":
        return np.stack([trace.cache_k_KSE, trace.cache_v_KSE])
    return getattr(trace, FIELDS[find_step(name).name])


def explain(step: StepInfo, config: ModelConfig) -> str:
    """The two sentences, with this model's numbers in them."""
    size = config.group_size
    group = "each head has its own" if size == 1 else f"{size} query heads share one"
    return step.explanation.format(
        E=config.head_dim,
        half=config.rotary_dim // 2,
        H=config.n_heads,
        K=config.n_kv_heads,
        D=config.dim,
        F=config.ffn_dim,
        row=f"{2 * config.n_kv_heads * config.head_dim:,}",
        group=group,
    )


def source_line(step: StepInfo) -> tuple[str, int, str]:
    """Where our code computes a step: file below the package, line number, the line itself."""
    module, piece = step.source
    lines = inspect.getsource(import_module(module)).splitlines()
    number = next(i for i, line in enumerate(lines) if piece in line)
    return f"{module.replace('.', '/')}.py", number + 1, lines[number].strip()
