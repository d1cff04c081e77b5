"""Precompiled headers with the compiler that is here: all passes take them, and two of them share one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host, compile_device, compile_host
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.precompiled import LeadingHeaders, PrecompiledHeaders, without_project

pytestmark = pytest.mark.slow


def test_every_pass_takes_them(tmp_path: Path) -> None:
    source, kept, toolchain = tmp_path / "a.hip", tmp_path / "kept", find_toolchain()
    includes = "#include <vector>\n#include <hip/hip_runtime.h>\n"
    source.write_text(f"{includes}__global__ void f(int* x) {{ x[0] = N; }}\nstd::vector<int> v;\n")
    leading = LeadingHeaders(("vector",), PrecompiledHeaders(kept), (tmp_path,))
    options = CompileOptions(include_dirs=(tmp_path,), defines=("N=4",), leading=leading)
    check_host(source, toolchain, options)
    assert compile_device(source, "gfx942", toolchain, options)
    assert compile_host(source, toolchain, options)
    assert len(list(kept.glob("*.pch"))) == 3


def test_folders_of_the_project_do_not_count(tmp_path: Path) -> None:
    own, other = tmp_path / "own", Path("/opt/other")
    command = ["clang", f"-I{own}/csrc", "-I", str(own), f"-I{other}", "-DN=4", "-DTORCH_EXTENSION_NAME=a"]
    assert without_project(command, (own,)) == ["clang", "-I", str(other), "-DN=4"]


def test_headers_that_are_not_there_leave_the_message_to_the_source(tmp_path: Path) -> None:
    source = tmp_path / "a.hip"
    source.write_text("#include <not_there.h>\n")
    leading = LeadingHeaders(("not_there.h",), PrecompiledHeaders(tmp_path / "kept"))
    with pytest.raises(CompileFailed, match=r"a\.hip:1:10: error: 'not_there.h' file not found"):
        check_host(source, find_toolchain(), CompileOptions(leading=leading))
