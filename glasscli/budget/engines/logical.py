"""The mathematics as an engine: every row that is needed, nothing padded unless a page is asked for."""

from collections.abc import Mapping
from math import lcm
from typing import ClassVar

from glasscli.budget.engines.engine import STATE_ROLES, Dtypes, Engine, Held, choose_dtypes, up
from glasscli.budget.engines.option import BLOCK_SAYS, DRAFT, Option
from glasscli.budget.token_groups import EXACT, KIVI, RESIDUAL, kivi_bytes, most_exact
from glasscli.dtypes import DTYPES, Dtype
from glasscli.errors import ConfigError
from glasscli.specs.cache_spec import CacheSpec, FullAttention, Tensor

RESIDUAL_SAYS = "newest tokens that kivi4 and kivi2 leave exact, a multiple of 32; up to 31 more wait to be packed"


class Logical(Engine):
    """What the layers need. It has no rules of its own: every spec says what it keeps, every dtype how."""

    name: ClassVar[str] = "logical"
    title: ClassVar[str] = "the mathematics"
    options: ClassVar[Mapping[str, Option]] = {
        "block_size": Option(int, 1, BLOCK_SAYS),
        "draft_layers": DRAFT,
        "residual": Option(int, RESIDUAL, RESIDUAL_SAYS, least=RESIDUAL, step=RESIDUAL),
    }
    other_dtypes = ("f32", "f16", "fp8", "q8_0", "q4_0")
    keeps_room: ClassVar[bool] = True

    def choose_dtypes(self) -> Dtypes:
        return choose_dtypes(self.request)

    @property
    def page(self) -> int:
        """Tokens of a page."""
        return int(self.request.option("block_size"))

    @property
    def residual(self) -> int:
        """The newest tokens that are left exact where groups of them are packed."""
        return int(self.request.option("residual"))

    @property
    def grouped(self) -> tuple[Dtype, ...]:
        """The dtypes of keys and values that pack tokens together."""
        names = dict.fromkeys((self.dtypes.k, self.dtypes.v))
        return tuple(DTYPES[name] for name in names if name in KIVI)

    @property
    def span(self) -> int:
        """A page; once the exact tokens are as many as there ever are, whole groups, too."""
        grown = [dtype.group for dtype in self.grouped if self.request.tokens >= most_exact(dtype, self.residual)]
        return lcm(self.page, *grown)

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        held: Held = {}
        page = self.page
        prefix = min(self.request.prefix_shared, tokens) // page * page
        for position, tensor in enumerate(part.tensors(tokens, self.request.encoder)):
            rows = tensor.rows
            if (name := self.dtypes.of(tensor)) in KIVI:
                size = self._grouped(part, tensor._replace(rows=up(rows, page)), DTYPES[name], sequences, prefix)
                held[tensor.role] = held.get(tensor.role, 0) + size
                continue
            if tensor.role in STATE_ROLES:
                rows *= sequences
            else:
                rows = up(rows, page)
                shared = part.shared_rows(position, rows, up(tokens, page), prefix)
                rows = shared + sequences * (rows - shared)
            held[tensor.role] = held.get(tensor.role, 0) + rows * self.dtypes.row(tensor)
        return held

    def _grouped(self, part: CacheSpec, tensor: Tensor, dtype: Dtype, sequences: int, prefix: int) -> int:
        """Bytes of a tensor whose tokens are packed together.

        Raises ConfigError for what KIVI is not defined for: rows that go, and rows that are not one token's.
        """
        if type(part) is not FullAttention or tensor.role not in ("k", "v"):
            model = self.request.layout.model_type or "this model"
            raise ConfigError(
                f"{dtype.name} packs keys and values of {dtype.group} tokens together, and what it would hold of "
                f"anything else is not known: {model} has {part.name} layers",
                "state_dtype" if tensor.role in STATE_ROLES else "k_dtype",
            )
        return kivi_bytes(dtype, tensor, self.residual, sequences, prefix, self.keeps_room)

    def constant_says(self) -> str:
        if not self.grouped:
            return ""
        residual, group = self.residual, self.grouped[0].group
        names, most = " and ".join(dtype.name for dtype in self.grouped), most_exact(self.grouped[0], residual)
        packs = "packs" if len(self.grouped) == 1 else "pack"
        return (
            f"{names} {packs} {group} tokens together, all but the newest {residual} to {most} of a sequence: those "
            f"stay in {EXACT}, and "
            + (f"the room for {most} is constant" if self.request.tokens >= most else "none is packed before")
        )

    def warnings(self) -> tuple[str, ...]:
        if says := self.constant_says():
            return (says,)
        unused = self.request.options.get("residual") is not None
        return (f"nothing is packed as KIVI does: a residual of {self.residual} plays no part",) if unused else ()

    def notes(self) -> tuple[str, ...]:
        return (f"lengths are rounded up to pages of {self.page} tokens",) if self.page > 1 else ()


class InUse(Logical):
    """The same without room for what is not there: what a step of decoding reads."""

    keeps_room: ClassVar[bool] = False
