"""Every step of a dump against what transformers' own eager attention computes in float64."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.dump_cases import STEPS
from helpers.random_llama import KINDS, settings, tensors, token_ids

from glasscli import Llama, ModelConfig, load_model
from glasscli.checkpoint.load import LoadedModel
from glasscli.export import export_dump
from glasscli.inspect.dump import Dump, dump_attention, dump_decode
from glasscli.inspect.steps import step_array
from glasscli.locate.shipped import shipped_folder

CLOSE = 2e-5  # absolute for numbers around 1, relative for larger ones
STORY = "Once upon a time, there was a little girl named Lily. She saw a big dog. The dog saw Lily and ran to"


@contextmanager
def watched(model: Any) -> Iterator[list[dict[str, Any]]]:
    """What each layer of transformers' Llama computes in its next call, by our names for the steps."""
    from transformers.models.llama import modeling_llama as llama

    layers: list[dict[str, Any]] = []
    turn, attend = llama.apply_rotary_pos_emb, llama.eager_attention_forward

    def turned(q: Any, k: Any, cos: Any, sin: Any, *rest: Any) -> Any:
        rope_q, rope_k = turn(q, k, cos, sin, *rest)
        layers.append({"q": q[0], "k": k[0], "rope_q": rope_q[0], "rope_k": rope_k[0]})
        return rope_q, rope_k

    def attended(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **rest: Any) -> Any:
        mixed, weights = attend(module, query, key, value, mask, scaling, **rest)
        keys = llama.repeat_kv(key, module.num_key_value_groups)
        layers[-1] |= {
            "cache": np.stack([key[0].numpy(), value[0].numpy()]),
            "scores": (query @ keys.transpose(2, 3) * scaling)[0],
            "mask": (mask[0, 0] == 0) if mask is not None else np.ones((query.shape[2], key.shape[2]), bool),
            "softmax": weights[0],
            "mix": mixed[0].transpose(0, 1),
        }
        return mixed, weights

    hooks = [
        layer.self_attn.o_proj.register_forward_hook(lambda _m, _i, result: layers[-1].update(out=result[0]))
        for layer in model.model.layers
    ]
    llama.apply_rotary_pos_emb, llama.eager_attention_forward = turned, attended
    try:
        yield layers
    finally:
        llama.apply_rotary_pos_emb, llama.eager_attention_forward = turn, attend
        for hook in hooks:
            hook.remove()


def reference(config: dict[str, Any], weights: dict[str, Any]) -> Any:
    """transformers' own model in float64."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(**config, attn_implementation="eager")).eval().double()
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()}, strict=False)
    model.tie_weights()
    return model


def shipped_reference() -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        shipped_folder(), dtype=torch.float64, attn_implementation="eager"
    ).eval()


def steps_of(model: Any, ids: list[int]) -> list[dict[str, Any]]:
    """All steps of all layers for a prefill of `ids`."""
    import torch

    with torch.no_grad(), watched(model) as layers:
        model(torch.tensor([ids]))
    return [{name: np.asarray(value) for name, value in layer.items()} for layer in layers]


def compare(dump: Dump, theirs: list[dict[str, Any]], rows: slice = slice(None)) -> None:
    """Each step of each layer; `rows` picks the queries of a whole prefill that the dump holds."""
    for trace in dump.layers:
        layer = theirs[trace.layer]
        layer["v"] = layer["cache"][1]
        for name, step in STEPS.items():
            expected = layer[name]
            if "query" in step.axes:
                expected = expected.take(range(len(dump.tokens))[rows], axis=step.axes.index("query"))
            found = step_array(trace, name)
            assert found.shape == expected.shape, name
            if name == "scores":  # where a key comes later, a decode step has no score
                expected, found = (np.where(trace.mask_TS, x, 0) for x in (expected, found))
            where = f"layer {trace.layer} {name}"
            np.testing.assert_allclose(found, expected, atol=CLOSE, rtol=CLOSE, err_msg=where)


def stream_of(model: Any, ids: list[int]) -> tuple[list[dict[str, Any]], Any]:
    """The steps around attention of all layers, by our names, and the logits, for a prefill of `ids`."""
    import torch

    found: list[dict[str, Any]] = [{} for _ in model.model.layers]
    hooks = []
    for layer, seen in zip(model.model.layers, found, strict=True):

        def keep(name: str, seen: dict[str, Any] = seen) -> Any:
            return lambda _m, _i, result: seen.update({name: (result[0] if result.ndim == 3 else result).numpy()})

        mlp = layer.mlp
        for module, name in ((layer.input_layernorm, "attn_norm"), (layer.post_attention_layernorm, "ffn_norm"),
                             (mlp.gate_proj, "gate"), (mlp.up_proj, "up"), (mlp.down_proj, "down")):  # fmt: skip
            hooks.append(module.register_forward_hook(keep(name)))
        hooks.append(mlp.down_proj.register_forward_pre_hook(
            lambda _m, inputs, seen=seen: seen.update(hidden=inputs[0][0].numpy())))  # fmt: skip
        hooks.append(layer.register_forward_pre_hook(
            lambda _m, inputs, seen=seen: seen.update(resid_pre=inputs[0][0].numpy())))  # fmt: skip
        hooks.append(layer.post_attention_layernorm.register_forward_pre_hook(
            lambda _m, inputs, seen=seen: seen.update(resid_mid=inputs[0][0].numpy())))  # fmt: skip
        hooks.append(layer.register_forward_hook(
            lambda _m, _i, result, seen=seen: seen.update(
                resid_post=(result[0] if isinstance(result, tuple) else result)[0].numpy())))  # fmt: skip
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].numpy()
    for hook in hooks:
        hook.remove()
    return found, logits


@pytest.mark.parametrize("kind", ["mha", "gqa", "biases"])
def test_every_step_around_attention(kind: str) -> None:
    """The stream, norms and MLP of each layer, the logits, and the gradient that torch's own cross entropy has."""
    import torch

    ours, theirs = random_model(kind)
    ids = token_ids(settings(**KINDS[kind]), 40)
    found, logits = stream_of(theirs, ids)
    dump = dump_attention(ours, ids, range(3), outside=("logits", "grad"))
    for trace, layer in zip(dump.layers, found, strict=True):
        for name, expected in layer.items():
            where = f"layer {trace.layer} {name}"
            np.testing.assert_allclose(step_array(trace, name), expected, atol=CLOSE, rtol=CLOSE, err_msg=where)
    np.testing.assert_allclose(dump.outside["logits"], logits, atol=2e-4, rtol=0)
    pushed = torch.tensor(logits[:-1], requires_grad=True)
    torch.nn.functional.cross_entropy(pushed, torch.tensor(ids[1:]), reduction="sum").backward()
    assert pushed.grad is not None
    np.testing.assert_allclose(dump.outside["grad"], pushed.grad.numpy(), atol=1e-4, rtol=0)


