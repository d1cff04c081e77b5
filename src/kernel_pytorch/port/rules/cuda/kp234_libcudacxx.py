"""libcu++: cuda::std, cuda::atomic, <cuda/...>

What: An #include of <cuda/...> or <nv/target>, or a use of cuda::std without one.
Why: The library comes with CUDA's toolkit, not with ROCm.
Fix: What the C++ library has under the same name becomes that. clang compiles constexpr functions of std for the
    device, so type traits, limits, tuples and (from C++20) optional work there, and cuda::std becomes another name of
    std. kpt writes out cuda::atomic, cuda::atomic_ref and fences (with __hip_atomic_*), those of cuda::std too,
    cuda::ceil_div and cuda::round_up, and barriers, latches, semaphores, pipelines and cuda::memcpy_async in plain
    atomics and copies (KP330). A source file that uses nothing of the library does without the header. The rest is
    left to you: ROCm/libhipcxx has most of it under the same names and must be vendored; 8- and 16-bit compare-and-swap
    is broken there.
Source: https://github.com/ROCm/libhipcxx; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md (the 8- and
    16-bit fault)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.directives import directives
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP234", "libcudacxx", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"<cuda/", b"<nv/", b"cuda::")
)

# Not written out on ROCm.
_MEMBERS = frozenset({
    b"ptx", b"device", b"access_property",
})  # fmt: skip
# Headers of cuda/std whose contents are constexpr in the C++ library's header of the same name.
_IN_STD = frozenset({
    "array", "bit", "cassert", "cfloat", "climits", "cmath", "complex", "concepts", "cstddef", "cstdint", "cstdlib",
    "functional", "initializer_list", "limits", "numbers", "optional", "ratio", "span", "tuple", "type_traits",
    "utility", "version",
})  # fmt: skip
_ATOMICS = frozenset({b"atomic", b"atomic_ref", b"atomic_thread_fence"})
# Written out (port/tables/hip_shims/barriers.h).
_OF_BARRIERS = ("cuda/barrier", "cuda/pipeline", "cuda/latch", "cuda/semaphore")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each include of the library; a use where no include is in sight."""
    missing = _missing_member(src)
    found = False
    for one in directives(src):
        if one.name != b"include" or not one.tokens:
            continue
        token = one.tokens[0]
        name = src.text(token)
        if name.startswith((b"<cuda/", b"<nv/target", b'"cuda/std/')):
            found = True
            header = name[1:-1].decode("utf-8", "replace")
            instead = _instead(header, missing is not None)
            message = f"<{header}> is libcu++, which ROCm does not have: "
            if instead is None and _is_unused(src):
                edit = Edit(one.span, b"")
                yield RULE.finding(src, one.span, message + "nothing here uses it", [edit])
            elif instead is None:
                yield RULE.finding(src, one.span, message + "libhipcxx, or std:: where it does")
            else:
                edit = Edit(Span(token.start, token.end), f"<{instead}>".encode())
                yield RULE.finding(src, one.span, message + f"the C++ library's <{instead}> takes its place", [edit])
    yield from _atomics_of_std(src)
    if not found and missing is not None:
        member = src.text(src.code[missing + 2]).decode("utf-8", "replace")
        span = Span(src.code[missing].start, src.code[missing + 2].end)
        message = f"cuda::{member} is libcu++, which ROCm does not have: libhipcxx, or std:: where it does"
        yield RULE.finding(src, span, message)


def _atomics_of_std(src: CxxFile) -> Iterator[Finding]:
    """std::atomic is the host's alone. cuda::atomic is the same with a scope, whose default is the whole system."""
    for index in _members(src):
        if text_at(src, index + 2) == b"std" and text_at(src, index + 4) in _ATOMICS:
            inner = Span(src.code[index + 2].start, src.code[index + 4].start)
            name = text_at(src, index + 4).decode()
            message = f"cuda::std::{name} is libcu++, which ROCm does not have: cuda::{name} is written out"
            yield RULE.finding(src, inner, message, [Edit(inner, b"")])


def _instead(header: str, has_missing: bool) -> str | None:
    """The C++ library's header for one of libcu++'s, if what the file uses of it is there."""
    if header.startswith("cuda/std/") and header.removeprefix("cuda/std/") in _IN_STD:
        return header.removeprefix("cuda/std/")
    known = {
        "cuda/atomic": "atomic",
        "cuda/std/atomic": "atomic",
        "cuda/cmath": "cmath",
        **dict.fromkeys(_OF_BARRIERS, "atomic"),
    }
    return known.get(header) if not has_missing else None


def _is_unused(src: CxxFile) -> bool:
    """A header may be there for those who include it, a source file is not."""
    opened = any(text_at(src, index - 1) == b"namespace" for index in words(src).get(b"cuda", ()))
    return src.path.endswith(".cu") and not opened and next(_members(src), None) is None


def _missing_member(src: CxxFile) -> int | None:
    """The first use of a member of libcu++ that nothing takes the place of."""
    return next((index for index in _members(src) if text_at(src, index + 2) in _MEMBERS), None)


def _members(src: CxxFile) -> Iterator[int]:
    """Where a name begins with cuda::, as the library's do; at::cuda:: is torch's."""
    for index in words(src).get(b"cuda", ()):
        is_inner = text_at(src, index - 1) == b"::" and src.code[index - 2].kind == "identifier"
        if not is_inner and text_at(src, index + 1) == b"::":
            yield index
