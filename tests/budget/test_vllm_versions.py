"""Rules of vLLM that changed: each against what the version before and the version after printed."""

from dataclasses import replace
from fractions import Fraction

import pytest

from glasscli.budget.device_answer import at_device
from glasscli.budget.devices import device_named
from glasscli.budget.engines.vllm.batched import batched_tokens
from glasscli.budget.engines.vllm.versions import rules_of
from glasscli.budget.fit import Fit, fit
from glasscli.budget.plan import plan
from glasscli.budget.questions import Settings
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import from_name
from glasscli.errors import ConfigError, UsageError

GIB = 2**30


def asked(name: str, tokens: int, **options: object) -> Request:
    return Settings(tokens=(tokens,), engine="vllm", options=options).request(from_name(name, "vllm"))


def fitted(name: str, tokens: int, gib: int, **options: object) -> Fit:
    return fit(asked(name, tokens, **options), gib * GIB)


def test_windows_for_two_steps_as_printed_by_0_25_and_0_26() -> None:
    """vllm-project/vllm#49878: one command, Gemma-4-31B at 262,144 tokens with 49 GiB, under both versions."""
    before = fitted("gemma-4-31b", 262144, 49, max_num_batched_tokens=32768, version="0.25.1")
    after = fitted("gemma-4-31b", 262144, 49, max_num_batched_tokens=32768, version="0.26.0")
    assert (f"{before.bytes / GIB:.2f}", before.fits) == ("45.79", True)
    assert (f"{after.bytes / GIB:.2f}", after.fits, after.max_tokens) == ("70.79", False, 58_368)


@pytest.mark.parametrize(
    ("step", "tokens", "gib"),
    [
        (2048, 262144, "23.92"),
        (2048, 32768, "6.42"),
        (8192, 262144, "33.29"),
        (8192, 32768, "15.79"),
        (16384, 262144, "45.79"),
        (16384, 32768, "27.51"),
    ],
)
def test_gemma_4_under_0_29(step: int, tokens: int, gib: str) -> None:
    """A public trace of 0.29's source, for the step that it takes on small, large and very large GPUs."""
    needed = plan(asked("gemma-4-31b", tokens, max_num_batched_tokens=step, version="0.29.0")).bytes_total
    assert f"{needed / GIB:.2f}" == gib


def test_steps_that_are_not_scheduled_ahead_count_once() -> None:
    ahead, plain, old = (
        plan(asked("gemma-3-27b", 131072, **options)).bytes_total
        for options in ({}, {"async_scheduling": False}, {"version": "0.25"})
    )
    assert ahead > plain == old


def test_groups_that_are_not_full_decide_whether_it_fits() -> None:
    """Gemma 3 27B: six groups of 10 for 52 sliding layers; vLLM asks for 14.23 GiB and does not start with 14."""
    tight = fitted("gemma-3-27b", 131072, 14, version="0.25")
    assert (f"{tight.bytes / GIB:.2f}", tight.fits) == ("14.23", False)
    assert plan(asked("gemma-3-27b", 131072, version="0.25")).bytes_total < 14 * GIB
    assert fitted("gemma-3-27b", 131072, 15, version="0.25").fits


def test_the_block_that_stays_empty_is_missing_since_0_26() -> None:
    """vllm-project/vllm#47272: a pool of exactly as many blocks as a request takes is too small by one."""
    block = 16 * 32 * 8 * (128 + 128) * 2
    for version, empty in (("0.25", 0), ("0.29", 1)):
        request = asked("llama-3.1-8b", 16 * 100, version=version)
        assert Sizer(request).kept_empty == empty * block
        assert fit(request, 100 * block).fits is (not empty)
        assert fit(request, 101 * block).fits
        assert fit(request, 100 * block).max_tokens == (100 - empty) * 16


@pytest.mark.parametrize("version", ["new", "0", "", "1.x", "0.25 "])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match="version"):
        rules_of(version)


def test_the_share_of_a_device_since_graphs_are_counted() -> None:
    assert (rules_of("0.20").share, rules_of("0.21.0").share) == (Fraction(9, 10), Fraction(92, 100))


def test_a_sequence_is_shared_by_ranks_that_hold_the_same_heads() -> None:
    """Eight ranks and four key/value heads: each head is on two, so two can share a sequence, and four can't."""
    both = Settings(tokens=(262144,), engine="vllm", tp=8, dcp=2)
    alone = Settings(tokens=(262144,), engine="vllm", tp=8)
    model = from_name("qwen3-235b-a22b", "vllm")
    assert 2 * both.budget(model).bytes_total == alone.budget(model).bytes_total
    with pytest.raises(ConfigError, match="2 ranks of 8") as refusal:
        replace(both, dcp=4).budget(model)
    assert refusal.value.field == "dcp"


