"""Names that a macro glues together: translated by what the macro's calls make of them, or reported at the macro."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions, hipify_file

HEADER = b"#include <cuda_runtime.h>\n#define CALL(call) check(cuda##call, #call)\n"


def _ported(layout: str, **files: bytes) -> dict[str, HipifiedFile]:
    """Files ported as one unit, by the name without its dot."""
    sources = [cxx_file(name.replace("_", "."), data) for name, data in files.items()]
    unit = unit_of(*sources)
    options = HipifyOptions(layout=layout, rules=())
    return {src.path.replace(".", "_"): hipify_file(src, unit, options) for src in sources}


def _codes(result: HipifiedFile) -> list[str]:
    return [one.code for one in result.findings]


def test_the_macro_gets_hips_front() -> None:
    done = _ported(
        "copy", a_h=HEADER, b_cu=b'#include "a.h"\nvoid f(void *p) { CALL(Free(p)); CALL(GetLastError()); }\n'
    )
    assert b"check(hip##call, #call)" in done["a_h"].after and b"CALL(Free(p))" in done["b_cu"].after
    assert _codes(done["a_h"]) == [] and done["b_cu"].translated == 2


def test_a_name_that_goes_on_differently_is_changed_at_the_call() -> None:
    text = b'#include "a.h"\nvoid f(void **p) { CALL(MallocHost(p, 4)); CALL(Free(*p)); }\n'
    done = _ported("copy", a_h=HEADER, b_cu=text)
    assert b"CALL(HostMalloc(p, 4)); CALL(Free(*p));" in done["b_cu"].after


def test_symbols_are_wrapped_at_the_call() -> None:
    text = b'#include "a.h"\n__constant__ int t[4];\nvoid f(int *p) { CALL(MemcpyToSymbol(t, p, 16)); }\n'
    assert b"CALL(MemcpyToSymbol(HIP_SYMBOL(t), p, 16));" in _ported("copy", a_h=HEADER, b_cu=text)["b_cu"].after


def test_a_macro_that_hands_its_argument_on() -> None:
    header = HEADER + b"#define QUIET(call) do { CALL(call); } while (0)\n"
    done = _ported("copy", a_h=header, b_cu=b'#include "a.h"\nvoid f(void **p) { QUIET(MallocHost(p, 4)); }\n')
    assert b"check(hip##call" in done["a_h"].after and b"QUIET(HostMalloc(p, 4))" in done["b_cu"].after


def test_more_behind_the_argument() -> None:
    header = b"#include <cublas_v2.h>\n#define GEMM(t) cublas##t##gemm\n"
    done = _ported("copy", a_h=header, b_cu=b'#include "a.h"\nauto f = GEMM(S);\nauto g = GEMM(Z);\n')
    assert b"#define GEMM(t) hipblas##t##gemm" in done["a_h"].after and _codes(done["a_h"]) == []


def test_any_number_of_arguments() -> None:
    header = b"#include <cuda_runtime.h>\n#define CALL(...) check(cuda##__VA_ARGS__)\n"
    done = _ported("copy", a_h=header, b_cu=b'#include "a.h"\nvoid f(void **p) { CALL(Malloc(p, 4)); }\n')
    assert b"check(hip##__VA_ARGS__)" in done["a_h"].after


def test_the_driver_s_two_letters() -> None:
    header = b"#include <cuda.h>\n#define DRV(call) cu##call\n"
    done = _ported("copy", a_h=header, b_cu=b'#include "a.h"\nvoid f(CUdeviceptr *p) { DRV(MemAlloc(p, 4)); }\n')
    assert b"hip##call" in done["a_h"].after and b"DRV(Malloc(p, 4))" in done["b_cu"].after
    assert not _ported("copy", a_h=b"#define COPPER(x) cu##x\nint COPPER(be);\n")["a_h"].changed


@pytest.mark.parametrize(
    ("calls", "made"),
    [
        (b"CALL(Free(p)); CALL(OfOurs(p));", "cudaOfOurs, which kpt does not know"),
        (b"CALL(Free(p)); CALL(OurOwn(p));", "cudaOurOwn, which kpt does not know"),
    ],
)
def test_a_macro_of_which_one_call_does_not_fit_stays(calls: bytes, made: str) -> None:
    """With HIP's front the project's own function would not be called any more."""
    text = b'#include "a.h"\nint cudaOurOwn(void *p);\nvoid f(void *p) { ' + calls + b" }\n"
    done = _ported("copy", a_h=HEADER, b_cu=text)
    assert b"check(cuda##call" in done["a_h"].after
    assert [one.message for one in done["a_h"].findings if made in one.message] != []
    assert _codes(done["a_h"]) == ["KP204"]


def test_a_name_without_counterpart_is_reported_at_its_call() -> None:
    text = b'#include "a.h"\nvoid f(void *p) { CALL(Free(p)); CALL(GraphConditionalHandleCreate(p)); }\n'
    done = _ported("copy", a_h=HEADER, b_cu=text)
    assert b"hip##call" in done["a_h"].after
    assert [(one.code, one.line) for one in done["b_cu"].findings] == [("KP202", 2)]


def test_one_header_names_what_is_glued() -> None:
    """The preprocessor looks at what it glued once more: a #define in the header is enough."""
    done = _ported("single-source", a_h=HEADER, b_cu=b'#include "a.h"\nvoid f(void **p) { CALL(MallocHost(p, 4)); }\n')
    assert b"cuda##call" in done["a_h"].after and b"hip##" not in done["a_h"].after and _codes(done["a_h"]) == []
    assert ("cudaMallocHost", "hipHostMalloc") in done["b_cu"].needs.names


def test_torchs_renaming_does_not_see_them() -> None:
    done = _ported("torch-extension", a_h=HEADER, b_cu=b'#include "a.h"\nvoid f(void *p) { CALL(Free(p)); }\n')
    lines = done["a_h"].after.split(b"\n")
    at = next(number for number, line in enumerate(lines) if b"hip##call" in line)
    assert lines[at - 1].startswith(b"#if defined(USE_ROCM)") and b"cuda##call" in lines[at + 2]


@pytest.mark.parametrize("layout", ["copy", "single-source", "torch-extension"])
def test_a_second_time_changes_nothing(layout: str) -> None:
    text = b'#include "a.h"\nvoid f(void **p) { CALL(MallocHost(p, 4)); CALL(Free(*p)); }\n'
    once = _ported(layout, a_h=HEADER, b_cu=text)
    again = _ported(layout, a_h=once["a_h"].after, b_cu=once["b_cu"].after)
    assert {name: one.after for name, one in again.items()} == {name: one.after for name, one in once.items()}
    assert all(_codes(one) == [] for one in again.values())
