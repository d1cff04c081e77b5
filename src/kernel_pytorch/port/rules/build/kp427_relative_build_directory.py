"""A relative build_directory for load_inline

What: `torch.utils.cpp_extension.load_inline(..., build_directory="./build")`.
Why: On ROCm torch hipifies what lies in that folder, where load_inline has just written its sources. It joins a
    relative folder to itself and stops: "No such file or directory: 'build/build/cuda.cu'".
Fix: An absolute path, on ROCm. Where the file does not import os, kpt leaves the change to you.
Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/hipify/hipify_python.py
    (preprocess_file_and_save_result)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP427", "relative-build-directory", ("python",), Safety.SAFE, (b"build_directory",))


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls("torch.utils.cpp_extension.load_inline"):
        for keyword in call.keywords:
            value = keyword.value
            if keyword.arg != "build_directory" or not isinstance(value, ast.Constant):
                continue
            if not isinstance(value.value, str) or PurePosixPath(value.value).is_absolute():
                continue
            span, text = module.span(value), module.text(value)
            message = (
                f"build_directory={value.value!r} is relative: torch's hipify joins it to itself and finds no file"
            )
            whole = b"os.path.abspath(" + text + b") if IS_ROCM else " + text
            yield RULE.finding(module.src, span, message, [Edit(span, whole)] if _has_os(module) else [])


def _has_os(module: PythonModule) -> bool:
    return any(
        isinstance(node, ast.Import) and any(alias.name == "os" and alias.asname is None for alias in node.names)
        for node in module.tree.body
    )
