"""Every translated name whose type, arguments or value HIP changes: used as in CUDA, ported, compiled.

changed_names.csv has a line of CUDA for each; scripts/build_changed_names.py makes it from both vendors' headers. It
compiles after the port, or a finding stands at it. Enumerators are computed in a kernel on the emulated GPU, and what
the overloads do is checked there too (changed_calls.cu). Functions of the math libraries are compiled only: a program
that gives all of them sensible operands would be a test of those libraries.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.jobs.hipify import hipify_file
from kernel_pytorch.port.names.table import find_name
from kernel_pytorch.toolchain.compile import CompileOptions, check_host
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.other_passes import check_device

HEADERS = {
    "runtime": ("cuda_runtime.h",),
    "driver": ("cuda.h", "cuda_runtime.h"),
    "blas": ("cuda_runtime.h", "cublas_v2.h"),
    "blaslt": ("cuda_runtime.h", "cublasLt.h"),
    "fft": ("cufft.h", "cufftXt.h"),
    "rand": ("cuda_runtime.h", "curand.h"),
    "sparse": ("cuda_runtime.h", "cusparse.h"),
    "solver": ("cuda_runtime.h", "cusolverDn.h", "cusolverSp.h", "cusolverRf.h"),
}
LIBRARIES = tuple(library for library in HEADERS if library not in ("runtime", "driver"))
# A finding with one of these codes says that the line does not compile before a person looked at it.
LEFT_TO_A_PERSON = {"KP202", "KP203", "KP206"}
# The most lines of a library that may be left to a person: more are a loss.
MOST_LEFT = {"runtime": 40, "driver": 60, "blaslt": 1, "fft": 1, "sparse": 1}
# Newer than the HIP headers that come with PyPI's triton.
HEADERS_HAVE = (7, 1)


class Row(NamedTuple):
    library: str
    name: str
    change: str
    use: str
    value: str


@lru_cache(maxsize=1)
def rows() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    with (Path(__file__).parent / "changed_names.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            row = Row(**line)
            name = find_name(row.name.encode())
            assert name is not None, f"{row.name} is not in the table any more: run scripts/build_changed_names.py"
            if not name.since or tuple(map(int, name.since.split("."))) <= HEADERS_HAVE:
                found[row.library].append(row)
    return found


def program(headers: tuple[str, ...], lines: list[str]) -> str:
    return (
        "".join(f"#include <{name}>\n" for name in headers) + "template <class T> using Type = T;\n" + "\n".join(lines)
    )


def ported(library: str, used: list[Row], folder: Path) -> tuple[Path, list[Row]]:
    """The program of these rows as HIP, without the lines that are left to a person; and those."""
    source = folder / f"{library}.cu"
    lines = [row.use for row in used]
    source.write_text(program(HEADERS[library], lines), encoding="utf-8")
    first = source.read_text(encoding="utf-8").splitlines().index(lines[0]) + 1
    reported = {one.line - first for one in hipify_file(source).files[0].left if one.code in LEFT_TO_A_PERSON}
    source.write_text(program(HEADERS[library], [text for at, text in enumerate(lines) if at not in reported]))
    translated = source.with_suffix(".hip")
    data = hipify_file(source).data
    assert data is not None
    translated.write_bytes(data)
    return translated, [used[at] for at in sorted(reported)]


def test_names_of_the_runtime_and_the_driver_compile_or_are_reported(tmp_path: Path) -> None:
    for library in ("runtime", "driver"):
        translated, left = ported(library, rows()[library], tmp_path)
        assert len(left) <= MOST_LEFT[library], [row.name for row in left]
        check_host(translated, find_toolchain(), CompileOptions(extra=("-w",)))


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_names_of_the_math_libraries_compile_or_are_reported(library: str, tmp_path: Path) -> None:
    # The buffer of this one is the analysis's: tests/port/rules/kp272_sparse_solve_buffer has both.
    used = [row for row in rows()[library] if row.name != "cusparseSpSM_solve"]
    translated, left = ported(library, used, tmp_path)
    assert len(left) <= MOST_LEFT.get(library, 0), [row.name for row in left]
    check_host(translated, find_toolchain(), CompileOptions(extra=("-w",)))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("library", HEADERS)
def test_the_device_pass_reads_them_too(library: str, target: str, tmp_path: Path) -> None:
    used = [row for row in rows()[library] if row.name != "cusparseSpSM_solve"]
    translated, _ = ported(library, used, tmp_path)
    check_device(translated, target, find_toolchain(), CompileOptions(extra=("-w",)))


def values_program(used: list[Row]) -> str:
    """A kernel that computes every enumerator, and a host that prints what came out."""
    numbers = "\n".join(f"  out[{at}] = (long long)({row.name});" for at, row in enumerate(used))
    names = ", ".join(f'"{row.name}"' for row in used)
    return f"""
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cublas_v2.h>
#include <cublasLt.h>
#include <cufft.h>
#include <cufftXt.h>
#include <curand.h>
#include <cusparse.h>
#include <cusolverDn.h>
__global__ void fill(long long* out) {{
{numbers}
}}
int main() {{
  static const char* names[] = {{{names}}};
  long long* out;
  cudaMallocManaged(&out, sizeof(*out) * {len(used)});
  fill<<<1, 1>>>(out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < {len(used)}; ++i) printf("%s %lld\\n", names[i], out[i]);
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_enumerators_have_the_values_of_hip(gpu: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    used = [row for library in rows().values() for row in library if row.change in ("value", "type")]
    assert len(used) > 200
    source = tmp_path / "values.cu"
    source.write_text(values_program(used), encoding="utf-8")
    assert main(["emulate", "--gpu", gpu, str(source)]) == 0
    printed = dict(line.split() for line in capfd.readouterr().out.splitlines() if len(line.split()) == 2)
    assert {row.name: printed.get(row.name) for row in used} == {row.name: row.value for row in used}


# What the overloads for CUDA's arguments do, with results that are checked.
CALLS = (Path(__file__).parent / "changed_calls.cu").read_text(encoding="utf-8")


def test_the_runtimes_cpp_forms_compile_after_the_port(tmp_path: Path) -> None:
    """No header declares these in C: templates and defaults of cuda_runtime.h, which HIP has in part."""
    translated = hipify_file(Path(__file__).parent / "templated_calls.cu")
    assert not [finding for stats in translated.files for finding in stats.left if finding.code != "KP245"]
    source = tmp_path / "templated_calls.hip"
    source.write_bytes(translated.data or b"")
    check_device(source, "gfx942", find_toolchain(), CompileOptions())
    check_host(source, find_toolchain(), CompileOptions())


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_calls_with_the_arguments_of_cuda_do_what_they_do_there(
    gpu: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "calls.cu"
    source.write_text(CALLS, encoding="utf-8")
    assert main(["emulate", "--gpu", gpu, str(source)]) == 0
    assert "all as in CUDA" in capfd.readouterr().out