def test_ranks_that_share_a_sequence_are_not_said_to_hold_all_of_it() -> None:
    (said,) = Settings(engine="vllm", tp=8, dcp=8).budget(from_name("kimi-k2.5", "vllm")).warnings
    assert said.endswith("; dcp 8: but of one in 8 tokens only")


@pytest.mark.parametrize("name", ["gemma-3-27b", "qwen3.6-27b", "glm-5"])
def test_windows_states_and_indexes_are_not_shared_by_ranks(name: str) -> None:
    with pytest.raises(ConfigError, match="share a sequence") as refusal:
        Settings(engine="vllm", tp=8, dcp=2).budget(from_name(name, "vllm"))
    assert refusal.value.field == "engine"


def test_only_an_engine_that_can_splits_a_sequence() -> None:
    with pytest.raises(UsageError, match="vllm does"):
        Settings(engine="llama.cpp", tp=2, dcp=2).budget(from_name("llama-3.1-8b", "llama.cpp"))
    with pytest.raises(UsageError, match="does not divide"):
        Settings(engine="vllm", tp=4, dcp=3).budget(from_name("llama-3.1-8b", "vllm"))


class TestRanksThatShareAPrompt:
    """Prefill context parallel since 0.26: more devices, each with all of the cache (vLLM's RFC #46358)."""

    def test_each_keeps_all_of_the_cache(self) -> None:
        model = from_name("deepseek-v3", "vllm")
        alone, shared = (Settings(tokens=(8192,), engine="vllm", tp=4, pcp=pcp).budget(model) for pcp in (1, 2))
        assert shared.per_rank.bytes == alone.per_rank.bytes == 8192 * 70272
        assert shared.bytes_total == 2 * alone.bytes_total
        assert any("dcp would divide it" in warning for warning in shared.warnings)

    def test_they_are_devices(self) -> None:
        assert Settings(tp=4, pcp=2, engine="vllm").n_ranks == 8

    @pytest.mark.parametrize(
        ("more", "kind", "says"),
        [
            ({"options": {"version": "0.25"}}, ConfigError, "before 0.26"),
            ({"ep": True}, ConfigError, "experts"),
            ({"tp": 8, "dcp": 2}, UsageError, "both pcp and dcp"),
            ({"engine": "sglang"}, UsageError, "vllm does"),
        ],
    )
    def test_what_is_not_known_is_refused(self, more: dict[str, object], kind: type[Exception], says: str) -> None:
        asked = {"tokens": (8192,), "engine": "vllm", "pcp": 2} | more
        with pytest.raises(kind, match=says):
            Settings(**asked).budget(from_name("deepseek-v3", "vllm"))  # type: ignore[arg-type]


SEES = {"model_type": "gemma4", "vision_config": {}, "text_config": {"use_bidirectional_attention": "vision"}}
READS = {"model_type": "gemma4", "vision_config": {}, "text_config": {"use_bidirectional_attention": None}}


@pytest.mark.parametrize(
    ("device", "config", "tokens"),
    [
        ("h100", {}, 8192),  # as vLLM's own test of the defaults: 70 GiB or more, and no A100
        ("mi300x", {}, 8192),
        ("a800", {}, 8192),
        ("a100", {}, 2048),
        ("a100-pcie", {}, 2048),
        ("l40s", {}, 2048),
        ("24GiB", {}, 2048),
        ("80GiB", {}, 8192),
        ("l40s", SEES, 2496),  # vllm-project/vllm#42687: a video of Gemma 4 is taken whole
        ("h100", SEES, 8192),
        ("l40s", READS, 2048),
        ("l40s", SEES["text_config"], 2048),
    ],
)
def test_tokens_of_a_step_where_nobody_says(device: str, config: dict[str, object], tokens: int) -> None:
    there = device_named(device)
    assert batched_tokens(there.total, there.name, config) == tokens


def test_a_device_decides_what_windows_are_held_with_unless_someone_says() -> None:
    """Gemma-3-12B's windows: 1,024 − 1 tokens and those of two steps, and a page more."""
    subject = from_name("gemma-3-12b", "vllm")
    plain, said = Settings((32768,), engine="vllm"), Settings(engine="vllm", options={"max_num_batched_tokens": 512})
    on = {name: at_device(plain, device_named(name), subject) for name in ("l40s", "h200")}
    row = 8 * 256 * 2 * 2
    for settings, step in ((on["l40s"], 2048), (on["h200"], 8192), (plain, 8192)):
        rows = (-(-(1023 + 2 * step) // 16) + 1) * 16
        assert settings.budget(subject).bytes_total == row * (40 * rows + 8 * 32768)
    asked_for = at_device(said, device_named("l40s"), subject).request(subject)
    assert asked_for.option("max_num_batched_tokens") == 512
