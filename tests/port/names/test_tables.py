"""The table of names: well-formed rows, known statuses, reasons for exceptions."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import kernel_pytorch.port.tables
from kernel_pytorch.port.names.shims import shims
from kernel_pytorch.port.names.table import Name, find_name
from kernel_pytorch.port.tables import read_table

TABLES = Path(kernel_pytorch.port.tables.__file__).parent
KINDS = {"function", "type", "enum", "macro", "header", "namespace", "template", "device-function"}
STATUSES = {"ok", "signature", "deprecated", "none"}


def rows() -> list[Name]:
    lines = (TABLES / "cuda_names.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "cuda,hip,kind,library,status,since,note"
    return [Name(*line.split(",", 6)) for line in lines[1:]]


def test_rows_are_well_formed_and_unique() -> None:
    seen: set[str] = set()
    for row in rows():
        assert row.kind in KINDS, row
        assert row.status in STATUSES, row
        assert bool(row.hip) == (row.status != "none"), row
        assert row.cuda != row.hip, row
        assert '"' not in row.note and "," not in row.note, row
        assert row.cuda not in seen, row
        seen.add(row.cuda)
    assert len(seen) > 9000


def test_rows_are_sorted() -> None:
    names = [row.cuda for row in rows()]
    assert names == sorted(names)


def test_every_exception_has_a_reason_and_is_in_the_table() -> None:
    table = {row.cuda: row for row in rows()}
    with (TABLES / "name_exceptions.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            assert line["reason"].strip(), line
            assert table[line["cuda"]].hip == line["hip"], line


def test_well_known_pairs() -> None:
    expected = {
        "cudaMemcpyAsync": "hipMemcpyAsync",
        "cudaDeviceProp": "hipDeviceProp_t",
        "cuLaunchKernel": "hipModuleLaunchKernel",
        "CUDA_ERROR_OUT_OF_MEMORY": "hipErrorOutOfMemory",
        "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": "hipDeviceAttributeMultiprocessorCount",
        "CUBLAS_COMPUTE_32F": "HIPBLAS_COMPUTE_32F",
        "cublasSgemm_v2": "hipblasSgemm",
        "cufftExecC2C": "hipfftExecC2C",
        "curand_init": "hiprand_init",
        "cusparseSpMV": "hipsparseSpMV",
        "cusolverDnSgetrf": "hipsolverDnSgetrf",
        "nvrtcCompileProgram": "hiprtcCompileProgram",
        "nvtxRangePushA": "roctxRangePushA",
        "cuCmulf": "hipCmulf",
        "__nv_bfloat16": "__hip_bfloat16",
        "__nv_fp8_e4m3": "__hip_fp8_e4m3",
        "CUDA_R_16BF": "HIP_R_16BF",
        "CUDART_INF_F": "HIP_INF_F",
    }
    for cuda, hip in expected.items():
        name = find_name(cuda.encode())
        assert name is not None and name.hip == hip, (cuda, name)


def test_names_without_counterpart_are_in_the_table() -> None:
    for cuda in (
        "cudaGraphConditionalHandleCreate",
        "cudaTriggerProgrammaticLaunchCompletion",
        "cuTensorMapEncodeTiled",
        "__dp4a",
    ):
        name = find_name(cuda.encode())
        assert name is not None and name.hip == "" and name.status == "none", cuda


def test_names_of_rccl_stay() -> None:
    assert find_name(b"ncclAllReduce") is None


def test_every_shim_is_for_a_name_without_counterpart() -> None:
    for name in shims():
        if b"::" not in name and b"(" not in name and not name.startswith(b"kpt_"):
            row = find_name(name)
            assert row is not None and not row.hip, name


def test_every_file_of_shims_is_read() -> None:
    written = {
        name
        for file in (TABLES / "hip_shims").iterdir()
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("//: ")
        for name in line.removeprefix("//: ").partition(" < ")[0].split()
    }
    assert {name.decode() for name in shims()} == written


@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        ("CUDA_ERROR_NOT_INITIALIZED", "hipErrorNotInitialized"),  # HIP_ERROR_NOT_INITIALIZED has another value
        ("CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure"),
        ("cudaArray", "hipArray"),  # a structure; hipArray_t is the pointer to it
        ("CUstream_st", "ihipStream_t"),
        ("CUuserObject", "hipUserObject_t"),
        ("cublasDgemm_v2_64", "hipblasDgemm_64"),  # 64-bit sizes keep their 64 bits
        ("cublasGetMatrix_64", ""),
        ("CUDA_LAUNCH_PARAMS", "hipFunctionLaunchParams"),
        ("cuGraphAddMemcpyNode", "hipDrvGraphAddMemcpyNode"),
        ("cusparseDcsrmv", "hipsparseDcsrmv"),
        ("CUmemLocation_st", "hipMemLocation"),
    ],
)
def test_partners_are_chosen_by_value_width_and_parameters(cuda: str, hip: str) -> None:
    row = find_name(cuda.encode())
    assert row is not None and row.hip == hip


def test_no_row_answers_whether_a_header_was_included() -> None:
    guards = read_table("header_guards.csv")
    assert len(guards) > 80
    assert {row["hip"] for row in guards if row["cuda"] == "CUBLAS_API_H_"} == {"HIPBLAS_H"}
    assert not [row["cuda"] for row in guards if find_name(row["cuda"].encode()) is not None]


@pytest.mark.parametrize(
    ("cuda", "instead"),
    [
        ("cudaGraphConditionalHandleCreate", "branch on the host between two graphs"),
        ("cudaLimitPersistingL2CacheSize", "leave the call out"),
        ("cudaCtxResetPersistingL2Cache", "leave the call out"),
        ("cudaLaunchAttributeClusterDimension", "work with single blocks"),
        ("__cluster_dims__", "work in one block"),
        ("cuMulticastCreate", "reduce with RCCL"),
        ("cuGreenCtxCreate", "hipExtStreamCreateWithCUMask"),
    ],
)
def test_a_name_without_counterpart_says_what_to_do_instead(cuda: str, instead: str) -> None:
    row = find_name(cuda.encode())
    assert row is not None and row.status == "none" and instead in row.note
