"""Write `llama_cpp_divergence.json`: what llama.cpp's smaller caches cost beside its float32 one, by llama.cpp itself.

    python tests/quality/make_llama_cpp_divergence.py [SMOLLM2.gguf TEXT]

In an environment with llama-cpp-python and gguf. The shipped model reads texts that it wrote itself, whose ids are
kept; SmolLM2-135M in float32 (its GGUF and a text are given) is read by glass as well, since it does not come with
glass. Scored are the second halves of chunks, all with flash attention, which a packed V needs.
"""

import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

import llama_cpp as lib
import numpy as np
from folders import write_folder
from gguf_file import write_gguf
from helpers.rounded_queries import RoundedQueries

from glasscli import SamplingParams, generate, load_model
from glasscli.cache.choice_text import parse_choice
from glasscli.quality.divergence import kl_divergence

HERE = Path(__file__).parent / "llama_cpp_divergence.json"
CONTEXT = 512
TYPES = {
    "f32": lib.GGML_TYPE_F32, "f16": lib.GGML_TYPE_F16, "q8_0": lib.GGML_TYPE_Q8_0, "q5_1": lib.GGML_TYPE_Q5_1,
    "q5_0": lib.GGML_TYPE_Q5_0, "q4_1": lib.GGML_TYPE_Q4_1, "q4_0": lib.GGML_TYPE_Q4_0,
}  # fmt: skip
SHIPPED_SPECS = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "k=q4_0,v=q8_0", "k=q8_0,v=q4_0")
ROUNDED_SPECS = ("q8_0", "q5_1,norot", "q4_0")
SMOLLM2_SPECS = ("q8_0", "q5_1", "q5_1,norot", "q5_0", "q5_0,norot", "q4_1", "q4_1,norot", "q4_0", "q4_0,norot")


def logits_of(model: Any, ids: list[int], spec: str) -> np.ndarray:
    """llama.cpp's logits of the second half of a chunk, [T/2, V], with a cache of that spec."""
    choice = parse_choice(spec)
    os.environ["LLAMA_ATTN_ROT_DISABLE"] = "0" if choice.rotated else "1"
    settings = lib.llama_context_default_params()
    settings.n_ctx = settings.n_batch = settings.n_ubatch = len(ids)
    settings.n_threads = settings.n_threads_batch = 2
    settings.type_k, settings.type_v = TYPES[choice.k], TYPES[choice.v]
    settings.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_ENABLED
    context = lib.llama_init_from_model(model, settings)
    batch = lib.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, token_id in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token_id, i, 1, 0
        batch.logits[i] = i >= len(ids) // 2 - 1
    assert lib.llama_decode(context, batch) == 0
    width = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    rows = [
        np.ctypeslib.as_array(lib.llama_get_logits_ith(context, i), (width,)).copy()
        for i in range(len(ids) // 2 - 1, len(ids) - 1)
    ]
    lib.llama_batch_free(batch)
    lib.llama_free(context)
    return np.array(rows)


def mean_klds(path: Path, chunks: list[list[int]], specs: tuple[str, ...]) -> dict[str, float]:
    """Of each spec, over the second halves of all chunks."""
    model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
    found: dict[str, list[np.ndarray]] = {spec: [] for spec in specs}
    for ids in chunks:
        full = logits_of(model, ids, "f32")
        for spec in specs:
            found[spec].append(kl_divergence(full, logits_of(model, ids, spec)))
    lib.llama_model_free(model)
    return {spec: float(np.concatenate(klds).mean()) for spec, klds in found.items()}


def of_shipped() -> dict[str, Any]:
    """The shipped model over twelve texts it wrote: 3,072 positions."""
    loaded = load_model()
    chunks = []
    for seed in range(12):
        text = generate(loaded, [0], params=SamplingParams(top_p=0.95), max_new_tokens=CONTEXT - 1, seed=seed,
                        ignore_eos=True)  # fmt: skip
        chunks.append([0, *(step.token_id for step in text)])
    with tempfile.TemporaryDirectory() as place:
        klds = mean_klds(write_gguf(write_folder(Path(place) / "model")), chunks, SHIPPED_SPECS)
    return {"chunks": chunks, "llama_cpp": klds}


def of_smollm2(path: Path, text: str) -> dict[str, Any]:
    """SmolLM2 over the first four chunks of a text, by llama.cpp and by glass: 1,024 positions."""
    loaded = load_model(path)
    ids = loaded.tokenizer.encode(text)
    step = CONTEXT - 1
    mark = loaded.config.bos_ids[:1]
    chunks = [[*mark, *ids[first : first + step]] for first in range(0, 4 * step, step)]
    return {
        "file": path.name,
        "text": text[:60],
        "llama_cpp": mean_klds(path, chunks, SMOLLM2_SPECS),
        "glass": own_klds(loaded, chunks, SMOLLM2_SPECS),
        "glass_rounded_queries": own_klds(loaded, chunks, ROUNDED_SPECS, rounded=True),
    }


def own_klds(loaded: Any, chunks: list[list[int]], specs: tuple[str, ...], rounded: bool = False) -> dict[str, float]:
    """What glass loses; `rounded`: with queries in 8 bits, too, as llama.cpp multiplies them with packed keys."""
    found: dict[str, list[np.ndarray]] = {spec: [] for spec in specs}
    half = slice(CONTEXT // 2 - 1, -1)
    for chunk in chunks:
        full = loaded.model(chunk)[half]
        for spec in specs:
            choice = parse_choice(spec)
            trace = RoundedQueries(choice, loaded.config.head_dim) if rounded else None
            cache = loaded.model.chosen_cache(choice, CONTEXT)
            found[spec].append(kl_divergence(full, loaded.model(chunk, cache, trace=trace)[half]))
    return {spec: float(np.concatenate(klds).mean()) for spec, klds in found.items()}


def main() -> None:
    made = json.loads(HERE.read_text()) if HERE.exists() else {}
    made |= {
        "made_by": "tests/quality/make_llama_cpp_divergence.py",
        "with": f"llama.cpp of llama-cpp-python {version('llama-cpp-python')}",
        "context": CONTEXT,
    }
    if len(sys.argv) > 1:
        made["smollm2"] = of_smollm2(Path(sys.argv[1]), Path(sys.argv[2]).read_text())
    else:
        made["shipped"] = of_shipped()
    HERE.write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
