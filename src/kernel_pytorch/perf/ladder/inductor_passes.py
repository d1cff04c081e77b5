"""The passes that rungs put into Inductor's graph, by the names that recipes have for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernel_pytorch.perf.aiter.attention_pass import NAME as AITER_ATTENTION
from kernel_pytorch.perf.aiter.attention_pass import aiter_attention
from kernel_pytorch.perf.decode.decoder_pass import ONE_KERNEL, one_kernel
from kernel_pytorch.perf.decode.ops import register
from kernel_pytorch.perf.decode.passes import ONE_ROW, VERSION, one_row
from kernel_pytorch.perf.narrow.few_rows_pass import FEW_ROWS, few_rows
from kernel_pytorch.perf.narrow.launch import register as register_narrow

if TYPE_CHECKING:
    from torch import fx

KNOWN: dict[str, Callable[[Any], int]] = {
    ONE_ROW: one_row,
    ONE_KERNEL: one_kernel,
    FEW_ROWS: few_rows,
    AITER_ATTENTION: aiter_attention,
}


@lru_cache(maxsize=8)
def pass_named(names: tuple[str, ...]) -> Any:
    """The pass object that Inductor is given, which runs these in turn. Raises ValueError for an unknown name."""
    from torch._inductor.custom_graph_pass import CustomGraphPass

    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        raise ValueError(f"no pass {unknown[0]!r}; there are {', '.join(KNOWN)}")
    register()  # a graph from Inductor's cache calls the operators without the pass having run
    register_narrow()

    class Ours(CustomGraphPass):  # type: ignore[misc]
        def __call__(self, graph: fx.Graph) -> None:
            for name in names:
                KNOWN[name](graph)
                graph.eliminate_dead_code()

        def uuid(self) -> Any:
            return f"kernel_pytorch.perf.decode {VERSION} {names}"

    return Ours()
