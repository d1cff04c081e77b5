"""Headers and names that torch no longer has

What: `THC/*.h`, `THCudaCheck`, `THCCeilDiv`, `THCudaMalloc`, `THCudaBlas_Sgemm`, `AT_CHECK`, and others of old torch.
Why: torch removed them years ago, on CUDA as well. A ROCm build of torch that runs on today's GPUs does not have them.
Fix: On ROCm kpt writes what today's torch has in their place. The CUDA side stays as it was, for the old torch it
    needs.
Source: https://github.com/pytorch/pytorch/pull/66391 (THC removed), ATen/cuda/Exceptions.h, ATen/ceil_div.h
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.names.old_torch import OLD_HEADER, todays_headers
from kernel_pytorch.port.names.rename import newline_of
from kernel_pytorch.port.repairs.calls import call_near
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

# Names whose use stays as it is.
_RENAMED = {
    "THCudaCheck": "C10_CUDA_CHECK",
    "THCCeilDiv": "at::ceil_div",
    "THAssert": "TORCH_INTERNAL_ASSERT",
    "AT_CUDA_CHECK": "C10_CUDA_CHECK",
    "AT_CHECK": "TORCH_CHECK",
    "AT_ASSERT": "TORCH_INTERNAL_ASSERT",
    "AT_ASSERTM": "TORCH_CHECK",
}
# torch multiplies batches of strided matrices, but has no call for arrays of pointers: this asks the BLAS library.
_BATCHED = """\
[](char ta, char tb, int m, int n, int k, {type} alpha, const {type}** a, int lda, const {type}** b, int ldb,
       {type} beta, {type}** c, int ldc, int count) {{
        auto op = [](char t) {{ return t == 'n' || t == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T; }};
        TORCH_CUDABLAS_CHECK(cublas{letter}gemmBatched(at::cuda::getCurrentCUDABlasHandle(), op(ta), op(tb), m, n, k,
                                                &alpha, a, lda, b, ldb, &beta, c, ldc, count));
    }}"""
# Calls that take the state of old torch first, and the other arguments as today's.
_WITHOUT_STATE = {
    "THCudaMalloc": "c10::cuda::CUDACachingAllocator::raw_alloc",
    "THCudaFree": "c10::cuda::CUDACachingAllocator::raw_delete",
} | {
    f"THCudaBlas_{letter}{name}": new.format(type=type_, letter=letter)
    for letter, type_ in (("S", "float"), ("D", "double"))
    for name, new in (
        ("gemm", "at::cuda::blas::gemm<{type}>"),
        ("gemv", "at::cuda::blas::gemv<{type}>"),
        ("gemmBatched", _BATCHED),
    )
}
# The declaration of the state goes (`_state`), and the compiler then names the state where the call is given it.
_STREAM = "THCState_getCurrentStream"
_ARGUMENT_CHECK = "THArgCheck"  # the condition, the argument's number, the message
REPAIR = Repair(
    "KP287",
    "headers-gone-from-torch",
    re.compile(
        r"'(TH[CH]?(?:UNN)?/[^']+)' file not found|"  # torch's renaming makes THH of THC
        r"(?:use of undeclared identifier|no member named|unknown type name) "
        rf"'({'|'.join((*_RENAMED, *_WITHOUT_STATE, 'THCState', _STREAM, _ARGUMENT_CHECK, 'state'))})'"
    ),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """Today's headers for an include, today's name for a name."""
    name = place.found[2]
    if name is None:
        return _include(place)
    if name == "THCState":
        return _state(place)
    if name == _ARGUMENT_CHECK:
        return _argument_check(place)
    if name in (_STREAM, "state"):
        return _stream(place) or (_without_state(place, *_WITHOUT_STATE) if name == "state" else ())
    if name in _WITHOUT_STATE:
        return _without_state(place, name)
    return _name(place, name, _RENAMED[name])


def _include(place: RepairPlace) -> tuple[Edit, ...]:
    """Every such include of the file: the compiler stops at the first that it does not find."""
    src = place.src
    found = []
    for include in includes_of(src.data):
        if OLD_HEADER.match(include.name):
            found.append(Edit(Span(include.start, include.end), todays_headers(include.name, newline_of(src))))
    return tuple(found)


def _name(place: RepairPlace, old: str, new: str) -> tuple[Edit, ...]:
    """Every use on the line. A macro's uses are where the macro is written."""
    src = place.src
    start, end = place.line
    tokens = (src.code[index] for index in words(src).get(old.encode(), ()))
    return tuple(Edit(Span(one.start, one.end), new.encode()) for one in tokens if start <= one.start < end)


def _without_state(place: RepairPlace, *names: str) -> tuple[Edit, ...]:
    """The call by its new name, without its first argument."""
    call = call_near(place.src, tuple(name.encode() for name in names), place.offset)
    if call is None or len(call.arguments) < 2:
        return ()
    new = _WITHOUT_STATE[place.src.data[call.name.start : call.name.end].decode()]
    return (
        Edit(Span(call.whole.start, call.arguments[1].start), f"{new}(".encode().replace(b"\n", newline_of(place.src))),
    )


def _argument_check(place: RepairPlace) -> tuple[Edit, ...]:
    call = call_near(place.src, (_ARGUMENT_CHECK.encode(),), place.offset)
    if call is None or len(call.arguments) < 3:
        return ()
    number = Span(call.arguments[0].end, call.arguments[1].end)
    return Edit(Span(call.name.start, call.name.end), b"TORCH_CHECK"), Edit(number, b"")


def _stream(place: RepairPlace) -> tuple[Edit, ...]:
    call = call_near(place.src, (_STREAM.encode(),), place.offset)
    return (Edit(call.whole, b"at::cuda::getCurrentCUDAStream()"),) if call is not None else ()


def _state(place: RepairPlace) -> tuple[Edit, ...]:
    """`THCState *state = at::globalContext().lazyInitCUDA();` makes the device ready and is otherwise not needed."""
    src = place.src
    start, end = place.line
    for index in words(src).get(b"THCState", ()):
        if not start <= src.code[index].start < end:
            continue
        first = index - 1 if text_at(src, index - 1) == b"extern" else index
        stop = src.data.find(b";", src.code[index].end)
        statement = src.data[src.code[index].start : stop + 1]
        if stop >= 0 and b"{" not in statement and b"(" not in statement.replace(b"()", b""):
            return (Edit(Span(src.code[first].start, stop + 1), b""),)
    return ()
