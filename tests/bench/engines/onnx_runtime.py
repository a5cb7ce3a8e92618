"""ONNX Runtime on one thread: its grouped-query attention, inputs and outputs bound to buffers once."""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime
from folders import read_folder
from onnx_graph import write_graph


class Single:
    """One sequence."""

    name = f"onnxruntime {version('onnxruntime')}"

    def __init__(self, folder: Path, max_tokens: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        path = write_graph(folder, max_tokens)
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        config, _ = read_folder(folder)
        shape = (1, config["num_key_value_heads"], max_tokens, config["head_dim"])
        self.caches = {
            f"{layer}.{{}}_{part}": onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))
            for layer in range(config["num_hidden_layers"])
            for part in "kv"
        }
        # ONNX Runtime reads from and writes to these arrays' own memory.
        self.logits = np.empty((1, 1, config["vocab_size"]), np.float32)
        self.last_place, self.n_seen = np.zeros(1, np.int32), np.zeros((), np.int32)
        self.one = np.zeros((1, 1), np.int64)
        self.step_binding = self._bind(self.one)

    def prefill(self, token_ids: list[int]) -> int:
        """Forget what was read, read `token_ids`, and return the likeliest next token."""
        self.n_seen[()] = 0
        return self._run(self._bind(np.array([token_ids])), len(token_ids))

    def step(self, token_id: int) -> int:
        """Append `token_id` and return the likeliest next token."""
        self.one[0, 0] = token_id
        return self._run(self.step_binding, 1)

    def _bind(self, ids: np.ndarray) -> "onnxruntime.IOBinding":
        binding = self.session.io_binding()
        for name, array in (("ids", ids), ("last_place", self.last_place), ("n_seen", self.n_seen)):
            binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        binding.bind_output("logits", "cpu", 0, np.float32, self.logits.shape, self.logits.ctypes.data)
        for name, value in self.caches.items():
            binding.bind_ortvalue_input(name.format("past"), value)
            binding.bind_ortvalue_output(name.format("present"), value)
        binding.ids = ids  # keeps the array alive
        return binding

    def _run(self, binding: "onnxruntime.IOBinding", n_new: int) -> int:
        self.n_seen += n_new
        self.last_place[0] = self.n_seen - 1
        self.session.run_with_iobinding(binding)
        return int(self.logits.argmax())


SINGLE = [Single]
