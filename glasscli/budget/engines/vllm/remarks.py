"""What is said below the numbers of vLLM: its pages, what a window is charged for, who keeps what."""

from collections import Counter
from typing import TYPE_CHECKING

from glasscli.budget.engines.words import state_dtypes

if TYPE_CHECKING:
    from glasscli.budget.engines.vllm import Vllm


def notes(vllm: "Vllm") -> tuple[str, ...]:
    """Each a sentence, in the order in which they matter."""
    said = []
    blocks = sorted(set(vllm.pages.tokens.values()))
    if vllm.compressed:
        counts = Counter(part for part in vllm.request.layout.layers if part in vllm.parts)
        pool = vllm.pool(counts)
        of_one = pool.blocks(vllm.request.tokens, vllm.step)
        said.append(
            f"vLLM {vllm.edition} keeps all kinds of rows in blocks of {pool.block_bytes:,} B: a request takes "
            f"{of_one:,} of them"
        )
    elif blocks:
        sizes = " and ".join(f"{size:,}" for size in blocks)
        said.append(f"vLLM pages of {sizes} tokens, by the rules of version {vllm.edition}")
    if vllm.pages.state_bytes is not None:
        said.append(f"each recurrent state takes a whole page of {vllm.pages.state_bytes:,} B")
    if any(part.window is not None for part in vllm.parts):
        if vllm.hybrid:
            steps = vllm.steps_under_way
            adds = "a step may add" if steps == 1 else f"the {steps} steps under way at once may add"
            said.append(f"windows are held with the {vllm.step:,} tokens that {adds}")
        else:
            said.append("without the hybrid cache manager every layer holds all tokens")
    if vllm.dtypes.k == "fp8_ds_mla":
        said.append("fp8 latents with a sparse index are stored as fp8_ds_mla, 656 B each")
    if vllm.request.dcp > 1:
        said.append(f"{vllm.request.dcp} ranks share the tokens of each sequence: a rank keeps its part of them")
    if vllm.states:
        said.append(state_dtypes(vllm.states, lambda part, tensor: vllm.dtypes_of(part).of(tensor)))
    if vllm.request.prefix_shared:
        said.append("a shared prefix is kept once in whole pages; windows and states are each sequence's own")
    return tuple(said)
