"""Mixtures of experts: products whose rows are spread over experts, each with weights of its own.

An operator of a serving engine names tokens and experts and leaves the weights out. Its kernels tell the rest: their
names have the types and the tile, and their grid is one workgroup for each tile. Tiles along the rows are counted for
the worst spread over the experts, so the grid gives the number of experts per token and the width of the product.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kernel_pytorch.perf.roofline.forms import Routed, Streamed, Tile
from kernel_pytorch.perf.roofline.shapes import Tensor, tensor
from kernel_pytorch.perf.roofline.work import Work
from kernel_pytorch.perf.trace.recording import Signature

# Bytes of an element; mx formats have a byte of scale for 32 elements.
BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "mxfp8": 33 / 32, "mxfp4": 17 / 32, "fp4": 17 / 32, "int4": 0.5625}
MOST_PER_TOKEN = 16
_NAMES = {"mxe2m1": "mxfp4", "mxe4m3": "mxfp8", "bfloat16": "bf16", "e4m3": "fp8", "fp16": "fp16", "bf16": "bf16"}
# triton_kernels: _matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu (out, a, b; m, n, k, split)
_OGS = re.compile(r"_matmul_ogs_\w+?_(\w+?)x(\w+?)x(\w+?)_(\d+)x(\d+)x(\d+)x(\d+)(_swiglu)?")
# TensorRT-LLM's: bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256... (out, weights, input; n, rows, k)
_TRTLLM = re.compile(r"^bmm_([A-Za-z0-9]+?)_(MxE2m1|E4m3|Bfloat16)(MxE4m3|E4m3|Bfloat16)_\w*?_t(\d+)x(\d+)x(\d+)")


@dataclass(frozen=True)
class _Kernel:
    inputs: str
    weights: str
    tile: tuple[int, int]  # rows, columns
    tiles: int | None  # along the columns, where the grid has them apart
    grid: int
    gated: bool
    depth: int = 0  # steps along K, where weights are converted to the type of the inputs


def is_routed(signature: Signature) -> bool:
    """Whether an operator is a mixture of experts that names tokens and the scores of the experts, and no weights."""
    x, logits = tensor(signature, 0), tensor(signature, 1)
    if "moe" not in signature.name or signature.name.startswith("triton_") or x is None or logits is None:
        return False
    return len(x.shape) == len(logits.shape) == 2 and x.shape[0] == logits.shape[0]


def is_routed_kernel(kernel: str) -> bool:
    """Whether a kernel is a product of a mixture of experts that `kernel_work` can read."""
    return _OGS.search(kernel) is not None or _TRTLLM.match(kernel) is not None


def routed_product(
    tokens: int,
    experts: int,
    per_token: int,
    products: tuple[tuple[int, int], ...],
    inputs: str,
    weights: str,
    summed: bool = False,
    joint: bool = False,
) -> Work:
    """The work of one kernel; rows are spread evenly, so that few rows leave experts out.

    With `summed`, the rows that a token's experts give are added up: they are written, read again and written once.
    """
    rows = tokens * per_token
    used = touched(experts, tokens, per_token)
    flops = sum(2 * rows * n * k for n, k in products)
    first, last = products[0][1], products[-1][0]
    results = (2 * rows + tokens if summed else rows) * last * 2
    moved = rows * first * BYTES[inputs] + results + used * sum(n * k for n, k in products) * BYTES[weights]
    arithmetic = inputs.removeprefix("mx")
    return Work(int(flops), int(moved), arithmetic, matrix=True, form=Routed(used, rows, products, summed, joint))


def touched(experts: int, tokens: int, per_token: int) -> float:
    """How many experts get a row, on average, if each token chooses at random."""
    return float(experts * (1 - (1 - per_token / experts) ** tokens))


def kernel_work(signature: Signature, kernel: str, grid: str, others: Iterable[tuple[str, str]]) -> Work | None:
    """The work of one kernel of a mixture of experts; `others` are all kernels of the operator, with their grids."""
    x, logits = tensor(signature, 0), tensor(signature, 1)
    if x is None or logits is None or not is_routed(signature):
        return None
    found = [one for one in (_read(*other) for other in others) if one is not None]
    up, down = (next((one for one in found if one.gated == gated), None) for gated in (True, False))
    spread = _spread(x, logits.shape[1], up, down) if up is not None and down is not None else None
    if spread is None:
        return None
    (tokens, width), (per_token, inner) = x.shape, spread
    mine = _read(kernel, grid)
    if mine is not None:
        product = (2 * inner, width) if mine.gated else (width, inner)
        work = routed_product(tokens, logits.shape[1], per_token, (product,), mine.inputs, mine.weights)
        return _with_tile(work, mine)
    if "finalize" in kernel:
        added = tokens * per_token * width
        moved = (added + tokens * width) * x.element_bytes
        return Work(2 * added, moved, x.arithmetic, form=Streamed("elementwise", "strided"))
    return None


def _with_tile(work: Work, kernel: _Kernel) -> Work:
    if not kernel.depth or not isinstance(work.form, Routed):
        return work
    return replace(work, form=replace(work.form, tile=Tile(*kernel.tile, kernel.depth)))


def _spread(x: Tensor, experts: int, up: _Kernel, down: _Kernel) -> tuple[int, int] | None:
    """Experts per token and the width between the products, for which both grids come out.

    The second product is as wide as a token.
    """
    tokens, width = x.shape
    for per_token in range(1, min(MOST_PER_TOKEN, experts) + 1):
        columns = [_columns(one, tokens * per_token, experts) for one in (up, down)]
        if columns[0] is None or columns[1] is None or not width <= columns[1] * down.tile[1] < width + down.tile[1]:
            continue
        return per_token, columns[0] * up.tile[1] // 2
    return None


def _columns(kernel: _Kernel, rows: int, experts: int) -> int | None:
    """Tiles along the columns, if the grid is a whole number of the tiles along the rows."""
    blocks = worst_blocks(rows, experts, kernel.tile[0])
    if kernel.tiles is not None:
        return kernel.tiles if kernel.grid == blocks else None
    return kernel.grid // blocks if kernel.grid % blocks == 0 else None


def worst_blocks(rows: int, experts: int, tile: int) -> int:
    """Tiles along the rows, for the worst spread: all experts but one have a single row."""
    if rows <= experts:
        return rows
    return -(-(rows - experts + 1) // tile) + experts - 1


def _read(kernel: str, grid: str) -> _Kernel | None:
    sizes = [int(part) for part in grid.strip("[]").split(",") if part.strip().isdigit()]
    if not sizes:
        return None
    found = _OGS.search(kernel)
    if found:
        _, a, b, rows, columns, steps, _, gated = found.groups()
        if a in BYTES and b in BYTES:
            depth = int(steps) if BYTES[a] == 2 and BYTES[b] < 1 else 0
            return _Kernel(a, b, (int(rows), int(columns)), None, sizes[0], gated is not None, depth)
    found = _TRTLLM.match(kernel)
    if found and len(sizes) > 1:
        _, b, a, columns, rows, _ = found.groups()
        kinds = _NAMES[a.lower()], _NAMES[b.lower()]
        return _Kernel(*kinds, (int(rows), int(columns)), sizes[0], sizes[1], "swiGlu" in kernel)
    return None
