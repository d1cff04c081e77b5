"""Which library of ROCm has a kernel like the one in a file, judged by the words that the file uses."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import PurePosixPath

from kernel_pytorch.port.cxx.source import CxxFile, read_once

# The first kind whose words are in the file's name, in its folder's, in a kernel's, or in its text often enough.
_KINDS = (
    (
        re.compile(rb"(?<![a-z])mla(?![a-z])|attn|attention|fmha|flash", re.I),
        "attention: AITER or ck_tile's fmha, or Triton's kernels",
    ),
    (
        re.compile(rb"(?<![a-z])moe|grouped_?gemm|expert", re.I),
        "grouped GEMM: AITER's fused MoE or ck_tile's grouped GEMM",
    ),
    (re.compile(rb"conv(?:olution|\d?d|_fprop|_dgrad)|implicit_?gemm", re.I), "convolution: MIOpen or ck_tile"),
    (
        re.compile(rb"dequant|w[48]a(?:8|16)|int4|fp4|gptq|awq|marlin|scaled_mm|blockwise|per_token|f8|fp8", re.I),
        "quantised GEMM: hipBLASLt (FP8, INT8 with scales), AITER or ck_tile for 4-bit weights",
    ),
    (re.compile(rb"gemm|matmul|linear", re.I), "GEMM: hipBLASLt, or ck_tile where the epilogue is the file's own"),
)
_OFTEN = 5
_KERNEL = re.compile(rb"__global__(?:[^;{}(]|\b__\w+__\s*\([^;{}()]*\))*?\b((?!__)\w+)\s*\(")


@read_once
def nearest_kernel(src: CxxFile) -> str | None:
    """What the file computes and who has it on AMD; None where no kind shows."""
    path = PurePosixPath(src.path)
    places = [name.encode("utf-8", "surrogateescape") for name in (path.name, path.parent.name)]
    for name in (*places, b" ".join(_KERNEL.findall(src.data))):
        for words, kind in _KINDS:
            if words.search(name):
                return kind
    for words, kind in _KINDS:
        if len(list(islice(words.finditer(src.data), _OFTEN))) == _OFTEN:
            return kind
    return None
