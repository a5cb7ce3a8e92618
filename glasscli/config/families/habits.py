"""Which layer is of which type, for models with a habit of their own: see `patterns` for the shared ones."""

from glasscli.config.families.fields import Fields, shown
from glasscli.config.families.patterns import (
    CHUNKED,
    FULL,
    HYBRID,
    HYBRID_SLIDING,
    LINEAR,
    SLIDING,
    cycle,
    every,
    letters,
    listed,
)


def exaone(read: Fields, n: int) -> list[str]:
    """EXAONE 4: a period, or a word like LLLG; no window means no sliding layers."""
    if read.get("sliding_window") is None:
        return [FULL] * n
    period = read.get("sliding_window_pattern")
    if isinstance(period, str) and period and set(period) <= {"L", "G"}:
        return cycle(*(FULL if letter == "G" else SLIDING for letter in period))(read, n)
    return every("sliding_window_pattern", fallback=4)(read, n)


def flint(read: Fields, n: int) -> list[str]:
    """Flint: full on the first two layers, on 5, 9, 13 … and on the last; the rest slides."""
    return [FULL if i < 2 or i % 4 == 1 or i == n - 1 else SLIDING for i in range(n)]


def prefix_then_every(read: Fields, n: int) -> list[str]:
    """Cohere 2 MoE: the dense layers at the start have a period of their own."""
    first = min(read.integer("first_k_dense_replace", default=0, least=0), n)
    head = every("prefix_dense_sliding_window_pattern", fallback=1)(read, first) if first else []
    return head + every("sliding_window_pattern", fallback=4)(read, n - first)


def mimo(read: Fields, n: int) -> list[str]:
    """MiMo-V2: hybrid_layer_pattern marks sliding layers; else the first and every sixth are full."""
    marks = read.numbers("hybrid_layer_pattern", n)
    if marks is None or read.engine == "transformers":
        return [FULL if i == 0 or (i + 1) % 6 == 0 else SLIDING for i in range(n)]
    return [SLIDING if mark else FULL for mark in marks]


def no_rope(read: Fields, n: int) -> list[int]:
    """1 for layers with rotary positions, 0 for those without: a list, or every few layers."""
    marks = read.numbers("no_rope_layers")
    if marks:
        if len(marks) != n:
            read.refuse("no_rope_layers", f"has {len(marks)} entries: expected {n}, one for each layer")
        return marks
    step = read.integer("no_rope_layer_interval", default=4)
    return [int((i + 1) % step != 0) for i in range(n)]


def no_rope_slides(read: Fields, n: int) -> list[str]:
    """SmolLM3: layers without rotary positions slide, where a window is in use."""
    slides = read.flag("use_sliding_window") and read.get("sliding_window") is not None
    return [SLIDING if slides and not rope else FULL for rope in no_rope(read, n)]


def no_rope_is_full(read: Fields, n: int) -> list[str]:
    """Llama 4: layers with rotary positions attend within a chunk."""
    chunks = read.get("attention_chunk_size") is not None
    return [CHUNKED if chunks and rope else FULL for rope in no_rope(read, n)]


def from_max_window_layers(read: Fields, n: int) -> list[str]:
    """dots.llm1: as Qwen2, with no switch."""
    if read.get("sliding_window") is None:
        return [FULL] * n
    first: int = read.integer("max_window_layers", least=0)
    return [SLIDING if i >= first else FULL for i in range(n)]


def reference(read: Fields, n: int) -> list[str]:
    """Unlimited-OCR: every layer slides over what is generated, where a window is given."""
    slides = read.get("sliding_window") is not None
    return ["reference_sliding_attention" if slides else FULL] * n


def dots3(read: Fields, n: int) -> list[str]:
    """dots3: full on the first two layers and on 5, 9, 13 …; the rest slides, unless that is switched off."""
    slides = read.flag("use_sliding_window", True)
    return [FULL if not slides or i < 2 or i % 4 == 1 else SLIDING for i in range(n)]


def jamba(read: Fields, n: int) -> list[str]:
    """Jamba: attention on one layer of each attn_layer_period, Mamba on the others."""
    period: int = read.integer("attn_layer_period")
    offset: int = read.integer("attn_layer_offset", least=0)
    return [FULL if i % period == offset else LINEAR for i in range(n)]


def bamba(read: Fields, n: int) -> list[str]:
    """Bamba: attention on the layers that attn_layer_indices lists, Mamba-2 on the others."""
    if not read.has("attn_layer_indices"):
        return [LINEAR] * n
    return listed("attn_layer_indices", FULL, LINEAR)(read, n)


NEMOTRON_LETTERS = {"M": LINEAR, "E": "moe", "*": FULL, "-": "mlp"}


def nemotron_h(read: Fields, n: int) -> list[str]:
    """Nemotron-H: a letter for each layer, unless the types are listed."""
    if read.has("hybrid_override_pattern"):
        return letters("hybrid_override_pattern", NEMOTRON_LETTERS)(read, n)
    return read.refuse("layers_block_type", "is missing, and so is hybrid_override_pattern")


