"""How the stand-ins are built, found and kept apart."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.emulate import libraries
from kernel_pytorch.emulate.library_exports import blas_source, exported_name, missing_source, read_routines
from tests.emulate.libraries.conftest import Load

GEMM = """
import ctypes, sys
import numpy as np
hip = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
roc = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL)
solver = ctypes.CDLL(sys.argv[3], mode=ctypes.RTLD_GLOBAL)
handle, other, third = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipblasCreate(ctypes.byref(handle)) == 0
assert roc.rocblas_create_handle(ctypes.byref(other)) == 0
assert solver.hipsolverDnCreate(ctypes.byref(third)) == 0
n = 50
a = np.asfortranarray(np.random.default_rng(0).standard_normal((n, n)))
c, one, info = np.zeros((n, n), order="F"), np.ones(1), np.zeros(1, np.int32)
p = lambda array: ctypes.c_void_p(array.ctypes.data)
assert hip.hipblasDgemm(handle, 111, 112, n, n, n, p(one), p(a), n, p(a), n, p(one), p(c), n) == 0
np.testing.assert_allclose(c, a @ a.T, atol=1e-10)
print(hip.hipblasDgemm(handle, 5, 112, n, n, n, p(one), p(a), n, p(a), n, p(one), p(c), n))
print(roc.rocblas_dgemm(other, 5, 112, n, n, n, p(one), p(a), n, p(a), n, p(one), p(c), n))
print(solver.hipsolverDnDgeqrf(third, n, n, p(a), n, p(c), p(c), 1, p(info)))
"""


def run_gemm(load: Load, blas: str | None) -> subprocess.CompletedProcess[str]:
    for name in ("hipblas", "rocblas", "hipsolver"):
        load(name)
    directory = libraries.library_directory(["hipblas", "rocblas", "hipsolver"])
    paths = [str(directory / name) for name in ("libhipblas.so", "librocblas.so", "libhipsolver.so")]
    environment = {} if blas is None else {"KPT_EMULATE_BLAS": blas}
    return subprocess.run([sys.executable, "-c", GEMM, *paths], capture_output=True, text=True, env=environment)


def test_libraries_in_one_process_keep_their_own_status_codes(load: Load) -> None:
    done = run_gemm(load, None)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["10", "11"]  # HIPBLAS_STATUS_INVALID_ENUM, rocblas_status_invalid_value


def test_without_openblas_gemm_works_and_lapack_says_so(load: Load) -> None:
    done = run_gemm(load, "")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[2] == "7"  # HIPSOLVER_STATUS_NOT_SUPPORTED
    assert "scipy-openblas64" in done.stderr


@pytest.mark.parametrize("library", libraries.LIBRARIES, ids=lambda library: library.name)
def test_only_the_real_names_are_exported(load: Load, library: libraries.Library) -> None:
    load(library.name)
    path = libraries.library_directory([library.name]) / library.soname
    image = ctypes.CDLL(str(path))
    for name in libraries.declared_names(library):
        assert hasattr(image, name), name
    assert not hasattr(image, "_ZN3kpt8wait_forEPv")


def test_needed_libraries_reads_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF...\0libhipblas.so.3\0libc.so.6\0libhipfft.so.0\0")
    assert libraries.needed_libraries(program) == ("libhipblas.so.3", "libhipfft.so.0")


def test_names_of_libraries_in_every_spelling(load: Load) -> None:
    load("roctx64")
    directory = libraries.library_directory(["-lroctx64"])
    assert libraries.library_directory(["libroctx64.so.4"]) == directory
    assert libraries.library_directory(["libm.so.6"]).is_dir()  # not ours: passed over
    assert (directory / "libroctx64.so").exists()


def test_a_compiler_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPT_HOST_CXX", "false")
    with pytest.raises(libraries.LibraryBuildError, match="false"):
        libraries.library_directory(["roctx64"], cache=tmp_path)
    assert not list(tmp_path.rglob("*.o"))


def test_every_routine_of_the_table_is_in_both_headers() -> None:
    routines = read_routines((libraries.NATIVE / "blas" / "calls.txt").read_text())
    for library in libraries.LIBRARIES[:2]:
        names = set(libraries.declared_names(library))
        for routine in routines:
            for prefix, _ in routine.prefixes:
                assert exported_name(library.name, prefix, routine.name, "", wide=False) in names


def test_exports_are_written_once() -> None:
    routines = read_routines("axpy | s d | n *alpha x y!\namax | is:s | n x =I\n")
    names = ["hipblasSaxpy", "hipblasSaxpy_64", "hipblasDaxpyStridedBatched", "hipblasIsamax", "hipblasIsamax_64"]
    source = blas_source("hipblas", routines, names)
    assert sorted(re.findall(r"^int (\w+)\(", source, re.MULTILINE)) == sorted(names)
    assert "return hipblasSaxpy_64(handle, n, alpha, x, inc_x, y, inc_y);" in source
    assert "int *result" in source
    assert "int64_t *result" in source
    assert missing_source(["oneName"], 7).count("oneName") == 2


def test_roctx_counts_nesting(load: Load) -> None:
    roctx = load("roctx64")
    assert [roctx.roctxRangePushA(b"a"), roctx.roctxRangePushA(b"b")] == [0, 1]
    assert [roctx.roctxRangePop(), roctx.roctxRangePop(), roctx.roctxRangePop()] == [1, 0, -1]


def test_rocm_smi_without_a_runtime_has_no_devices(load: Load) -> None:
    smi = load("rocm_smi64")
    count = ctypes.c_uint32(9)
    assert smi.rsmi_init(ctypes.c_uint64(0)) == 0
    assert smi.rsmi_num_monitor_devices(ctypes.byref(count)) == 0
    assert count.value == 0
