"""How many threads a kernel's blocks have: what a launch may say it with."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.wave.block_sizes import threads_of

BEFORE = """
constexpr int kLanes = 32;
constexpr int kWarps = 4;
#define THREADS (32 * kWarps)
struct Config { static constexpr int kThreads = 192; };
constexpr int threads_for(int warps) { return warps * kLanes; }
int pick(int d) { if (d > 64) return 256; return 128; }
dim3 shape() { return dim3(32, 8); }
template <int Warps, class Traits> __global__ void k(float* p) {}
"""


def found(launches: str) -> str | None:
    file = cxx_file("a.cu", (BEFORE + launches).encode())
    size = threads_of(b"k", ["Warps", "Traits"], unit_of(file))
    return None if size is None else size.text


@pytest.mark.parametrize(
    ("block", "threads"),
    [
        ("256", "256"),
        ("THREADS", "128"),
        ("dim3(kLanes, kWarps)", "128"),
        ("dim3{32, 2, 2}", "128"),
        ("Config::kThreads", "192"),
        ("threads_for(kWarps)", "128"),
        ("pick(n)", "256"),
        ("shape()", "256"),
        ("n > 4 ? 64 : 128", "128"),
        ("std::min(n, 256)", "256"),
        ("std::max(64, kWarps * 32)", "128"),
        ("n", None),
        ("2 * n", None),
        ("std::max(n, 64)", None),
        ("256 - pick(n)", None),
    ],
)
def test_a_block_by_an_expression(block: str, threads: str | None) -> None:
    assert found(f"void f(int n, float* p) {{ k<1, Config><<<1, {block}>>>(p); }}") == threads


@pytest.mark.parametrize(
    ("before", "threads"),
    [
        ("dim3 block(kLanes, kWarps);", "128"),  # reads as the declaration of a function
        ("dim3 block(32, 4);", "128"),
        ("const dim3 block = {32, 4};", "128"),
        ("auto block = dim3(32, 4);", "128"),
        ("int block = 64; if (n) block = 128;", "128"),
        ("const int block = THREADS;", "128"),
        ("dim3 block(32, 4); block.y = n;", None),
        ("int block = 64; block *= 2;", None),
        ("int block; cudaOccupancyMaxPotentialBlockSize(&n, &block, k<1, Config>);", None),
        ("int block = n;", None),
    ],
)
def test_a_block_by_a_variable(before: str, threads: str | None) -> None:
    assert found(f"void f(int n, float* p) {{ {before} k<1, Config><<<1, block>>>(p); }}") == threads


def test_parameters_that_go_on_to_the_kernel_stay_in_its_own_words() -> None:
    launch = "template <class T, int N> void f(float* p) { dim3 block(kLanes, N); k<N, T><<<1, block>>>(p); }"
    assert found(launch) == "32 * Warps"
    launch = "template <class T, int N> void f(float* p) { k<N, T><<<1, T::kThreads>>>(p); }"
    assert found(launch) == "Traits::kThreads"


def test_parameters_that_do_not_go_on_are_taken_from_all_instantiations() -> None:
    launch = "template <int Threads> void f(float* p) { k<1, Config><<<1, Threads>>>(p); }\n"
    calls = "void g(float* p) { f<64>(p); f<THREADS>(p); }\n"
    assert found(launch + calls) == "128"
    assert found(launch + calls + "template void f<160>(float*);") == "160"
    assert found(launch + "template <int M> void g(float* p) { f<M>(p); }") is None


def test_two_launches_have_the_larger_one() -> None:
    assert found("void f(float* p) { k<1, Config><<<1, 64>>>(p); k<2, Config><<<1, 96>>>(p); }") == "96"
    launch = "template <int N> void f(float* p) { k<N, Config><<<1, 32 * N>>>(p); k<N, Config><<<1, 64>>>(p); }"
    assert found(launch) == "((32 * Warps) > (64) ? (32 * Warps) : (64))"


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("auto kernel = k<1, Config>; kernel<<<1, 64>>>(p);", "64"),
        ("auto* kernel = &k<1, Config>; cudaFuncSetAttribute(kernel, a, 3); kernel<<<1, 64>>>(p);", "64"),
        ("auto kernel = k<1, Config>; elsewhere(kernel);", None),
        ("cudaLaunchKernel((void*)k<1, Config>, dim3(1), dim3(32, 2), args, 0, 0);", "64"),
        ("elsewhere(k<1, Config>); k<1, Config><<<1, 64>>>(p);", None),
        ("cudaFuncSetAttribute(k<1, Config>, a, 3); k<1, Config><<<1, 64>>>(p);", "64"),
    ],
)
def test_a_kernel_by_its_address(body: str, threads: str | None) -> None:
    assert found(f"void f(float* p, void** args) {{ {body} }}") == threads


def test_declarations_and_no_launch_say_nothing() -> None:
    assert found("") is None
    launch = "void f(float* p) { k<1, Config><<<1, 64>>>(p); }"
    assert found("template <int Warps, class Traits> __global__ void k(float* p);\n" + launch) == "64"
    assert found("template __global__ void k<3, Config>(float* p);\n" + launch) == "64"


def test_a_constant_of_the_same_file_comes_first() -> None:
    text = "#define THREADS {}\n__global__ void {}(float* p) {{}}\nvoid f(float* p) {{ {}<<<1, THREADS>>>(p); }}"
    files = [cxx_file(f"{name}.cu", text.format(size, name, name).encode()) for name, size in (("a", 64), ("b", 128))]
    found = [threads_of(name, [], unit_of(*files)) for name in (b"a", b"b")]
    assert [size and size.value for size in found] == [64, 128]
