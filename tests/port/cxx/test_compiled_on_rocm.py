"""What a ROCm build compiles of a file: a table of conditionals and the lines that are left."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_text, is_compiled, left_out, left_out_on_cuda
from kernel_pytorch.port.cxx.source import CxxFile, cxx_file
from kernel_pytorch.port.hipify.file import hipify_file

# Each line that is no directive is one word. Expected: the words that ROCm compiles, under some setting of the macros
# that nothing is known about.
TABLE = [
    # a literal decides
    ("#if 0|a|#endif|b", "b"),
    ("#if 1|a|#else|b|#endif", "a"),
    ("#if (0)|a|#elif 1|b|#else|c|#endif", "b"),
    ("#if !0|a|#else|b|#endif", "a"),
    ("#if !!0|a|#else|b|#endif", "b"),
    ("#if 2 > 1|a|#else|b|#endif", "a"),
    ("#if 010 == 8|a|#else|b|#endif", "a"),
    ("#if 0x10 != 16|a|#else|b|#endif", "b"),
    ("#if false|a|#elif true|b|#else|c|#endif", "b"),
    ("#if 0|a|#elif X|b|#else|c|#endif", "b c"),
    # somebody's gate
    ("#ifdef USE_ROCM|a|#else|b|#endif", "a"),
    ("#ifndef USE_ROCM|a|#else|b|#endif", "b"),
    ("#if USE_ROCM|a|#else|b|#endif", "a"),
    ("#if USE_ROCM == 1|a|#else|b|#endif", "a b"),
    ("#if !defined(__HIP_PLATFORM_AMD__)|a|#else|b|#endif", "b"),
    ("#if defined __HIPCC__|a|#else|b|#endif", "a"),
    ("#if defined(USE_ROCM) || defined(X)|a|#else|b|#endif", "a"),
    ("#if defined(X) || defined(Y)|a|#else|b|#endif", "a b"),
    ("#if !(defined(USE_ROCM) || defined(X))|a|#else|b|#endif", "b"),
    ("#if defined(X) && !defined(USE_ROCM)|a|#else|b|#endif", "b"),
    ("#if not defined(USE_ROCM) and defined(X)|a|#else|b|#endif", "b"),
    ("#if HIP_VERSION >= 60000|a|#else|b|#endif", "a b"),
    # the branch that was lost: ROCm compiles it wherever X is undefined
    ("#if defined(USE_ROCM) && defined(X)|a|#else|b|#endif", "a b"),
    ("#if defined(USE_ROCM) && X|a|#elif !defined(USE_ROCM)|b|#else|c|#endif", "a c"),
    # chains: what follows a branch that is certainly taken is left out, whatever came before it
    ("#if FOO|a|#elif defined(USE_ROCM)|b|#else|c|#endif", "a b"),
    ("#if FOO|a|#elif 0|b|#else|c|#endif", "a c"),
    ("#ifdef X|a|#elifdef USE_ROCM|b|#else|c|#endif", "a b"),
    ("#ifdef X|a|#elifndef USE_ROCM|b|#else|c|#endif", "a c"),
    ("#ifdef USE_ROCM|a|#elif FOO|b|#elif BAR|c|#else|d|#endif", "a"),
    # nested
    ("#ifndef USE_ROCM|a|#if X|b|#endif|c|#endif|d", "d"),
    ("#if X|a|#if 0|b|#else|c|#endif|#else|d|#if 1|e|#else|f|#endif|#endif", "a c d e"),
    ("#ifdef USE_ROCM|#ifdef X|a|#else|b|#endif|#else|c|#endif", "a b"),
    # CUDA's version is 12.0, where that chooses code that AMD can compile; cuDNN's is 0
    ("#if CUDA_VERSION >= 11000|a|#else|b|#endif", "a"),
    ("#if 11000 <= CUDA_VERSION|a|#else|b|#endif", "a"),
    ("#if CUDA_VERSION < 11000|a|#else|b|#endif", "b"),
    ("#ifdef CUDART_VERSION|a|#else|b|#endif", "a"),
    ("#if CUDNN_VERSION|a|#else|b|#endif", "b"),
    ("#if defined(CUDA_VERSION) && CUDA_VERSION >= 12000 && X|a|#else|b|#endif", "a b"),
    ("#if X || CUDA_VERSION >= 12000|a|#else|b|#endif", "a"),
    ("#if CUDA_VERSION >= 13000|a|#else|b|#endif", "b"),
    ("#if CUDA_VERSION >= 11000|asm|a|#else|b|#endif", "b"),
    ("#if CUDA_VERSION >= 11000|cudaGraphConditionalHandleCreate|a|#else|b|#endif", "b"),
    ("#if CUDA_VERSION >= 11000|#include <cuda_awbarrier.h>|a|#else|b|#endif", "b"),
    ("#if CUDA_VERSION >= 11000|#define A 1|#endif|b", "b"),
    ("#if CUDA_VERSION >= 11000 && __CUDA_ARCH__ >= 800|a|#else|b|#endif", "b"),
    ("#if CUDA_VERSION >= 11060|asm|a|#endif|#if CUDA_VERSION >= 11060|b|#endif", ""),
    ("#if CUDA_VERSION >= 11060|asm|a|#endif|#if CUDA_VERSION >= 11000|b|#endif", "b"),
    ("#if CUDA_VERSION >= 13000|a|#elif CUDA_VERSION >= 11000|b|#else|c|#endif", "b"),
    ("#define CUDA_VERSION 12000|#if CUDA_VERSION >= 11000|a|#else|b|#endif", "a b"),
    # a capability: KP220 rewrites tests up to 7.0, and the rest is 0
    ("#if __CUDA_ARCH__ >= 800|a|#else|b|#endif", "b"),
    ("#if __CUDA_ARCH__ < 800|a|#else|b|#endif", "a"),
    ("#if __CUDA_ARCH__ >= 700|a|#else|b|#endif", "a b"),
    ("#ifdef __CUDA_ARCH__|a|#else|b|#endif", "a b"),
    ("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900|a|#else|b|#endif", "b"),
    # each file is compiled for the host and for the device
    ("#ifdef __HIP_DEVICE_COMPILE__|a|#else|b|#endif", "a b"),
    ("#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)|a|#else|b|#endif", "a b"),
    # nothing is known
    ("#ifdef X|a|#else|b|#endif", "a b"),
    ("#if __has_include(<hip/hip_runtime.h>)|a|#else|b|#endif", "a b"),
    ("#if A(0)|a|#else|b|#endif", "a b"),
    ("#if CUDA_VERSION / 1000 == 12|a|#else|b|#endif", "a b"),
    ("#if !X > 5|a|#else|b|#endif", "a b"),
    ("#if defined(USE_ROCM) ? 0 : 1|a|#else|b|#endif", "a b"),
    ("#if 0 && X ? 0 : 1|a|#else|b|#endif", "a b"),
    ("#define USE_HIP 0|#if USE_HIP|a|#else|b|#endif", "a b"),
    ("#undef USE_ROCM|#ifdef USE_ROCM|a|#else|b|#endif", "a b"),
    ("#ifdef __HIP_PLATFORM_AMD__|#define USE_ROCM|#endif|#ifdef USE_ROCM|a|#else|b|#endif", "a"),
    # lines that go on, comments in conditions
    ("#if defined(X) \\|&& !defined(USE_ROCM)|a|#else|b|#endif", "b"),
    ("#if 0 // || 1|a|#else|b|#endif", "b"),
    ("#if /* 1 || */ 0|a|#else|b|#endif", "b"),
    ("#if 0 /* goes|on */ || 1|a|#else|b|#endif", "a"),
    ("#  if 0|a|#  else|b|#  endif", "b"),
    ("# /* why */ if 0|a|#else|b|#endif", "b"),
    ("#\\|if 0|a|#else|b|#endif", "b"),
    ("/* #if 0 */|a|/* #endif */", "a"),
    ("// CUDA_VERSION|#if FOO|a|#elif defined(USE_ROCM)|b|#else|c|#endif", "a b"),
    # code for newer GPUs, where there is none for older ones
    ("#if __CUDA_ARCH__ >= 800|a|#endif", "a"),
    ("#if __CUDA_ARCH__ >= 800|a|#else|assert(0);|#endif", "a"),
    ("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750|a|#endif", "a"),
    ("#if __CUDA_ARCH__ >= 800|a|#else|b|#endif", "b"),
    ("#if __CUDA_ARCH__ >= 900|a|#endif", ""),
    ("#if __CUDA_ARCH__ >= 800|a|asm(\"wgmma.fence;\");|#endif", ""),
    ("#if __CUDA_ARCH__ >= 800|a|asm volatile(\"cp.async.wait_all;\");|#endif", "a"),
    ("#if __CUDA_ARCH__ >= 800|a|#elif __CUDA_ARCH__ >= 750|b|#else|c|#endif", "c"),
    # what is no condition, and what does not end
    ("#if|a|#else|b|#endif", "a b"),
    ("#if defined|a|#else|b|#endif", "a b"),
    ("#if (0|a|#else|b|#endif", "a b"),
    ("#if 0)|a|#else|b|#endif", "a b"),
    ("#if CUDA_VERSION >= " + "9" * 5000 + "|a|#else|b|#endif", "a b"),
    ("#endif|a|#else|b", "a b"),
    ("#if 0|a", ""),
    ("#if 0|a|#else|b", "b"),
    ("a|#ifdef USE_ROCM|b|#else|c|#ifdef X|d|#endif", "a b"),
    ("#if X|a|#else|b|#else|c|#endif", "a b c"),
    ("", ""),
]  # fmt: skip


def written(text: str) -> CxxFile:
    return cxx_file("a.cu", text.replace("|", "\n").replace("\n\n", "||").encode() + b"\n")


def words(src: CxxFile) -> str:
    """The words of the lines that are no directive."""
    lines = compiled_text(src).decode().splitlines()
    return " ".join(line.strip() for line in lines if line.strip().isalpha())


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=lambda value: value[:60])
def test_what_is_compiled(text: str, expected: str) -> None:
    assert words(written(text)) == expected


@pytest.mark.parametrize("text", [text for text, _ in TABLE], ids=lambda value: value[:60])
def test_spans_are_in_order_and_hold_whole_lines(text: str) -> None:
    src = written(text)
    spans = left_out(src)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    for span in spans:
        assert src.data[span.start : span.start + 1] == b"\n"
        assert src.data[span.end : span.end + 1] in (b"#", b"")


def test_the_hosts_compiler_reads_plain_cxx_files() -> None:
    text = b"#ifdef __HIPCC__\na\n#else\nb\n#endif\n"
    assert words(cxx_file("a.cu", text)) == "a"
    assert words(cxx_file("a.h", text)) == "a b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#ifdef USE_ROCM|a|#else|b|#endif", "a"),
        ("#if defined(USE_ROCM) && defined(X)|a|#else|b|#endif", "a"),
        ("#if defined(__CUDACC__) || defined(__HIPCC__)|a|#else|b|#endif", ""),
        ("#if !defined(USE_ROCM) && X|a|#else|b|#endif", ""),
        ("#ifndef USE_ROCM|a|#else|b|#endif", "b"),
        ("#if HIP_VERSION >= 60000|a|#endif", "a"),
        ("#if CUDA_VERSION >= 11000|a|#else|b|#endif", ""),
    ],
)
def test_what_only_amd_compiles(text: str, expected: str) -> None:
    src = written(text)
    left = " ".join(src.data[span.start : span.end].decode().strip() for span in left_out_on_cuda(src))
    assert left == expected


def test_an_offset_is_compiled_or_not() -> None:
    src = written("#if 0|a|#else|b|#endif|c")
    assert [is_compiled(src, src.data.index(word)) for word in (b"a", b"b", b"c", b"#else")] == [
        False,
        True,
        True,
        True,
    ]


def test_deep_nesting_and_long_conditions_are_read() -> None:
    deep = written("#if X|" * 20_000 + "#if 0|a|#endif|b|" + "#endif|" * 20_000)
    assert words(deep) == "b"
    closed = written("#ifndef USE_ROCM|" + "#if X|" * 20_000 + "a|" + "#endif|" * 20_000 + "#endif|b")
    assert words(closed) == "b"
    assert len(left_out(closed)) == 1
    assert words(written("#if " + "X && " * 20_000 + "0|a|#else|b|#endif")) == "b"
    assert words(written("#if " + "(" * 20_000 + "0" + ")" * 20_000 + "|a|#else|b|#endif")) in ("b", "a b")
    assert words(written("#if " + "!" * 20_000 + "0|a|#else|b|#endif")) == "b"


def codes(text: bytes) -> set[str]:
    return {finding.code for finding in hipify_file(cxx_file("a.cu", text)).findings}


def test_a_ballot_that_rocm_compiles_is_reported() -> None:
    text = b"""__global__ void k(int* out) {
#if defined(USE_ROCM) && defined(X)
  out[0] = 1;
#else
  unsigned m = __ballot_sync(0xffffffff, out[threadIdx.x] > 0);
  out[0] = __popc(m);
#endif
}
"""
    assert codes(text) & {"KP301", "KP302", "KP303"}


@pytest.mark.parametrize("comment", [b"", b" // CUDA_VERSION"])
def test_a_comment_decides_nothing(comment: bytes) -> None:
    text = (
        b"#if FOO\n#elif defined(USE_ROCM)"
        + comment
        + b"\n#else\nvoid f() { cudaGraphConditionalHandleCreate(0, 0, 0, 0); }\n#endif\n"
    )
    assert "KP202" not in codes(text)


def test_macros_of_builds_for_one_gpu_are_never_defined() -> None:
    for macro in (
        "__CUDA_ARCH_SPECIFIC__ == 1200",
        "__CUDA_ARCH_FAMILY_SPECIFIC__",
        "defined(__CUDA_ARCH_FEAT_SM90_ALL)",
    ):
        assert words(written(f"#if {macro}|a|#else|b|#endif")) == "b"
