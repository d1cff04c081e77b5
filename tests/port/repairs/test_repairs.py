"""Repairs, each on what a compiler said about its fixture. record.py writes the recordings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.pages import all_pages
from kernel_pytorch.jobs.proof import verdict_on
from kernel_pytorch.port.repairs import all_repairs
from kernel_pytorch.port.repairs.apply import Key, repair_round
from kernel_pytorch.port.repairs.complaint import Complaint, Spot
from tests.port.repairs import record

HERE = Path(__file__).parent
FOLDERS = record.folders()


def is_proven(patch: Patch) -> bool:
    verdict = verdict_on(patch)
    return verdict is None or verdict.is_proven


def read_from(folder: Path) -> Callable[[str], bytes | None]:
    return lambda path: (folder / path).read_bytes() if (folder / path).is_file() else None


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_the_compiler_said_is_answered(folder: Path) -> None:
    complaints = record.read_complaints(folder)
    done = repair_round(complaints, (), read_from(folder), set(), is_proven)
    (patch,) = done.patches
    assert folder.name[:5].upper() in patch.codes
    assert patch.before == (folder / "in.cu").read_bytes()
    if not (folder / "more_rounds.txt").exists():
        assert patch.after == (folder / "out.cu").read_bytes()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_nvidia_path_is_proven(folder: Path) -> None:
    patch = Patch("in.cu", (folder / "in.cu").read_bytes(), (folder / "out.cu").read_bytes())
    assert is_proven(patch)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_repair_is_not_made_twice(folder: Path) -> None:
    """The same message at the same line again means that the repair did not help."""
    complaints = record.read_complaints(folder)
    tried: set[Key] = set()
    first = repair_round(complaints, (), read_from(folder), tried, is_proven)
    again = repair_round(complaints, (), read_from(folder), tried, is_proven)
    assert first.made
    assert not {(one.code, one.spot) for one in first.made} & {(one.code, one.spot) for one in again.made}


def test_every_repair_has_a_fixture_and_a_page() -> None:
    stems = {loaded.repair.file_stem for loaded in all_repairs()}
    assert stems == {folder.name for folder in FOLDERS}
    pages = all_pages()
    for loaded in all_repairs():
        assert pages[loaded.repair.code].safety == "automatic"


def test_an_unproven_repair_is_dropped() -> None:
    folder = HERE / "kp284_cached_load"
    done = repair_round(record.read_complaints(folder), (), read_from(folder), set(), lambda patch: False)
    assert not done.patches and not done.made


def test_a_line_that_only_rocm_compiles_gets_no_second_gate() -> None:
    text = b"#if defined(USE_ROCM)\nint v() { return CUDART_VERSION; }\n#endif\n"
    said = Complaint("use of undeclared identifier 'CUDART_VERSION'", (Spot("a.cu", 2, 18),))
    done = repair_round([said], (), lambda path: text, set(), is_proven)
    (patch,) = done.patches
    assert patch.after == text.replace(b"CUDART_VERSION", b"(HIP_VERSION_MAJOR * 1000 + HIP_VERSION_MINOR * 10)")


def test_a_message_without_a_place_in_the_project_changes_nothing() -> None:
    said = Complaint("call to 'abs' is ambiguous", ())
    assert repair_round([said], (), lambda path: b"", set(), is_proven).patches == ()


def test_a_place_beyond_the_file_changes_nothing() -> None:
    said = Complaint("call to 'abs' is ambiguous", (Spot("a.cu", 900, 7),))
    assert repair_round([said], (), lambda path: b"int a;\n", set(), is_proven).patches == ()


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_compiler_still_says_it_and_takes_the_repair(folder: Path) -> None:
    if (folder / "rocm_headers.txt").exists() and not os.environ.get("KPT_ROCM_ROOT"):
        pytest.skip("only ROCm's own headers have the other definition")
    said = record.first_complaints(folder)
    assert {one.text for one in said} >= {one.text for one in record.read_complaints(folder)}
    text, builds = record.repaired(folder)
    assert text == (folder / "out.cu").read_bytes()
    assert builds


def test_a_function_that_somebody_calls_is_not_left_out() -> None:
    text = (HERE / "kp214_function_nobody_calls/in.cu").read_bytes()
    said = record.read_complaints(HERE / "kp214_function_nobody_calls")[1:]  # the name in its body
    assert repair_round(said, (), lambda path: text, set(), is_proven).made
    assert not repair_round(said, (), lambda path: text, set(), is_proven, lambda path, name: name == b"clusters").made
    called = text + b"int all() { return clusters({}); }\n"
    assert not repair_round(said, (), lambda path: called, set(), is_proven).made
    exported = text.replace(b"static inline ", b"")
    assert not repair_round(said, (), lambda path: exported, set(), is_proven).made


@pytest.mark.parametrize(("around", "is_left_out"), [("", True), ("namespace tools", True), ("struct Tools", False)])
def test_a_plain_function_of_a_header_is_left_out_too(around: str, is_left_out: bool) -> None:
    """Every source that includes the header has it. A member of a class is another matter."""
    lines = [
        "int clusters(cudaClusterSchedulingPolicy policy) {",
        "  return policy == cudaClusterSchedulingPolicyDefault;",
    ]
    text = "\n".join([f"{around} {{" if around else "", *lines, "}", "};" if around else "", ""]).encode()
    said = Complaint("unknown type name 'cudaClusterSchedulingPolicy'", (Spot("a.cuh", 2, 14),))
    done = repair_round([said], (), lambda path: text, set(), is_proven)
    left_out = [one for one in done.patches if "KP214" in one.codes]
    assert bool(left_out) is is_left_out


def test_a_member_is_qualified_where_it_is_used_and_not_where_it_is_declared() -> None:
    folder = HERE / "kp225_member_of_dependent_base"
    tried: set[Key] = set()
    first = repair_round(record.read_complaints(folder), (), read_from(folder), tried, is_proven)
    again = repair_round(record.read_complaints(folder), first.patches, read_from(folder), tried, is_proven)
    assert not again.made and again.patches == first.patches


def test_marks_are_those_of_a_declaration_in_another_file() -> None:
    files = {
        "a.cuh": b"struct S {\n  __device__ int f();\n};\n",
        "a.cu": b'#include "a.cuh"\nint S::f() { return 1; }\n',
    }
    text = "out-of-line definition of 'f' does not match any declaration in 'S'"
    said = Complaint(text, (Spot("a.cu", 2, 8), Spot("a.cuh", 2, 18)))
    (patch,) = repair_round([said], (), files.get, set(), is_proven).patches
    assert patch.path == "a.cu" and b"\n__device__ int S::f() { return 1; }\n#else\n" in patch.after


def test_two_lines_that_read_alike_are_two_places() -> None:
    text = b"int v() { return CUDART_VERSION; }\nint w();\nint v() { return CUDART_VERSION; }\n"
    said = [Complaint("use of undeclared identifier 'CUDART_VERSION'", (Spot("a.cu", line, 18),)) for line in (1, 3)]
    done = repair_round(said, (), lambda path: text, set(), is_proven)
    assert [one.spot.line for one in done.made] == [1, 3]


def test_the_stream_of_old_torch_is_todays_where_its_state_is_gone() -> None:
    text = b"void run() {\n    cudaStream_t stream = THCState_getCurrentStream(state);\n}\n"
    said = Complaint("use of undeclared identifier 'state'", (Spot("a.cpp", 2, 52),))
    (patch,) = repair_round([said], (), lambda path: text, set(), is_proven).patches
    assert b"cudaStream_t stream = at::cuda::getCurrentCUDAStream();" in patch.after and is_proven(patch)
    other = Complaint("use of undeclared identifier 'state'", (Spot("a.cpp", 1, 6),))
    assert not repair_round([other], (), lambda path: b"int run() { return state; }\n", set(), is_proven).made


def test_a_function_that_cxx20_has_too_is_left_out_on_rocm() -> None:
    """libstdc++ says so of NVIDIA's helper_math.h: its <math.h> has `using std::lerp` in C++20, as torch wants."""
    text = b"inline __device__ __host__ float lerp(float a, float b, float t) {\n    return a + t * (b - a);\n}\n"
    said = "declaration conflicts with target of using declaration already in scope"
    complaint = Complaint(said, (Spot("a.cuh", 1, 34),))
    after = repair_round([complaint], (), lambda path: text, set(), is_proven)
    (patch,) = after.patches
    assert patch.codes == ("KP282",)
    other = Complaint(said, (Spot("a.cuh", 2, 5),))
    assert not repair_round([other], (), lambda path: text, set(), is_proven).made


def test_a_type_that_the_project_declares_keeps_its_name() -> None:
    """Its other files use that name. Only what it stands for changes."""
    text = b"typedef struct CUstream_st* CUstream;\n"
    said = Complaint("unknown type name 'CUstream_st'", (Spot("a.h", 1, 16),))
    (patch,) = repair_round([said], (), lambda path: text, set(), is_proven).patches
    assert b"typedef struct ihipStream_t* CUstream;" in patch.after and is_proven(patch)


@pytest.mark.parametrize(("include", "is_added"), [(b"<vector>", True), (b"<cuda_runtime.h>", False)])
def test_the_runtime_header_where_nothing_brings_it(include: bytes, is_added: bool) -> None:
    text = b"#include " + include + b"\nint count() { int n; cudaGetDeviceCount(&n); return n; }\n"
    said = Complaint("use of undeclared identifier 'hipGetDeviceCount'", (Spot("a.cu", 2, 22),))
    patches = repair_round([said], (), lambda path: text, set(), is_proven).patches
    assert [b"#include <hip/hip_runtime.h>" in patch.after for patch in patches] == [True] * is_added
