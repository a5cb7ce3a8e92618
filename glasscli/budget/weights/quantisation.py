"""What a config's quantisation makes of each weight: which modules it leaves as they are, and the format of the rest.

Read from `quantization_config` (compression_config in older files); `Scheme.of` answers for one weight. What is not
known in full is refused by name: a method, a format, a list of exceptions that should be there and is not, or one that
names a module glass does not know, for then the bytes would be wrong without a sign.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from glasscli.budget.weights.exceptions import Exceptions, hugging_face, none_of_these, patterns, wildcards
from glasscli.budget.weights.formats import ITEM, Awq, Blocks, Bnb4, Format, Gptq, Mxfp4, Nvfp4, Packed, Plain, Scaled
from glasscli.budget.weights.weight import Weight
from glasscli.config.families.fields import Fields, shown

HEAD_PARTS = ("head",)
TOWERS = ("vision", "audio")


@dataclass(frozen=True)
class Scheme:
    """How the weights of one model are stored: `usual` for what is not quantised, `format` for what is.

    `reaches` says which parts the method touches at all; `excepted` which modules its lists leave alone; `experts` how
    experts are stored that a token is sent to, where that is a format of their own.
    """

    name: str
    usual: Plain
    format: Format
    reaches: Callable[[Weight], bool] = lambda weight: False
    excepted: Exceptions = field(default_factory=none_of_these)
    experts: Format | None = None

    def of(self, weight: Weight) -> Format:
        """The format of one weight."""
        if not weight.is_linear or not self.reaches(weight) or self.excepted.hold(weight):
            return self.usual
        return self.experts if self.experts is not None and weight.copies > 1 else self.format

    def n_bytes(self, weight: Weight) -> int:
        """All copies of a weight, with scales and biases."""
        one = self.of(weight).n_bytes(weight.rows, weight.columns or 1)
        return weight.copies * (one + weight.bias * ITEM[self.usual.name])


def scheme(root: Fields, text: Fields, dtype: str) -> Scheme:
    """How the weights that a config describes are stored: in `dtype` where it names no quantisation.

    Raises ConfigError, naming the field, for a method or a setting whose layout is not known.
    """
    usual = Plain(dtype)
    read = _settings(root) or _settings(text)
    if read is None:
        return Scheme(dtype, usual, usual)
    if read.has("bits") and read.has("group_size") and not read.has("quant_method"):
        read.refuse("bits", "and group_size stand alone, as MLX writes them: what its files hold is not known")
    method = read.get("quant_method") or ("modelopt" if read.has("quant_algo", "producer") else None)
    if not isinstance(method, str) or method not in METHODS:
        read.refuse("quant_method", f"is {shown(method)}: expected one of {', '.join(METHODS)}")
    found = METHODS[method](read, usual)
    experts = text.get("expert_dtype")
    if experts not in (None, "fp4", "fp8"):
        text.refuse("expert_dtype", f"is {shown(experts)}: expected fp4 or fp8")
    return replace(found, experts=Mxfp4("fp4")) if experts == "fp4" else found


def _settings(read: Fields) -> Fields | None:
    """The quantisation that a config describes; None where it describes none."""
    for name in ("quantization_config", "compression_config", "quantization"):  # the last is MLX's
        if read.has(name):
            found = read.nested(name)
            return found.nested("quantization") if found.has("quantization") else found
    return None


def language(weight: Weight) -> bool:
    """The layers of the language model, without its head: what methods that quantise block by block touch."""
    return weight.part not in (*HEAD_PARTS, *TOWERS)


def all_but_head(weight: Weight) -> bool:
    """Every linear map but the head."""
    return weight.part not in HEAD_PARTS


def every(weight: Weight) -> bool:
    """Every linear map."""
    return True


def fp8(read: Fields, usual: Plain) -> Scheme:
    """transformers' and DeepSeek's fp8: blocks with a scale each, or one scale a map."""
    if read.has("quant_algo") or read.has("config_groups"):
        read.refuse("quant_algo", "is given beside quant_method fp8: which modules are stored in which is not known")
    statics = 1 if read.get("activation_scheme") == "static" else 0
    size = read.numbers("weight_block_size", least=1)
    form: Format = Scaled("fp8", "tensor", 4, statics=statics)
    if size is not None:
        if len(size) != 2:
            read.refuse("weight_block_size", f"has {len(size)} entries: expected rows and columns")
        form = Blocks("fp8", size[0], size[1], statics=statics)
    return Scheme("fp8", usual, form, all_but_head, hugging_face(read, "modules_to_not_convert"))


def awq(read: Fields, usual: Plain) -> Scheme:
    """AutoAWQ's: the language model's layers."""
    bits, group = read.integer("bits", "w_bit", default=4), group_of(read, "group_size", "q_group_size")
    if bits != 4 or not read.flag("zero_point", True):
        read.refuse("bits", f"is {bits}: expected 4, with zero_point")
    return Scheme("awq", usual, Awq("awq", bits, group), language, hugging_face(read, "modules_to_not_convert"))


def gptq(read: Fields, usual: Plain) -> Scheme:
    """AutoGPTQ's and GPTQModel's: the language model's layers, the head too where it says so."""
    bits = read.integer("bits")
    if bits not in (2, 3, 4, 8):
        read.refuse("bits", f"is {bits}: expected 2, 3, 4 or 8")
    for name in ("dynamic", "modules_in_block_to_quantize"):
        if read.config.get(name):
            read.refuse(name, "is given: what is stored of modules that it singles out is not known")
    reach = every if read.flag("lm_head") else language
    form = Gptq("gptq", bits, group_of(read, "group_size"))
    return Scheme("gptq", usual, form, reach, hugging_face(read, "modules_to_not_convert"))


