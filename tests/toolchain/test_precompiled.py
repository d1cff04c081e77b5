"""Precompiled headers with the compiler that is here: all passes take them, and two of them share one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host, compile_device
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.precompiled import LeadingHeaders, PrecompiledHeaders

pytestmark = pytest.mark.slow


def test_every_pass_takes_them(tmp_path: Path) -> None:
    source, kept, toolchain = tmp_path / "a.hip", tmp_path / "kept", find_toolchain()
    source.write_text("#include <vector>\n__global__ void f(int* x) { x[0] = N; }\nstd::vector<int> v;\n")
    leading = LeadingHeaders(("vector",), PrecompiledHeaders(kept), (tmp_path,))
    options = CompileOptions(include_dirs=(tmp_path,), defines=("N=4",), leading=leading)
    check_host(source, toolchain, options)
    assert compile_device(source, "gfx942", toolchain, options)
    assert len(list(kept.glob("*.pch"))) == 2


def test_headers_that_are_not_there_leave_the_message_to_the_source(tmp_path: Path) -> None:
    source = tmp_path / "a.hip"
    source.write_text("#include <not_there.h>\n")
    leading = LeadingHeaders(("not_there.h",), PrecompiledHeaders(tmp_path / "kept"))
    with pytest.raises(CompileFailed, match=r"a\.hip:1:10: error: 'not_there.h' file not found"):
        check_host(source, find_toolchain(), CompileOptions(leading=leading))
