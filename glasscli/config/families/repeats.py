"""Models whose layers run several times, or share caches: the list of layers changed as a whole."""

from dataclasses import replace

from glasscli.config.families.fields import MAX_LAYERS, Fields, shown
from glasscli.specs.attention_specs import CacheSpec, IndexKeys, NoCache, Several


def dory(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """Dory: the middle layers run several times, each with a cache of its own unless only the last counts."""
    made = [spec for spec in made if not isinstance(spec, NoCache)] if _with_mlps(read) else made
    first = read.integer("n_input_layers", least=0) // (2 if _with_mlps(read) else 1)
    count = read.integer("n_recurrent_layers", default=None, least=0)
    if count is None:
        count = len(made) - first - read.integer("n_output_layers", least=0)
    else:
        count //= 2 if _with_mlps(read) else 1
    if read.get("recurrent_kv_cache_mode") == "last_loop":
        return made
    return made + times(read, made[first : first + count], "n_recurrent_loops", less=1)


def _with_mlps(read: Fields) -> bool:
    """Dory's checkpoints count each MLP as a layer."""
    return "mlp" in (read.words("layer_types") or [])


def inkling_loop(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """Inkling 2 Loop: a range of layers runs several times, each pass with its own cache."""
    loop = read.nested("loop_config") if read.has("loop_config") else read
    first, last = loop.integer("loop_layer_index_start", least=0), loop.integer("loop_layer_index_end", least=0)
    return made + times(loop, made[first:last], "loop_num_passes", less=1)


def twice(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """LongCat-Flash: two attentions in each layer."""
    return [spec for spec in made for _ in range(2)]


def hrm(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """HRM: two stacks run in nested cycles; a config that names the stacks' size has them all counted."""
    if read.has("num_layers_per_stack"):
        return made
    return times(read, times(read, made, "H_cycles"), "L_cycles", less=-1)


def shared_across(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """Cross-layer attention (Hunyuan-Large): one layer of each `cla_share_factor` owns a cache."""
    if not read.flag("use_cla"):
        return made
    factor = read.integer("cla_share_factor")
    return [spec if i % factor == 0 else NoCache("shares an earlier layer's") for i, spec in enumerate(made)]


def positions_once(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """Qwen4: the positions of the index keys are kept by the first layer that has an index, for all of them."""
    changed, done = list[CacheSpec](), False
    for spec in made:
        if any(isinstance(part, IndexKeys) for part in spec.parts):
            parts = tuple(_without_positions(part) for part in spec.parts) if done else spec.parts
            spec, done = Several(parts), True
        changed.append(spec)
    return changed


def _without_positions(part: CacheSpec) -> CacheSpec:
    return replace(part, n_positions=0) if isinstance(part, IndexKeys) else part


def times(read: Fields, made: list[CacheSpec], field: str, less: int = 0) -> list[CacheSpec]:
    """`made` as often as `field` says, less `less`: refused where that is more layers than glass lays out."""
    count: int = read.integer(field) - less
    if len(made) * count > MAX_LAYERS:
        read.refuse(field, f"is {shown(count + less)}: glass lays out at most {MAX_LAYERS} layers")
    return made * count
