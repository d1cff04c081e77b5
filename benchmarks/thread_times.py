"""Times of single kernels that people wrote into public issues and pull requests, one source a thread.

They fill gaps of the large sources (times_data.py): attention over a paged cache on MI355X and MI325X, and experts with
weights of 4 bits on MI300X. All are for the test; nothing is fitted to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from times_data import Measured

from kernel_pytorch.perf.roofline.forms import Attended, Routed, Tile
from kernel_pytorch.perf.roofline.routed import routed_product
from kernel_pytorch.perf.roofline.work import Work

# ROCm/aiter#2495, MI355X, bf16, heads of 128, 4,096 keys, aiter's paged attention. Llama3-8B: sequences and ms; the
# others: heads of queries and keys, and TFLOP/s for one sequence.
LLAMA = ((1, 0.023), (4, 0.023), (16, 0.044), (64, 0.204))
OTHERS = (
    ("Mistral-Small-4", 32, 32, 1.52), ("Qwen3-Coder-480B", 96, 8, 2.98), ("Step-3.5-Flash", 64, 8, 2.97),
    ("GLM-5", 64, 64, 1.50),
)  # fmt: skip
# facebookexperimental/triton#2040, gfx950, bf16, 64 heads on 8 of 128, aiter's column: sequences, keys, us.
GFX950 = (
    (1, 1024, 23.4), (8, 1024, 30.9), (32, 1024, 63.2), (64, 1024, 98.9), (256, 1024, 325.3),
    (1, 8192, 51.0), (8, 8192, 110.6), (32, 8192, 391.4), (64, 8192, 815.6), (256, 8192, 3189.5),
    (1, 32768, 187.8), (8, 32768, 383.8), (32, 32768, 1499.5), (64, 32768, 3042.3),
)  # fmt: skip
# ROCm/aiter#5415, MI325X, bf16, 32 heads on 16 of 256, a window of 1,024 in 8,192 keys: sequences, us of vLLM v0.28's
# own kernel and of aiter's with the tiles tuned there.
WINDOWED = ((1, 59.87, 52.96), (8, 63.89, 59.54), (16, 78.47, 77.62), (32, 166.53, 161.44))
# ROCm/triton#970, MI300X: the first product of gpt-oss-20b's experts for one token, Triton 3.6.0.
EXPERTS_US = 82.28


def attended(sequences: int, keys: int, heads: int, kept: int, head: int) -> Work:
    """One new token for each sequence, over a cache of bf16."""
    form = Attended(sequences, heads, 1, keys, head)
    moved = 4 * sequences * keys * kept * head + 4 * sequences * heads * head
    return Work(4 * sequences * heads * keys * head, moved, "bf16", matrix=True, form=form)


def experts() -> Work:
    """4 of 32 experts, each with a row; tiles of 32 x 256, 128 steps along K, two waves."""
    work = routed_product(1, 32, 4, ((6144, 3072),), "bf16", "mxfp4")
    assert isinstance(work.form, Routed)
    return replace(work, form=replace(work.form, tile=Tile(32, 256, 128, waves=2)))


def thread_rows() -> Iterator[Measured]:
    """Every figure, with the thread as its source."""
    issue, pull_request = "ROCm/aiter#2495", "facebookexperimental/triton#2040"
    for sequences, ms in LLAMA:
        yield _row("mi355x", issue, "Llama3-8B", attended(sequences, 4096, 32, 8, 128), ms * 1e3)
    for model, heads, kept, speed in OTHERS:
        work = attended(1, 4096, heads, kept, 128)
        yield _row("mi355x", issue, model, work, work.flops / speed / 1e6)
    for sequences, keys, us in GFX950:
        yield _row("mi355x", pull_request, "64 heads on 8", attended(sequences, keys, 64, 8, 128), us)
    for sequences, vllm, tuned in WINDOWED:
        for engine, us in (("vLLM", vllm), ("aiter", tuned)):
            work = attended(sequences, 1024, 32, 16, 256)
            yield _row("mi325x", "ROCm/aiter#5415", f"Gemma 4 31B, {engine}", work, us)
    yield Measured(
        "mi300x", "ROCm/triton#970", "gpt-oss-20b", "experts, Triton", "matmul_ogs", experts(), EXPERTS_US, 1
    )


def _row(gpu: str, thread: str, model: str, work: Work, us: float) -> Measured:
    return Measured(gpu, thread, model, "paged attention", "paged attention", work, us, 1)
