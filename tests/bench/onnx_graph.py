"""The model as an ONNX graph of ONNX Runtime's own fused operators, which is how its exporters write a Llama.

    ids ─ Gather ─ [norm ─ MatMul ─ GroupQueryAttention ─ MatMul ─ add + norm ─ SwiGLU ─ add] … ─ last ─ norm ─ logits

Keys and values go in and come out as arrays of all positions; bound to one buffer, nothing is copied.
Operators: ONNX Runtime's documentation of contrib operators.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from folders import read_folder
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


class Graph:
    """Nodes and constants in the making."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """A constant."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> str:
        """A node; the name of its first output."""
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]


def write_graph(folder: Path, max_tokens: int) -> Path:
    """Write `folder`/model.onnx for caches of `max_tokens` positions and return its path."""
    config, tensors = read_folder(folder)
    graph, eps = Graph(), config["rms_norm_eps"]
    width, n_layers = config["head_dim"], config["num_hidden_layers"]
    frequency = config["rope_theta"] ** -(np.arange(0, width, 2, dtype=np.float32) / width)
    angle = np.arange(max_tokens, dtype=np.float32)[:, None] * frequency.astype(np.float32)
    graph.constant("cos", np.cos(angle))
    graph.constant("sin", np.sin(angle))
    table = tensors["model.embed_tokens.weight"]
    x = graph.node("Gather", [graph.constant("embedding", table), "ids"], ["x"])
    norm = [x, graph.constant("0.norm1", tensors["model.layers.0.input_layernorm.weight"])]
    normed = graph.node("SimplifiedLayerNormalization", norm, ["normed"], axis=-1, epsilon=eps)
    for layer in range(n_layers):
        x, normed = add_block(graph, config, tensors, layer, x, normed)
    last = graph.node("Gather", [normed, graph.constant("last", np.array([-1]))], ["last_normed"], axis=1)
    graph.node("MatMul", [last, graph.constant("head", table.T)], ["logits"])
    path = folder / "model.onnx"
    onnx.save(wrap(graph, config, max_tokens), path)
    return path


def add_block(
    graph: Graph, config: dict[str, Any], tensors: dict[str, NDArray[np.float32]], layer: int, x: str, normed: str
) -> tuple[str, str]:
    """Add one block and the norm behind it: the names of the residual stream and of the normed one."""

    def name(part: str) -> str:
        return f"{layer}.{part}"

    def weights(*parts: str) -> NDArray[np.float32]:
        return np.concatenate([tensors[f"model.layers.{layer}.{part}.weight"] for part in parts])

    def product(left: str, part: str, *names: str) -> str:
        matrix = graph.constant(name(f"{part}.weight"), weights(*names).T)
        return graph.node("MatMul", [left, matrix], [name(part)])

    def add_and_norm(added: str, part: str, weight: NDArray[np.float32]) -> tuple[str, str]:
        outputs = [name(f"{part}.normed"), "", "", name(f"{part}.x")]
        inputs = [x, added, graph.constant(name(part), weight)]
        epsilon = config["rms_norm_eps"]
        graph.node("SkipSimplifiedLayerNormalization", inputs, outputs, MICROSOFT, epsilon=epsilon)
        return outputs[3], outputs[0]

    qkv = product(normed, "qkv", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    past, present = [name("past_k"), name("past_v")], [name("present_k"), name("present_v")]
    mixed = graph.node(
        "GroupQueryAttention",
        [qkv, "", "", *past, "last_place", "n_seen", "cos", "sin"],
        [name("mixed"), *present],
        MICROSOFT,
        num_heads=config["num_attention_heads"],
        kv_num_heads=config["num_key_value_heads"],
        do_rotary=1,
    )
    x, normed = add_and_norm(product(mixed, "out", "self_attn.o_proj"), "norm2", weights("post_attention_layernorm"))
    gate = graph.node("QuickGelu", [product(normed, "gate", "mlp.gate_proj")], [name("silu")], MICROSOFT, alpha=1.0)
    hidden = graph.node("Mul", [gate, product(normed, "up", "mlp.up_proj")], [name("hidden")])
    after = f"model.layers.{layer + 1}.input_layernorm.weight"
    return add_and_norm(
        product(hidden, "down", "mlp.down_proj"), "norm3", tensors.get(after, tensors["model.norm.weight"])
    )


def wrap(graph: Graph, config: dict[str, Any], max_tokens: int) -> Any:
    """The graph with its inputs and outputs."""
    shape = [1, config["num_key_value_heads"], max_tokens, config["head_dim"]]
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "n"]),
        helper.make_tensor_value_info("last_place", TensorProto.INT32, [1]),
        helper.make_tensor_value_info("n_seen", TensorProto.INT32, []),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, config["vocab_size"]])]
    for layer in range(config["num_hidden_layers"]):
        for part in "kv":
            inputs.append(helper.make_tensor_value_info(f"{layer}.past_{part}", TensorProto.FLOAT, shape))
            outputs.append(helper.make_tensor_value_info(f"{layer}.present_{part}", TensorProto.FLOAT, shape))
    made = helper.make_graph(graph.nodes, "llama", inputs, outputs, graph.constants)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=versions, ir_version=9)
