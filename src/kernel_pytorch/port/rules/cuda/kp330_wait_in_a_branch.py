"""A wait in a branch of some threads

What: wait, arrive_and_wait, producer_acquire, consumer_wait or acquire of libcu++'s barriers, pipelines, latches
    and semaphores, in a branch that only some threads of a block take.
Why: All lanes of an AMD wave advance together. While some lanes wait, the others stop as well. If one of those has
    to arrive, produce or release, the wave waits for itself for ever. On NVIDIA the other threads continue.
Fix: Make sure that all 64 threads of a wave (32 on RDNA) take the branch together: roles by `threadIdx.x / 64`, not by
    warps of 32. A pipeline whose roles share a wave traps in make_pipeline instead of hanging.
Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#independent-thread-scheduling;
    https://llvm.org/docs/AMDGPUUsage.html (a wave has one program counter for all lanes)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP330", "wait-in-a-branch", languages=("cuda",), safety=Safety.MANUAL, triggers=(
    b"cuda::barrier", b"cuda::pipeline", b"cuda::make_pipeline", b"cuda::latch", b"_semaphore",
))  # fmt: skip

_WAITS = (b"wait", b"wait_parity", b"arrive_and_wait", b"producer_acquire", b"consumer_wait", b"acquire")
_OF_SOME_THREADS = re.compile(rb"threadIdx|thread_rank|thread_index|meta_group_rank|pipeline_role|\b(?:lane|warp)\w*")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each branch on threads with a wait inside, once."""
    waits = sorted(index for name in _WAITS for index in words(src).get(name, ()) if _is_member_call(src, index))
    seen: set[int] = set()
    for branch in words(src).get(b"if", ()):
        condition_end = closing(src, branch + 1) if text_at(src, branch + 1) == b"(" else None
        if condition_end is None or not _OF_SOME_THREADS.search(_text(src, branch, condition_end)):
            continue
        last = _end_of_branch(src, condition_end + 1)
        inside = [index for index in waits if condition_end < index <= last and index not in seen]
        seen.update(inside)
        if inside:
            token = src.code[inside[0]]
            message = (
                f"{src.text(token).decode()} in a branch that some threads take: a wave whose lanes split waits "
                "for itself; all 64 threads must take the same branch"
            )
            yield RULE.finding(src, Span(token.start, token.end), message)


def _is_member_call(src: CxxFile, index: int) -> bool:
    return text_at(src, index + 1) == b"(" and text_at(src, index - 1) in (b".", b"->")


def _text(src: CxxFile, first: int, last: int) -> bytes:
    return src.data[src.code[first].start : src.code[last].end]


def _end_of_branch(src: CxxFile, start: int) -> int:
    """The last token of what an `if` guards, with its `else`."""
    at = start
    while True:
        end = closing(src, at) if text_at(src, at) == b"{" else None
        if end is None:
            end = next((i for i in range(at, len(src.code)) if text_at(src, i) == b";"), len(src.code) - 1)
        if text_at(src, end + 1) != b"else":
            return end
        at = end + 2
        if text_at(src, at) == b"if":
            condition_end = closing(src, at + 1)
            if condition_end is None:
                return end
            at = condition_end + 1
