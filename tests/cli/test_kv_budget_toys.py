"""A kind of attention and an engine that glass has never heard of, made here alone: nothing else has to know them."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import pytest
from helpers.in_process import LLAMA, budget, glass

from glasscli import cache_size
from glasscli.budget.describe import sharing
from glasscli.budget.engines import ENGINES, engine_named, register, servers
from glasscli.budget.engines.engine import Dtypes, Engine, Held, Option, Served, Server, choose_dtypes, rule_for
from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.config.families import Layout
from glasscli.config.families.family import Family
from glasscli.config.families.fields import Fields
from glasscli.config.families.patterns import every
from glasscli.config.families.table import FAMILIES
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.cache_spec import CacheSpec, FullAttention, Tensor
from glasscli.specs.sharding import divide


@dataclass(frozen=True)
class StarAttention(CacheSpec):
    """The first `sinks` tokens and the last `size`, each one vector of `width`."""

    name: ClassVar[str] = "star"
    is_full: ClassVar[bool] = False
    width: int
    size: int
    sinks: int

    @property
    def window(self) -> int:
        return self.sinks + self.size

    @property
    def shape(self) -> str:
        return f"{self.sinks} sinks, vectors of {self.width}"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (Tensor("k", min(tokens, self.window), self.width),)

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return ("stars",)

    def shard(self, tp: int) -> Self:
        return replace(self, width=divide(self.width, tp, "star channels"))

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int:
        return 4 * n_heads * min(tokens, self.window) * self.width

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        return min(rows, self.sinks, prefix)


class Toy(Server):
    """Everything in f16, with a slack of tokens for each sequence."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "ToyServe"
    options: ClassVar[Mapping[str, Option]] = {
        "slack": Option(int, 0, "tokens more", least=0, flag=lambda value: ["--slack", f"{value}"]),
        "mood": Option(str, "calm", "how it feels", choices=("calm", "wild")),
    }
    other_dtypes = ("f32",)
    loads = "TOY"
    loads_folders = False
    span = 1

    def __init__(self, request: Request, parts: tuple[CacheSpec, ...]) -> None:
        super().__init__(request, parts)
        for part in parts:
            rule_for({FullAttention: 1, StarAttention: 1}, part, self.title, request)

    def choose_dtypes(self) -> Dtypes:
        return replace(choose_dtypes(self.request), k="f16", v="f16")

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        tensors = part.tensors(tokens + self.request.option("slack"))
        return {tensor.role: sequences * tensor.rows * self.dtypes.row(tensor) for tensor in tensors}

    def notes(self) -> tuple[str, ...]:
        return (f"ToyServe is {self.request.option('mood')}",)

    @classmethod
    def command_line(cls, served: Served) -> list[str]:
        return ["toy", served.model, f"{served.settings.main}", *cls.flags(served.settings.options)]


def star(read: Fields, layer: int) -> CacheSpec:
    return StarAttention(read.integer("star_width"), read.integer("star_size"), read.integer("star_sinks"))


