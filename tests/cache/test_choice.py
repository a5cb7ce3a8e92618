"""A choice of cache: read from text, written back, said in words, told to other engines, refused by name."""

import subprocess
import sys

import pytest

from glasscli import ConfigError, UsageError
from glasscli.cache.choice import FULL, CacheChoice
from glasscli.cache.choice_text import EXAMPLES, parse_choice
from glasscli.cache.formats.names import ALIASES, BLOCKED, NAMES, ROTATED
from glasscli.cache.formats.registry import FORMATS
from glasscli.cache.formats.rotation import rotation_size
from glasscli.dtypes import dtype_named
from glasscli.quality.flags import llama_cpp_flags, vllm_flags

SPECS = {
    "f32": FULL,
    "q8_0": CacheChoice("q8_0", "q8_0"),
    "k=q8_0,v=q4_0": CacheChoice("q8_0", "q4_0"),
    "k=q4_0": CacheChoice("q4_0", "f32"),
    "v=fp8_e5m2": CacheChoice("f32", "fp8_e5m2"),
    "q4_0,norot": CacheChoice("q4_0", "q4_0", rotated=False),
    "kivi2": CacheChoice("kivi2", "kivi2"),
    "kivi4,residual=128": CacheChoice("kivi4", "kivi4", residual=128),
    "window=128": CacheChoice(keeps="window", tokens=128),
    "sinks=4+window=252": CacheChoice(keeps="window", tokens=252, sinks=4),
    "sinks=4+window=252,renumber": CacheChoice(keeps="window", tokens=252, sinks=4, renumbered=True),
    "h2o=256": CacheChoice(keeps="h2o", tokens=256),
    "tova=256": CacheChoice(keeps="tova", tokens=256),
    "kv-heads=1": CacheChoice(kv_heads=1),
    "q8_0,sinks=4+window=252": CacheChoice("q8_0", "q8_0", keeps="window", tokens=252, sinks=4),
    "k=q5_1,norot,tova=64,kv-heads=2": CacheChoice("q5_1", "f32", False, keeps="tova", tokens=64, kv_heads=2),
}


@pytest.mark.parametrize("text", SPECS)
def test_text_and_choice_are_one_to_one(text: str) -> None:
    assert parse_choice(text) == SPECS[text]
    assert SPECS[text].text == text
    assert SPECS[text].is_full == (text == "f32")