@pytest.fixture(scope="module")
def shipped() -> tuple[LoadedModel, Any]:
    return load_model(), shipped_reference()


def random_model(kind: str) -> tuple[LoadedModel, Any]:
    """A random model with no tokenizer but the shipped one's, which is never asked: prompts are ids."""
    config = settings(**KINDS[kind])
    weights = tensors(config)
    ours = Llama(ModelConfig.from_dict(config), {name: value.copy() for name, value in weights.items()})
    shipped = load_model()
    return LoadedModel(shipped.checkpoint, ours.config, ours, shipped.tokenizer), reference(config, weights)


@pytest.mark.parametrize("kind", ["mha", "gqa", "mqa", "head_dim", "biases", "linear", "llama3"])
def test_every_step_of_random_models(kind: str) -> None:
    ours, theirs = random_model(kind)
    ids = token_ids(settings(**KINDS[kind]), 40)
    compare(dump_attention(ours, ids, range(3)), steps_of(theirs, ids))


def test_every_step_of_the_shipped_model(shipped: tuple[LoadedModel, Any]) -> None:
    ours, theirs = shipped
    dump = dump_attention(ours, STORY, range(ours.config.n_layers))
    compare(dump, steps_of(theirs, dump.token_ids))


def test_every_decode_step_of_the_shipped_model(shipped: tuple[LoadedModel, Any]) -> None:
    ours, theirs = shipped
    new_ids = ours.encode(" the tree. The")[1:]
    dump = dump_decode(ours, STORY, range(ours.config.n_layers), new_ids)
    compare(dump, steps_of(theirs, dump.token_ids), slice(dump.start, None))


def test_hf_names_equal_output_attentions(shipped: tuple[LoadedModel, Any], tmp_path: Path) -> None:
    import torch

    ours, theirs = shipped
    dump = dump_attention(ours, STORY, range(ours.config.n_layers))
    export_dump(dump, tmp_path / "hf.npz", names="hf")
    with torch.no_grad():
        expected = theirs(torch.tensor([dump.token_ids]), output_attentions=True).attentions
    archive = np.load(tmp_path / "hf.npz")
    assert json.loads(str(archive["metadata"]))["names"] == "hf"
    assert len(archive["attentions"]) == len(expected)
    for found, attention in zip(archive["attentions"], expected, strict=True):
        assert found.shape == tuple(attention.shape)
        np.testing.assert_allclose(found, attention.numpy(), atol=CLOSE)
