"""The decoder kernel is built for Hopper by Triton's own assembler. Its numbers: tests/hw/test_decoder_nvidia.py."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.perf.decode.hopper.decoder_shape import DecoderShape

pytest.importorskip("triton.experimental.gluon")

SHARED_MEMORY = 232448  # bytes a block may have on compute capability 9.0
SHAPES = {
    "1.1B, 132 multiprocessors": DecoderShape(22, 2048, 5632, 32000, 32, 4, 512, True, 132),
    "keys in chunks, a long MLP, 114 multiprocessors": DecoderShape(
        16, 2048, 14336, 128256, 32, 8, 2048, False, 114, stages=5
    ),
}


def built(shape: DecoderShape) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon._runtime import GluonASTSource

    from kernel_pytorch.perf.decode.hopper.decoder_kernel import decoder

    view = f"tensordesc<bf16[4, 8, 64],{gl.NVMMASharedLayout(128, 16, 3)!r}>"
    pointers = {"out": "*i32", "calls_ptr": "*i64", "words": "*i64", "residual": "*fp32", "position_ptr": "*i64"}
    pointers |= {"bias": "*bf16"}
    types = {}
    for name in decoder.arg_names:
        if name.startswith("by_"):
            types[name] = view
        elif name in ("scale", "epsilon"):
            types[name] = "fp32"
        elif name in ("bias_head", "bias_key", "cache_head"):
            types[name] = "i32"
        else:
            types[name] = "constexpr" if name == "S" else pointers.get(name, "*i32")
    names = list(types)
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in names if types[name].startswith("*")}
    source = GluonASTSource(decoder, types, {(names.index("S"),): shape}, aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})


def resources(cubin: bytes, folder: Path) -> str:
    """What the assembler used, by the tool that comes with Triton."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    (folder / "decoder.cubin").write_bytes(cubin)
    command = [str(tool), "-res-usage", str(folder / "decoder.cubin")]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


LARGE, MANY_BRANCHES = SHAPES


@pytest.mark.parametrize("name", [MANY_BRANCHES, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_it_is_built_for_hopper(name: str, tmp_path: Path) -> None:
    kernel = built(SHAPES[name])
    assert kernel.asm["cubin"] and kernel.metadata.shared <= SHARED_MEMORY
    text = kernel.asm["ptx"]
    assert "cp.async.bulk.tensor.3d" in text and "mma.sync.aligned.m16n8k16" in text
    # What others write is never read from a cache of this multiprocessor, and two words at a time.
    assert re.search(r"ld\.relaxed\.gpu\.global\.v2\.b64", text)
    assert "STACK:0 " in resources(kernel.asm["cubin"], tmp_path), "registers are spilled"
