"""Which identifiers count as CUDA names, and which do not."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.names.table import arguments, find_name, header_rows, names_used, own_names


def used(text: str, own: frozenset[bytes] | None = None) -> list[str]:
    src = cxx_file("a.cu", text.encode())
    uses, _ = names_used(src, own_names(src) if own is None else own)
    return [use.name.cuda for use in uses]


def test_rows_say_what_they_are() -> None:
    name = find_name(b"cudaMalloc")
    assert name is not None
    assert (name.hip, name.kind, name.library, name.status) == ("hipMalloc", "function", "runtime", "ok")
    assert find_name(b"cudaNotAThing") is None
    assert header_rows()["cublas_v2.h"].hip == "hipblas/hipblas.h"
    # Parts of CUDA's headers that programs include by themselves.
    assert header_rows()["curand_mtgp32dc_p_11213.h"].hip == "rocrand/rocrand_mtgp32_11213.h"
    assert header_rows()["cupti_activity.h"].status == "none"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cudaFree(p);", ["cudaFree"]),
        ("::cudaFree(p);", ["cudaFree"]),
        ('f("cudaFree"); // cudaFree', []),
        ("pool.cudaFree(p); pool->cudaFree(p);", []),
        ("mine::cudaFree(p); mine<int>::cudaFree(p);", []),
        (
            "if (cudaSuccess != cudaFree(p)) return cudaErrorInvalidValue;",
            ["cudaSuccess", "cudaFree", "cudaErrorInvalidValue"],
        ),
        ("switch (e) { case cudaErrorInvalidValue: break; }", ["cudaErrorInvalidValue"]),
        ("else cudaFree(p);", ["cudaFree"]),
        ("std::vector<cudaStream_t> s;", ["cudaStream_t"]),
        ("struct cudaDeviceProp prop;", ["cudaDeviceProp"]),
        ("f((cudaStream_t)0, const cudaStream_t s);", ["cudaStream_t", "cudaStream_t"]),
        ("cub::BlockReduce<int, 256> r; int cub = 1; cub++;", ["cub"]),
        ("typedef ::cub::BlockReduce<int, 256> R; using L = ::cub::BlockLoad<int, 1>;", ["cub", "cub"]),
        ("using namespace cub; namespace c = cub;", ["cub", "cub"]),
    ],
)
def test_what_counts(text: str, names: list[str]) -> None:
    assert used(text) == names


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("#define cudaFree(x) pool_free(x)\ncudaFree(p);", b"cudaFree"),
        ("cudaError_t cudaFree(void *p) { return pool(p); }", b"cudaFree"),
        ("namespace op { template <class T>\ntypename A<T>::type\ncurand(T *p, int n) { g(p, n); } }", b"curand"),
        ("cudaError_t cudaError = f();", b"cudaError"),
        ("void f(int cudaError, int b);", b"cudaError"),
        ("typedef hipStream_t cudaStream_t;", b"cudaStream_t"),
        ("struct cudaPitchedPtr { int a; };", b"cudaPitchedPtr"),
    ],
)
def test_names_the_project_declares_are_its_own(text: str, own: bytes) -> None:
    src = cxx_file("a.cu", text.encode())
    assert own_names(src) == {own}
    assert own.decode() not in used(text)


@pytest.mark.parametrize(
    "text",
    [
        "cudaStream_t s; f(s);",
        "static cudaStream_t streams[4];",
        "extern cudaError_t cudaFree(void *);",
        "return cudaFree(p);",
        "if (cudaFree(p)) { }",
        "__global__ void k() { cudaFree(p); }",
        "#ifdef cudaFree\n#endif",
    ],
)
def test_uses_are_not_declarations(text: str) -> None:
    assert own_names(cxx_file("a.cu", text.encode())) == frozenset()


def test_pasted_names_are_listed_and_not_renamed() -> None:
    src = cxx_file("a.cu", b"#define CALL(x) cuda##x()\n#define B(t) cublas##t##gemm\n#define C(x) my##x\n")
    uses, pasted = names_used(src)
    assert not uses
    assert [piece.text for piece in pasted] == [b"cuda", b"cublas"]


def test_arguments_of_a_call() -> None:
    src = cxx_file("a.cu", b"f(a, g(b, c), {d, e}[0]);")
    assert arguments(src.data, src.code, 1) is not None
    spans = arguments(src.data, src.code, 1) or []
    assert [src.data[start:end] for start, end in spans] == [b"a", b"g(b, c)", b"{d, e}[0]"]
    broken = cxx_file("a.cu", b"f(a, (b")
    assert arguments(broken.data, broken.code, 1) is None
