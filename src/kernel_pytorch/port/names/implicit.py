"""What nvcc and its headers give without being asked, and HIP's do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_text
from kernel_pytorch.port.cxx.includes import Include, includes_in
from kernel_pytorch.port.cxx.source import CxxFile, read_once
from kernel_pytorch.port.cxx.tokens import is_string
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.names.rename import Naming, newline_of

# cuda_runtime.h brings these in by way of crt/common_functions.h; hip_runtime.h does not, and declares a device memcpy
# of its own, so that a host call then finds only that one.
_OF_STRING = [
    *(b"mem" + end for end in b"cpy set move cmp chr".split()),
    *(b"str" + end for end in b"len cmp ncmp cpy ncpy cat ncat chr rchr str tok dup error".split()),
]
_OF_MATH = b"isfinite isnan isinf signbit fpclassify isnormal".split()


def _used(before: bytes, word: bytes, after: bytes) -> re.Pattern[bytes]:
    """A use of a word, `before` in front of it. It begins with plain letters, which Python finds by themselves."""
    first = (before or word)[:3]
    return re.compile(first + rb"(?<![\w.:>]%b)" % first + ((before + word) if before else word)[3:] + after)


# Each word of a header with the pattern of its use.
_BROUGHT_BY_CUDA = {
    "string.h": {word: _used(b"", word, rb"\s*\(") for word in _OF_STRING},
    "math.h": {word: _used(b"", word, rb"\s*\(") for word in _OF_MATH},
    "assert.h": {b"assert": _used(b"", b"assert", rb"\s*\(")},
    "time.h": {
        b"time": _used(b"", b"time", rb"\s*\(\s*(?:NULL|0|nullptr)\s*\)"),
        b"clock": _used(b"", b"clock", rb"\s*\(\s*\)"),
        b"timespec": _used(rb"struct\s+", b"timespec", b""),
        b"clock_gettime": _used(b"", b"clock_gettime", b""),
    },
}
# <cmath> is no other spelling of <math.h>: it gives std::isfinite and not ::isfinite.
_OTHER_SPELLING = {"string.h": "cstring", "math.h": "math.h", "time.h": "ctime", "assert.h": "cassert"}
# Wherever a unit includes one of these, it is for all: they may stand behind HIP's header, and a macro is no function.
_ONCE = frozenset(("assert.h",))
_OWN_ASSERT = re.compile(rb"#[ \t]*define[ \t]+assert\b")
_HALF_BLAS = b"HIPBLAS_USE_HIP_HALF"


def implicit_headers(unit: Unit) -> tuple[str, ...]:
    """C headers the unit relies on CUDA's runtime header for."""
    return _implicit(unit)


@lru_cache(maxsize=4)
def _implicit(unit: Unit) -> tuple[str, ...]:
    # One file is enough. Those that are in tokens already are asked first: of the others, most need not be.
    files = sorted(unit.files, key=lambda file: not file.is_split)
    return tuple(
        header
        for header in _BROUGHT_BY_CUDA
        if any(_relies(file, header) for file in files)
        and not (header in _ONCE and any(_gives(file, header) for file in files))
    )


@read_once  # every file of a unit is asked for again where one of them changes
def _answers(file: CxxFile) -> dict[str, bool]:
    return {}


def _gives(file: CxxFile, header: str) -> bool:
    """Whether a file includes a header itself, or has its own `assert`."""
    names = {include.name for include in _real_includes(file)}
    return not names.isdisjoint((header, _OTHER_SPELLING[header])) or _OWN_ASSERT.search(file.data) is not None


def _relies(file: CxxFile, header: str) -> bool:
    answers = _answers(file)
    if header not in answers:
        answers[header] = _finds_use(file, header, _BROUGHT_BY_CUDA[header])
    return answers[header]


def _finds_use(file: CxxFile, header: str, used: Mapping[bytes, re.Pattern[bytes]]) -> bool:
    patterns = [used[word] for word in used.keys() & file.vocabulary]
    # For what <math.h> gives, a file that includes it has seen to itself; the others are needed before HIP's header.
    if not any(pattern.search(file.data) for pattern in patterns):
        return False
    if file.is_parsable and not any(pattern.search(compiled_text(file)) for pattern in patterns):
        return False
    return header != "math.h" or "math.h" not in {include.name for include in _real_includes(file)}


def _real_includes(src: CxxFile) -> list[Include]:
    """The #include lines that are no comment."""
    found = includes_in(src)
    if not any(mark in src.data for mark in (b"/*", b"//")) or not src.is_parsable:
        return found
    return [include for include in found if is_string(src, include.start)]


def includes_header(src: CxxFile, header: str) -> bool:
    """Whether a file includes a C header itself, by either spelling, before any file that may rely on it."""
    for include in _real_includes(src):
        if include.name in (header, _OTHER_SPELLING[header]):
            return True
        if include.quoted:
            return False
    return False


def half_blas(src: CxxFile, unit: Unit, naming: Naming) -> list[Edit]:
    """hipBLAS takes __half only where HIPBLAS_USE_HIP_HALF is defined before its header: elsewhere it is uint16_t."""
    if not unit.holds(b"cublasH") or _HALF_BLAS in src.data:
        return []
    newline = newline_of(src)
    for include, change in naming.headers:
        if change.path == "hipblas/hipblas.h":
            start = src.line_span(include.start)[0]
            return [Edit(Span(start, start), b"#define " + _HALF_BLAS + newline)]
    return []
