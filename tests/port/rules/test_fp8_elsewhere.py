"""The FP8 rules are silent where the type is not ours to choose: other hardware's files, NVIDIA's own formats."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.source import source_file

SOURCE = b"""\
import torch


def quantize(x, raw, a, b, s):
    scale = x.abs().amax() / 448.0
    y = (x / scale).to(torch.float8_e4m3fn)
    return y, raw.view(torch.float8_e4m3fn), torch._scaled_mm(a, b, scale_a=s, scale_b=s)
"""


def codes(path: str, source: bytes = SOURCE) -> set[str]:
    return {finding.code for finding in port_plain_file(source_file(path, source), PortOptions()).findings}


def test_in_a_file_like_any_other() -> None:
    assert codes("pkg/layers/fp8.py") == {"KP541", "KP542", "KP543", "KP544"}


@pytest.mark.parametrize("path", ["backends/gaudi/fp8.py", "layers/attention/ipex.py", "layers/attention/rocm.py"])
def test_other_hardware(path: str) -> None:
    assert codes(path) == set()


def test_formats_of_nvidia() -> None:
    assert codes("pkg/nvfp4/quantize.py") == {"KP544"}
    assert codes("pkg/quantize.py", b"import cutlass.cute as cute\n" + SOURCE) == {"KP510"}