def bitsandbytes(read: Fields, usual: Plain) -> Scheme:
    """bitsandbytes, where the checkpoint is stored so: 4 bits in blocks of 64, or 8 bits with a scale a row."""
    form: Format
    if read.flag("load_in_4bit") or read.flag("_load_in_4bit"):
        form = Bnb4("bnb4", read.flag("bnb_4bit_use_double_quant"))
    elif read.flag("load_in_8bit") or read.flag("_load_in_8bit"):
        form = Scaled("bnb8", "channel", 4)
    else:
        read.refuse("load_in_4bit", "is not true, nor is load_in_8bit: expected one of them")
    return Scheme(form.name, usual, form, all_but_head, hugging_face(read, "llm_int8_skip_modules"))


def mxfp4(read: Fields, usual: Plain) -> Scheme:
    """gpt-oss's: the experts alone."""
    return Scheme("mxfp4", usual, Mxfp4(), lambda weight: weight.copies > 1, none_of_these())


def modelopt(read: Fields, usual: Plain) -> Scheme:
    """NVIDIA's ModelOpt: FP8 or NVFP4 for all linear maps but those it lists."""
    algorithm = read.get("quant_algo") or _algorithm_of_groups(read)
    known: Mapping[str, Format] = {
        "FP8": Scaled("fp8", "tensor", 4, statics=1),
        "NVFP4": Nvfp4(group=group_of(read, "group_size", default=16)),
    }
    if not isinstance(algorithm, str) or algorithm not in known:
        read.refuse("quant_algo", f"is {shown(algorithm)}: expected one of {', '.join(known)}")
    name = next((name for name in ("ignore", "exclude_modules") if read.has(name)), "")
    if not name:
        read.refuse("ignore", "is missing: which modules are not quantised is not said")
    return Scheme(algorithm.lower(), usual, known[algorithm], every, wildcards(read, name))