CONFIG = LLAMA | {
    "model_type": "toy_stars",
    "num_hidden_layers": 4,
    "star_width": 64,
    "star_size": 100,
    "star_sinks": 4,
}
STAR, FULL = StarAttention(64, 100, 4), FullAttention(8, 128, 128)
FULL_TOKEN, STAR_TOKEN = 2 * 8 * 128 * 2, 64 * 2  # bytes of a token in a layer, two bytes a number


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine and a model type of three star layers and a full one, for one test."""
    monkeypatch.setitem(FAMILIES, "toy_stars", Family(every(4, rest="star_attention"), {"star_attention": star}))
    register(Toy)
    yield
    del ENGINES["toy"]


def size(tokens: int, slack: int = 0) -> int:
    held = tokens + slack
    return held * FULL_TOKEN + 3 * min(held, 104) * STAR_TOKEN


def ran(*args: str, code: int = 0, config: Mapping[str, Any] = CONFIG) -> str:
    found = glass("kv-budget", "--config", "-", *args, stdin=json.dumps(config).encode())
    assert found.code == code, found.err
    return found.err if code else found.out


def test_in_a_plan_and_in_one_call() -> None:
    assert cache_size(CONFIG, 1000).bytes_total == size(1000)
    found = cache_size(CONFIG, 1000, engine="toy", slack=24, batch=3)
    assert found.bytes_total == 3 * size(1000, 24)
    assert [(line.kind, line.count, line.window) for line in found.lines] == [("star", 3, 104), ("full", 1, None)]
    assert found.notes[0] == "ToyServe is calm"
    assert "ToyServe takes" in found.notes[1]
    layout = Layout("x", (STAR, STAR, STAR, FULL), n_heads=32)
    assert plan(Request(layout, 9, tp=4)).per_rank.bytes == size(9) // 4
    with pytest.raises(ConfigError, match="64 star channels evenly; 1, 2, 4, 8, 16, 32, 64 would do"):
        plan(Request(Layout("x", (STAR,)), 9, tp=3))
    assert plan(Request(layout, 200, 2, prefix_shared=50)).bytes_total == (
        (50 + 2 * 150) * FULL_TOKEN + 3 * (4 + 2 * 100) * STAR_TOKEN
    )


def test_in_words() -> None:
    assert sharing(Layout("x", (STAR, FULL), n_heads=32)) == "GQA + stars"
    assert sharing(Layout("x", (STAR,))) == "stars"


@pytest.mark.parametrize("columns", ["40", "80", "100"])
def test_on_the_screen(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = ran("--ctx", "1k", "--engine", "toy", "-s", "mood=wild", "-v")
    for text in ("GQA + stars", "star 104", "4 sinks, vectors of 64", "ToyServe is wild", "f32"):
        assert text in out.replace("\n", " ")
    assert "flop per byte" in ran("--ctx", "1k", "--bandwidth", "1TB/s")


def test_as_data() -> None:
    args = ("--config", "-", "--ctx", "1000", "--engine", "toy", "-s", "slack=24", "--budget", f"{size(1000, 24)}")
    found = budget(*args, stdin=json.dumps(CONFIG).encode())
    assert found["bytes_total"] == size(1000, 24)
    assert (found["fits"], found["max_tokens"], found["engine"]) == (True, 1000, "toy")
    assert [layer["kind"] for layer in found["layers"]] == ["star", "full"]
    flops = 4 * 32 * (3 * 104 * 64 + 1000 * 128)
    assert found["decode"]["flops"] == flops
    rows = list(csv.DictReader(io.StringIO(ran("--ctx", "1000", "--csv", "-v"))))
    assert [rows[0][name] for name in ("part", "window", "bytes")] == ["star", "104", f"{3 * 104 * 128}"]
    sweep = json.loads(ran("--sweep", "--json", "--engine", "toy", "--ctx", "16,1k"))["sweep"][0]
    assert (sweep["windows"], sweep["bytes"][-1]) == ([104], size(sweep["tokens"][-1]))


def test_as_a_command_line() -> None:
    assert ran("--ctx", "1000", "--emit", "toy", "-s", "slack=24", "-q") == "toy TOY 1000 --slack 24\n"
    assert "ToyServe's command line has no flag for mood" in ran("--emit", "toy", "-s", "mood=wild", code=1)
    assert {"vllm", "llama.cpp", "toy"} <= set(servers())
    assert not {"logical", "transformers"} & set(servers())


def test_what_the_engine_does_not_offer_is_refused_with_what_it_does() -> None:
    assert "toy has no such setting. Did you mean mood?" in ran("--engine", "toy", "-s", "moody=1", code=2)
    assert "mood is 'sad'; known are calm and wild" in ran("--engine", "toy", "-s", "mood=sad", code=2)
    with pytest.raises(UsageError, match="slack is a setting of toy, not of vllm"):
        cache_size(CONFIG, 10, engine="vllm", slack=1)
    with pytest.raises(UsageError, match=r"n_ubatch is a setting of llama\.cpp, not of toy"):
        cache_size(CONFIG, 10, engine="toy", n_ubatch=1)
    with pytest.raises(UsageError, match="slack is -1; it is at least 0"):
        cache_size(CONFIG, 10, engine="toy", slack=-1)
    with pytest.raises(UsageError, match="slack is True; it is a whole number"):
        cache_size(CONFIG, 10, engine="toy", slack=True)
    with pytest.raises(TypeError, match="slak"):
        cache_size(CONFIG, 10, engine="toy", slak=1)


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_an_engine_without_a_rule_refuses_the_kind_by_name(engine: str) -> None:
    assert "toy_stars has star layers" in ran("--engine", engine, code=1)


def test_a_rule_is_not_inherited() -> None:
    """What a subclass keeps is not guessed from what its base would."""

    @dataclass(frozen=True)
    class Wider(FullAttention):
        name: ClassVar[str] = "wider"

    for engine in ("transformers", "vllm", "llama.cpp", "toy"):
        with pytest.raises(ConfigError, match="has wider layers"):
            plan(Request(Layout("x", (Wider(8, 64, 64),)), 9, engine=engine))


def test_an_engine_is_taken_whole_or_not_at_all() -> None:
    with pytest.raises(TypeError, match="called toy already"):
        register(Toy)
    own = {name: value for name, value in vars(Toy).items() if name not in ("__dict__", "__weakref__", "__doc__")}
    for part in ("name", "title", "options", "other_dtypes", "loads", "loads_folders"):
        some = {key: value for key, value in own.items() if key not in (part, "__abstractmethods__")}
        with pytest.raises(TypeError, match=f"does not say its {part}"):
            register(type("Half", (Server,), some))
    for part in ("hold", "notes", "command_line", "choose_dtypes", "span"):
        some = {key: value for key, value in own.items() if key not in (part, "__abstractmethods__")}
        with pytest.raises(TypeError, match=f"does not say its {part}"):
            register(type("Half", (Server,), some))
    assert "Half" not in {engine.__name__ for engine in ENGINES.values()}
    assert engine_named("toy") is Toy
    assert issubclass(Toy, Engine)