def zamba(read: Fields, n: int) -> list[str]:
    """Zamba: two Mamba layers and a hybrid one, then a hybrid in each attn_layer_period."""
    period: int = read.integer("attn_layer_period")
    offset: int = read.integer("attn_layer_offset", least=0)
    return [LINEAR, LINEAR, HYBRID] + [HYBRID if i % period == offset else LINEAR for i in range(n - 3)]


def zamba2(read: Fields, n: int) -> list[str]:
    """Zamba 2: hybrids on the layers that hybrid_layer_ids lists."""
    if read.has("hybrid_layer_ids"):
        return listed("hybrid_layer_ids", HYBRID, LINEAR)(read, n)
    return read.refuse("layers_block_type", "is missing: expected the type of each layer")


def olmo_hybrid(read: Fields, n: int) -> list[str]:
    """Olmo-Hybrid: every fourth layer attends; in a model of fewer the last one does."""
    types = every(4, FULL, LINEAR)(read, n)
    return types if FULL in types else [*types[:-1], FULL]


def kimi(read: Fields, n: int) -> list[str]:
    """Kimi Linear: the checkpoint numbers its layers from one."""
    inner = read.nested("linear_attn_config")
    if inner.has("full_attn_layers"):
        return listed("full_attn_layers", FULL, LINEAR, one_based=True)(inner, n)
    return [FULL if i and i % 4 == 0 else LINEAR for i in range(n)]


def minimax(read: Fields, n: int) -> list[str]:
    """MiniMax-Text-01's attn_type_list says 1 for softmax; transformers' class alternates without a list."""
    marks = read.numbers("attn_type_list", n)
    if marks is None:
        return [FULL if (i + 1) % 2 else LINEAR for i in range(n)]
    return [FULL if mark else LINEAR for mark in marks]


def lfm2(read: Fields, n: int) -> list[str]:
    """LFM2: attention on the layers that full_attn_idxs lists, short convolutions on the others."""
    if not read.has("full_attn_idxs"):
        return [FULL] * n
    return listed("full_attn_idxs", FULL, "conv")(read, n)


def lfm3(read: Fields, n: int) -> list[str]:
    """LFM3: full on layers 2, 6, 10 …, sliding on 4, 8, 12 …, short convolutions on the others."""
    return [FULL if i % 4 == 2 else SLIDING if i % 4 == 0 and i else "conv" for i in range(n)]


def recurrent_gemma(read: Fields, n: int) -> list[str]:
    """block_types repeats until the layers are used up; its attention is always local."""
    words = {"recurrent": "recurrent", "attention": SLIDING}
    block = read.words("block_types") or []
    if not block or not set(block) <= set(words):
        read.refuse("block_types", "is not a list of recurrent and attention")
    return [words[block[i % len(block)]] for i in range(n)]


def inkling(read: Fields, n: int) -> list[str]:
    """Inkling: the local layers by number, else all but every sixth."""
    if read.has("local_layer_ids"):
        return listed("local_layer_ids", HYBRID_SLIDING, HYBRID)(read, n)
    return every(6, HYBRID, HYBRID_SLIDING)(read, n)


def deepseek_v4(read: Fields, n: int) -> list[str]:
    """compress_ratios gives 0, 4 or 128 for each layer; without it the layers alternate after two heavy ones."""
    words = {0: "sliding_attention", 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}
    ratios = read.numbers("compress_ratios")
    if ratios is None:
        alternate = [words[4] if i % 2 else words[128] for i in range(max(n - 2, 0))]
        return [words[128]] * min(n, 2) + alternate
    for ratio in ratios:
        if ratio not in words:
            read.refuse("compress_ratios", f"holds {ratio}: expected 0, 4 or 128")
    if len(ratios) < n:
        read.refuse("compress_ratios", f"has {len(ratios)} entries: expected one for each of the {n} layers")
    return [words[ratio] for ratio in ratios[:n]]


def minimax_m3(read: Fields, n: int) -> list[str]:
    """sparse_attention_freq marks the sparse layers."""
    marks = read.nested("sparse_attention_config").numbers("sparse_attention_freq", n)
    return [("minimax_m3_sparse" if mark else FULL) for mark in marks or [0] * n]


def attention_list(read: Fields, n: int) -> list[str]:
    """GPT-Neo: attention_layers says global or local; the transformers cache keeps all tokens for both."""
    words = {"global": FULL, "local": SLIDING}
    given = read.words("attention_layers", n)
    if given is None:
        given = []
        for entry in read.items("attention_types") or []:
            if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], list)):
                read.refuse("attention_types", f"holds {shown(entry)}: expected lists like [[words], times]")
            given += entry[0] * min(read.whole(entry[1], "attention_types"), n + 1)  # more than n is refused below
    if len(given) != n or not all(isinstance(word, str) and word in words for word in given):
        read.refuse("attention_layers", f"is not {n} times global or local")
    return [FULL if read.engine == "transformers" else words[word] for word in given]
