from __future__ import annotations

import pytest

from kernel_pytorch.verify.isolation.cmake import compare_cmake, read_commands
from kernel_pytorch.verify.isolation.verdict import Isolation

OLD = "project(x LANGUAGES CXX CUDA)\nadd_library(a a.cu)\ntarget_link_libraries(a CUDA::cublas)\n"

PROVEN = {
    "option and gate": (
        OLD,
        'option(USE_HIP "for AMD" OFF)\nif(USE_HIP)\n  project(x LANGUAGES CXX HIP)\nelse()\n'
        "  project(x LANGUAGES CXX CUDA)\n"
        "endif()\nadd_library(a a.cu)\nif(NOT USE_HIP)\n  target_link_libraries(a CUDA::cublas)\nendif()\n",
    ),
    "elseif": (
        "if(A)\n x()\nelse()\n y()\nendif()",
        "if(USE_ROCM)\n z()\nelseif(A)\n x()\nelse()\n y()\nendif()",
    ),
    "or of gates": ("x()", "if(USE_HIP OR USE_ROCM)\n y()\nelse()\n x()\nendif()"),
    "and with another": ("x()", "if(USE_HIP AND FOO)\n y()\nendif()\nx()"),
    "case, comments, layout": ("Add_Library(a b)", "# c\nadd_library( a\n  b ) #[[ d ]]"),
    "variable reference": ("x()", "if(${USE_HIP})\n y()\nendif()\nx()"),
    "language by name": ("x()", 'if(GPU_LANG STREQUAL "HIP")\n y()\nelseif(GPU_LANG STREQUAL "CUDA")\n x()\nendif()'),
    "not, and another": ("if(X)\n x()\nendif()", "if(NOT USE_HIP AND (X))\n x()\nendif()"),
    "not, or another": ("x()", "if(NOT USE_HIP OR X)\n x()\nendif()"),
    "nested": ("x()", "if(USE_HIP)\n if(Q)\n  y()\n else()\n  z()\n endif()\nendif()\nx()"),
}
CHANGED = {
    "gate on by default": ("x()", 'option(USE_HIP "for AMD" ON)\nx()'),
    "ungated": (OLD, OLD + "find_package(hip)\n"),
    "argument": ("x(a)", "x(b)"),
    "case of an argument": ("x(a)", "x(A)"),
    "swapped": ("x()", "if(USE_HIP)\n x()\nelse()\n y()\nendif()"),
    "condition of others": ("if(A)\n x()\nendif()", "if(B)\n x()\nendif()"),
    "not binds closer than and": ("x()", "if(NOT USE_HIP AND X)\n x()\nendif()"),
    "gone": ("x()\ny()", "x()"),
    "quoted": ('x("a b")', "x(a b)"),
}


@pytest.mark.parametrize("name", PROVEN)
def test_proven(name: str) -> None:
    old, new = PROVEN[name]
    verdict = compare_cmake("CMakeLists.txt", old.encode(), new.encode())
    assert verdict.verdict is Isolation.PROVEN, verdict


@pytest.mark.parametrize("name", CHANGED)
def test_changed(name: str) -> None:
    old, new = CHANGED[name]
    assert compare_cmake("CMakeLists.txt", old.encode(), new.encode()).verdict is Isolation.CHANGED


def test_undecided_is_not_proven() -> None:
    new = "if(HIP_VERSION VERSION_GREATER 6)\n y()\nelse()\n x()\nendif()"
    assert compare_cmake("CMakeLists.txt", b"x()", new.encode()).verdict is Isolation.NOT_PROVEN


def test_brackets_that_do_not_match() -> None:
    assert read_commands("x(") is None
    assert compare_cmake("a.cmake", b"x(", b"x(y").verdict is Isolation.NOT_PROVEN
