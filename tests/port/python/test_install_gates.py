"""A repair of the install does not undo a gate that the port wrote."""

from __future__ import annotations

import ast

import pytest

from kernel_pytorch.port.python.install_gates import gated_condition
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.source import source_file

ORIGINAL = b"import torch\nflags = nvcc_flags\nhas_gpu = home is not None\n"
PORTED = b"import torch\nflags = hip_flags(nvcc_flags) if IS_ROCM else nvcc_flags\nhas_gpu = home is not None\n"


@pytest.mark.parametrize(("condition", "is_gated"), [("IS_ROCM", False), ("home is not None", True)])
def test_own_gate_is_left_alone(condition: str, is_gated: bool) -> None:
    module = python_module(source_file("setup.py", PORTED))
    assert module is not None
    node = next(one for one in ast.walk(module.tree) if isinstance(one, ast.expr) and ast.unparse(one) == condition)
    place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
    assert (gated_condition(module, place, False, ORIGINAL) is not None) is is_gated
