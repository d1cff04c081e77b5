"""mma.sync, ldmatrix, stmatrix and movmatrix: every form is translated, and its translation computes what PTX says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.launch import device_code
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.source import language_of
from kernel_pytorch.toolchain.compile import CompileOptions, check_host
from kernel_pytorch.toolchain.find import find_toolchain
from tests.port.mma import matrix_moves, mma_forms
from tests.port.mma.mma_forms import MODES, Form

FORMS = mma_forms.forms()
# Forms whose sums are made by different instructions; the other forms of a group differ in how they are unpacked.
GROUPS = {
    "f16": ("f16.f16",), "bf16": ("bf16",), "tf32": ("tf32",), "f64": ("f64",), "s8": (".s8", ".u8"),
    "s4": (".s4", ".u4"), "fp8": ("e4m3", "e5m2"), "b1": (".b1",),
}  # fmt: skip
# They differ in matrix units, dot products and the width of a wave.
TARGETS = ("mi300x", "rx7900xtx", "mi355x", "mi250x", "rx9070xt")


def ported(source: str) -> str:
    result = hipify_file(cxx_file("a.cu", source.encode()), None, HipifyOptions())
    left = [finding.message for finding in result.findings if not finding.edits]
    assert left == []
    return result.after.decode()


@cache
def forms_of(group: str) -> tuple[Form, ...]:
    return tuple(form for form in FORMS if any(word in form.name for word in GROUPS[group]))


def test_every_form_is_in_a_group() -> None:
    assert {form for group in GROUPS for form in forms_of(group)} == set(FORMS)


def test_every_form_is_translated() -> None:
    kernels = [mma_forms.kernel(form, number) for number, form in enumerate(FORMS)]
    kernels += [matrix_moves.kernel(move, number) for number, move in enumerate(matrix_moves.moves())]
    text = ported("\n".join(kernels))
    assert re.findall(r"\basm\b", text) == [] and set(re.findall(r"__asm__[^\"]*\"([^\"]*)", text)) == {""}
    for name in ("KPT_MMA", "KPT_MMA_M8N8K4", "KPT_LDMATRIX", "KPT_MOVMATRIX", "KPT_LANE"):
        assert text.count(f"#ifndef KPT_SHIM_{name}\n") == 1


@pytest.mark.parametrize(
    "name",
    [
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
    ],
)
def test_a_form_that_is_not_there_stays_a_finding(name: str) -> None:
    made = Form(16, 16, "f16", "f16", "f32")
    source = mma_forms.kernel(made, 0).replace(made.name, name)
    result = hipify_file(cxx_file("a.cu", source.encode()), None, HipifyOptions())
    assert [(finding.code, finding.edits) for finding in result.findings] == [("KP231", ())]
    assert name.encode() in result.after and b"kpt_mma" not in result.after


def test_bytes_of_floats_by_the_name_of_blackwell_are_the_same_product() -> None:
    form = Form(16, 32, "e4m3", "e5m2", "f32")
    source = mma_forms.kernel(form, 0)
    renamed = source.replace(".row.col.", ".row.col.kind::f8f6f4.")
    assert renamed != source and ported(renamed) == ported(source)


def test_reads_of_ldmatrix_stay_before_the_barrier_that_follows() -> None:
    """LLVM 22 moves a read of LDS into the branch that uses it, past the barrier between (issue 181708)."""
    source = """extern "C" __global__ void __launch_bounds__(128) k(const uint4* in, unsigned* out, int count) {
  extern __shared__ uint4 rows[];
  rows[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  unsigned word, address = (unsigned)__cvta_generic_to_shared(rows + (threadIdx.x ^ 33));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(word) : "r"(address));
  __syncthreads();
  if (count > 0) {
    rows[threadIdx.x] = in[threadIdx.x + 128];
    __syncthreads();
    out[threadIdx.x] = word + rows[count].x;
  }
}"""
    assembly = device_code(ported(source), "mi300x").assembly
    order = re.findall(r"^\s+(s_barrier|ds_read|ds_write)", assembly, re.MULTILINE)
    assert order[:4] == ["ds_write", "s_barrier", "ds_read", "s_barrier"]


def test_a_header_with_nothing_but_ptx_is_read() -> None:
    form = Form(16, 16, "f16", "f16", "f32")
    text = f"#define MULTIPLY(a, b, c, d) {mma_forms.asm(form)}\n".encode()
    assert language_of("ptx.h", text) == "cuda"
    assert language_of("words.h", b'const char* name = "mma";\n') == "c++"


def test_the_model_can_fail() -> None:
    form = Form(16, 16, "f16", "f16", "f32")
    drawn = mma_forms.draw(form, 0, exact=True)
    assert mma_forms.difference(form, drawn, drawn.exact, 0) == ""
    swapped = drawn.exact[:, :, [1, 0, 2, 3]]
    assert "differ" in mma_forms.difference(form, drawn, swapped, 0)


@pytest.fixture(scope="module", params=TARGETS)
def gpu(request: pytest.FixtureRequest) -> Iterator[EmulatedDevice]:
    with EmulatedDevice(request.param) as device:
        yield device


def differences(gpu: EmulatedDevice, group: str, before: str = "") -> list[str]:
    """What is wrong with the products of a group, in every mode of participation."""
    forms = forms_of(group)
    text = ported("\n".join(mma_forms.kernel(form, number) for number, form in enumerate(forms)))
    code = device_code(before + text, gpu.gpu)
    wrong = []
    for number, form in enumerate(forms):
        kernel = gpu.load(code.code_object, f"mma{number}", code.assembly)
        for exact in (True, False):
            drawn = mma_forms.draw(form, number, exact)
            results = []
            for first, second in MODES:
                out = np.zeros((mma_forms.WARPS * mma_forms.LANES, form.registers[2]), np.int64)
                kernel.launch(1, len(out), drawn.slots.astype(np.int64), out, np.int32(first), np.int32(second))
                results.append(out)
            got = mma_forms.unpacked(form, np.stack(results))
            # f32 rounds once for each product; f64's sums are exact here, or nearly.
            allowed = 0.0 if exact else form.k * 2.0**-23
            wrong.append(mma_forms.difference(form, drawn, got, allowed))
    return [one for one in wrong if one]


@pytest.mark.slow
@pytest.mark.parametrize("group", list(GROUPS))
def test_products(gpu: EmulatedDevice, group: str) -> None:
    assert differences(gpu, group) == []


@pytest.mark.slow
@pytest.mark.parametrize("group", ["f16", "bf16", "s8", "fp8"])
def test_products_by_wmma(gpu: EmulatedDevice, group: str) -> None:
    if gpu.gpu.target.wave_size == 64:
        pytest.skip("WMMA is an instruction of RDNA3 and RDNA4")
    assert differences(gpu, group, "#define KPT_MMA_WMMA\n") == []


@pytest.mark.slow
@pytest.mark.parametrize("group", ["f16", "s8"])
def test_products_that_share_their_moves(gpu: EmulatedDevice, group: str) -> None:
    if gpu.gpu.target.wave_size == 64:
        pytest.skip("the matrix unit of CDNA has no such moves")
    assert differences(gpu, group, "#define KPT_MMA_SHARE\n") == []


@pytest.mark.slow
def test_moves(gpu: EmulatedDevice) -> None:
    made = matrix_moves.moves()
    code = device_code(
        ported("\n".join(matrix_moves.kernel(move, number) for number, move in enumerate(made))), gpu.gpu
    )
    data = np.random.default_rng(0).integers(0, 1 << 32, (128, 4), dtype=np.uint32)
    for number, move in enumerate(made):
        kernel = gpu.load(code.code_object, f"move{number}", code.assembly)
        for mode in MODES:
            out = np.zeros_like(data)
            kernel.launch(1, 64, data, out, np.int32(mode[0]), np.int32(mode[1]))
            assert (out == matrix_moves.expected(move, data, mode)).all(), (move, mode)


def test_an_address_of_shared_memory_compiles_for_the_host_too(tmp_path: Path) -> None:
    """The host's pass reads device code, and its pointers have 64 bits."""
    source = """__device__ unsigned place(const void* p) {
  unsigned at;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(at) : "l"(p));
  return at;
}"""
    (tmp_path / "a.hip").write_text(ported(source))
    check_host(tmp_path / "a.hip", find_toolchain(), CompileOptions(), "gfx942")
