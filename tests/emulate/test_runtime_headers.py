"""hiprtc's own header: when it is read from a precompiled file, and that this changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pytorch.emulate.runtime_headers import HEADER, leading_header
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.precompiled import LeadingHeaders, PrecompiledHeaders
from kernel_pytorch.toolchain.program import build_device_code_text


@pytest.fixture
def toolchain(tmp_path: Path) -> Toolchain:
    """A toolchain whose HIP has one header, which looks at one name."""
    header = tmp_path / "include" / "hip" / "detail" / "types.h"
    header.parent.mkdir(parents=True)
    header.write_text("#ifdef HIP_ENABLE_WARP_SYNC_BUILTINS\n#endif\n")
    include = (tmp_path / "include",)
    return Toolchain("clang", ("clang",), None, "22", "", include, (), None, (), None, None, (), "")


@pytest.mark.parametrize(
    ("options", "is_shared"),
    [
        ((), True),
        (("-ffast-math", "-I/somewhere"), True),
        (("-DTILE=16", "-DBODY(x)=x"), True),
        (("-DHIP_ENABLE_WARP_SYNC_BUILTINS",), False),
        (("-DTILE=16", "-D__HIP_NO_HALF_OPERATORS__=1"), False),
        (("-DNDEBUG",), False),
        (("-D", "TILE=16"), False),
        (("-include", "mine.h"), False),
    ],
)
def test_the_header_is_parsed_where_an_option_may_change_it(
    options: tuple[str, ...], is_shared: bool, toolchain: Toolchain, tmp_path: Path
) -> None:
    leading = leading_header(options, tmp_path, toolchain)
    assert (leading is not None) == is_shared
    if leading is not None:
        assert leading.names == (HEADER,)
        assert set(leading.of_no_account) == {word for word in options if word.startswith("-D")}


@pytest.mark.slow
@pytest.mark.rocm_headers
def test_the_code_is_the_same_and_definitions_share_a_file(tmp_path: Path) -> None:
    toolchain = find_toolchain()
    source = (
        f"#include <{HEADER}>\n#line 1\n__global__ void f(float* x) {{ x[threadIdx.x + N] = warpSize * sinf(N); }}\n"
    )
    for number in (3, 4):
        options = CompileOptions(extra=(f"-DN={number}",))
        parsed = build_device_code_text(source, "gfx942", toolchain, options)
        store = PrecompiledHeaders(tmp_path / "kept")
        leading = LeadingHeaders((HEADER,), store, (tmp_path,), options.extra)
        read = build_device_code_text(source, "gfx942", toolchain, replace(options, leading=leading))
        assert read.code_object == parsed.code_object
    assert len(list((tmp_path / "kept").glob("*.pch"))) == 1