@pytest.mark.parametrize(
    ("text", "f16"),
    [
        ("window=8", "f16,window=8"),
        ("kv-heads=1", "f16,kv-heads=1"),
        ("k=q8_0", "k=q8_0,v=f16"),
        ("v=f16,norot,k=q4_0", "k=q4_0,v=f16,norot"),
        ("f32", "f32"),
        ("f32,window=8", "f32,window=8"),
        ("v=kivi2,residual=64,kv-heads=2", "k=f16,v=kivi2,residual=64,kv-heads=2"),
    ],
)
def test_another_format_may_stand_for_what_names_none(text: str, f16: str) -> None:
    choice = parse_choice(text, "f16")
    assert choice.explicit_text == f16
    for unnamed in ("f32", "f16", "q8_0"):
        assert parse_choice(choice.explicit_text, unnamed) == choice
    assert parse_choice(choice.text) == choice


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("q8_0,sinks=4,window=252", "q8_0,sinks=4+window=252"),
        ("window=252+sinks=4+q8_0", "q8_0,sinks=4+window=252"),
        (" Q8_0 , WINDOW = 1k ", "q8_0,window=1024"),
        ("k=q8_0,v=q8_0", "q8_0"),
        ("k=f32,v=f32", "f32"),
        ("kivi2,residual=32", "kivi2"),
        ("KV_Heads=2", "kv-heads=2"),
        ("half", "f16"),
        ("torch.bfloat16", "bf16"),
        ("fp8", "fp8_e4m3"),
        ("v=e5m2", "v=fp8_e5m2"),
        ("f32,window=8", "window=8"),
    ],
)
def test_other_ways_to_write_it(text: str, same: str) -> None:
    assert parse_choice(text).text == same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a part is empty; write formats and rules between commas, like q8_0"),
        ("q8_0,,window=4", "a part is empty"),
        ("q4", r"'q4' is not known\. Did you mean q4_0 or q4_1\? Formats are f32, .*; rules are k=FORMAT, .*, h2o=N"),
        ("windw=4", r"'windw=4' is not known\. Did you mean window\? "),
        ("slide", "'slide' is not known. Formats are"),
        ("k=q8", r"'k=q8' names no format\. Did you mean q8_0\? Formats are f32, [^;]*\.$"),
        ("k=window", r"'k=window' names no format\."),
        ("window", "window needs a value: window=N"),
        ("k=", "k needs a value: k=FORMAT"),
        ("window=0", "'0' is not a number of tokens for window"),
        ("tova=many", "'many' is not a number of tokens for tova. Write it like"),
        ("kv-heads=1.5", "'1.5' is not a number of heads for kv-heads"),
        ("q4_0,norot=yes", "norot takes no value; 'yes' was found"),
        ("k=q8_0,q4_0", "k=q8_0 and q4_0 both say how keys are packed; keep one"),
        ("q8_0,q4_0", "q8_0 and q4_0 both say how keys are packed"),
        ("window=4,h2o=8", "window=4 and h2o=8 both say which tokens are kept"),
        ("sinks=4", r"sinks stand before a window: add window=N"),
        ("sinks=4,h2o=8", r"add window=N"),
        ("renumber", r"renumber counts positions in a window: add window=N"),
        ("fp8,norot", "norot leaves out a rotation that only q4_0, q4_1, q5_0, q5_1, q8_0 have"),
        ("q8_0,residual=64", "residual counts the exact tokens of kivi2 and kivi4"),
        ("q8_0,residual=32", "residual counts the exact tokens of kivi2 and kivi4"),
        ("kivi2,residual=40", "residual is 40; KIVI packs 32 tokens at a time"),
        ("kivi2,window=64", "KIVI packs 32 tokens of a key together, so that window can't drop single ones"),
        ("v=kivi4,tova=64", "so that tova can't drop"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_text_and_the_part(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        parse_choice(text)
    assert str(error.value).startswith(f"cache {text!r}: ")


@pytest.mark.parametrize("fields", [{"k": "q9"}, {"keeps": "window"}, {"tokens": 5}, {"kv_heads": 0}, {"residual": 0}])
def test_a_choice_made_by_hand_is_checked_too(fields: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        CacheChoice(**fields)  # type: ignore[arg-type]


def test_in_words() -> None:
    says = {text: parse_choice(text).says for text in (*EXAMPLES, "q4_0,norot", "kivi2", "tova=64,kv-heads=1")}
    assert says == {
        "q8_0": "keys and values in 8 bits in blocks of 32",
        "k=q8_0,v=q4_0": "keys in 8 bits in blocks of 32, values in 4 bits in blocks of 32",
        "sinks=4+window=252": "keys and values in 32-bit floats; the first 4 tokens and the last 252 tokens, "
        "positions kept",
        "q4_0,norot": "keys and values in 4 bits in blocks of 32, not rotated",
        "kivi2": "keys and values in 2 bits as KIVI groups them, the last 32 tokens exact",
        "tova=64,kv-heads=1": "keys and values in 32-bit floats; 64 tokens, the least attended dropped at each step "
        "(TOVA); merged into 1 key/value head, not retrained",
    }
    assert "positions counted anew" in parse_choice("window=1,renumber").says


@pytest.mark.parametrize(
    ("text", "llama", "vllm"),
    [
        ("f16", "-ctk f16 -ctv f16", "--kv-cache-dtype float16"),
        ("q8_0", "-ctk q8_0 -ctv q8_0 -fa on", None),
        ("k=q8_0,v=q4_0", "-ctk q8_0 -ctv q4_0 -fa on", None),
        ("k=q8_0", "-ctk q8_0 -ctv f32", None),
        ("q4_0,norot", "LLAMA_ATTN_ROT_DISABLE=1 -ctk q4_0 -ctv q4_0 -fa on", None),
        ("fp8", None, "--kv-cache-dtype fp8_e4m3"),
        ("fp8_e5m2", None, "--kv-cache-dtype fp8_e5m2"),
        ("kivi2", None, None),
        ("q8_0,window=64", None, None),
        ("fp8,h2o=64", None, None),
        ("f16,kv-heads=1", None, None),
    ],
)
def test_flags_of_other_engines(text: str, llama: str | None, vllm: str | None) -> None:
    choice = parse_choice(text)
    for found, expected in ((llama_cpp_flags(choice), llama), (vllm_flags(choice), vllm)):
        assert (" ".join(found) if found is not None else None) == expected


def test_a_model_that_it_cannot_be_for_is_refused() -> None:
    parse_choice("k=q4_0,kv-heads=2").check(n_kv_heads=8, head_dim=64)
    parse_choice("fp8").check(n_kv_heads=3, head_dim=80)
    with pytest.raises(ConfigError, match=r"q4_0 packs blocks of 32 elements, .* head width of 80") as width:
        parse_choice("v=q4_0").check(n_kv_heads=8, head_dim=80)
    with pytest.raises(
        ConfigError, match="3 key/value heads can't be merged into 2 groups of the same size; 1 would"
    ) as heads:
        parse_choice("kv-heads=2").check(n_kv_heads=3, head_dim=64)
    with pytest.raises(ConfigError, match="merged into 5 groups of the same size; 1, 2, 4 or 8 would do"):
        parse_choice("kv-heads=5").check(n_kv_heads=16, head_dim=64)
    with pytest.raises(
        ConfigError, match="1 key/value heads can't be merged into 2 groups of the same size; 1 would do"
    ):
        parse_choice("kv-heads=2").check(n_kv_heads=1, head_dim=64)
    assert (width.value.field, heads.value.field) == ("head_dim", "num_key_value_heads")


def test_the_names_are_those_of_the_formats() -> None:
    assert tuple(FORMATS) == NAMES
    assert {name for name, fmt in FORMATS.items() if fmt.block > 1} == BLOCKED
    assert all(parse_choice(name).k == name for name in NAMES)
    assert all(dtype_named(alias) == dtype_named(name) for alias, name in ALIASES.items())
    assert ROTATED < BLOCKED
    assert rotation_size("k", 64) == 64


def test_reading_a_choice_imports_no_numpy() -> None:
    code = "import sys; from glasscli.cache.choice_text import parse_choice; parse_choice('q8_0,window=4').says; "
    code += "import glasscli.quality.flags; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
