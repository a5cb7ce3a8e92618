"""The mathematics as an engine: every row that is needed, nothing padded unless a page is asked for."""

from collections.abc import Mapping
from typing import ClassVar

from glasscli.budget.engines.engine import STATE_ROLES, Dtypes, Engine, Held, choose_dtypes, up
from glasscli.budget.engines.option import BLOCK_SAYS, DRAFT, Option
from glasscli.specs.cache_spec import CacheSpec


class Logical(Engine):
    """What the layers need. It has no rules of its own: every spec says what it keeps."""

    name: ClassVar[str] = "logical"
    title: ClassVar[str] = "the mathematics"
    options: ClassVar[Mapping[str, Option]] = {"block_size": Option(int, 1, BLOCK_SAYS), "draft_layers": DRAFT}
    other_dtypes = ("f32", "f16", "fp8", "q8_0", "q4_0")

    def choose_dtypes(self) -> Dtypes:
        return choose_dtypes(self.request)

    @property
    def span(self) -> int:
        return int(self.request.option("block_size"))

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        held: Held = {}
        page = self.span
        prefix = min(self.request.prefix_shared, tokens) // page * page
        for position, tensor in enumerate(part.tensors(tokens, self.request.encoder)):
            rows = tensor.rows
            if tensor.role in STATE_ROLES:
                rows *= sequences
            else:
                rows = up(rows, page)
                shared = part.shared_rows(position, rows, up(tokens, page), prefix)
                rows = shared + sequences * (rows - shared)
            held[tensor.role] = held.get(tensor.role, 0) + rows * self.dtypes.row(tensor)
        return held

    def notes(self) -> tuple[str, ...]:
        return (f"lengths are rounded up to pages of {self.span} tokens",) if self.span > 1 else ()