def compressed_tensors(read: Fields, usual: Plain) -> Scheme:
    """llm-compressor's: one group of targets, all linear maps but those it ignores."""
    groups = list((read.mapping("config_groups") or {}).values())
    if len(groups) != 1 or not isinstance(groups[0], Mapping):
        read.refuse("config_groups", f"has {len(groups)} groups: expected one")
    group = Fields(groups[0], f"{read.prefix}config_groups.")
    if group.words("targets") not in (["Linear"], None):
        group.refuse("targets", "name more than Linear: which modules they are is not known")
    form = compressed_format(read, group, usual)
    return Scheme(form.name, usual, form, every, patterns(read, "ignore"))


def compressed_format(read: Fields, group: Fields, usual: Plain) -> Format:
    """The layout of compressed-tensors for the weights that `group` describes."""
    weights, inputs = group.nested("weights"), group.nested("input_activations")
    bits, kind, strategy = weights.integer("num_bits"), weights.get("type"), weights.get("strategy") or "tensor"
    static = 1 if inputs.config and not inputs.flag("dynamic") and not isinstance(inputs.get("dynamic"), str) else 0
    packing = group.get("format") or read.get("format")
    if packing == "dense":
        read.refuse("format", "is dense: the checkpoint holds unquantised numbers under a quantisation's name")
    size = ITEM[usual.name]
    if kind == "float" and bits == 4:
        fp4: dict[Any, Format] = {16: Nvfp4(statics=1 + (1 if inputs.config else 0)), 32: Mxfp4()}
        group_size = weights.integer("group_size")
        if group_size not in fp4:
            weights.refuse("group_size", f"is {group_size}: expected 16 (NVFP4) or 32 (MXFP4)")
        return fp4[group_size]
    if kind == "int" and packing == "pack-quantized":
        zeros = not weights.flag("symmetric", True)
        return Packed(f"int{bits}", bits, group_of(weights, "group_size", default=0), zeros, size)
    if bits == 8 and kind in ("float", "int"):
        name = "fp8" if kind == "float" else "int8"
        if strategy == "block":
            block = weights.numbers("block_structure", 2, least=1)
            if block is None:
                weights.refuse("block_structure", "is missing, but the strategy is block")
            return Blocks(name, block[0], block[1], 4, static)
        if strategy in ("tensor", "channel", "group"):
            grouped = group_of(weights, "group_size") if strategy == "group" else 0
            return Scaled(name, strategy, 4, grouped, static)
    return weights.refuse("num_bits", f"is {bits}, {shown(kind)}, {shown(strategy)}: how that is stored is not known")


def group_of(read: Fields, *names: str, default: int | None = 128) -> int:
    """The numbers that share a scale; 0 where a whole row does, which files write as -1."""
    value = read.get(*names)
    if value is None:
        value = default
    return 0 if value in (-1, None) else read.whole(value, read.named(*names), least=0)


def _algorithm_of_groups(read: Fields) -> str | None:
    """What a ModelOpt file says by its groups alone."""
    groups = list((read.mapping("config_groups") or {}).values())
    weights = [group.get("weights") for group in groups if isinstance(group, Mapping)]
    kinds = {f"{w.get('num_bits')} {w.get('type')}" for w in weights if isinstance(w, Mapping)}
    return {"4 float": "NVFP4", "8 float": "FP8"}.get(kinds.pop()) if len(kinds) == 1 else None


def fbgemm(read: Fields, usual: Plain) -> Scheme:
    """Meta's FP8 of Llama 3.1 405B: a scale a row, in the modules that it does not list."""
    form = Scaled("fp8", "channel", 4)
    return Scheme("fbgemm_fp8", usual, form, all_but_head, hugging_face(read, "modules_to_not_convert"))


METHODS: Mapping[str, Callable[[Fields, Plain], Scheme]] = {
    "fp8": fp8,
    "compressed-tensors": compressed_tensors,
    "modelopt": modelopt,
    "awq": awq,
    "gptq": gptq,
    "bitsandbytes": bitsandbytes,
    "mxfp4": mxfp4,
    "fbgemm_fp8": fbgemm,
}
