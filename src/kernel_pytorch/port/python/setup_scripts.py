"""Which Python files are setup scripts: setup.py, and files of another name that people run in the same way."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath

from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.source import source_file

_SETUP = ("setuptools.setup", "distutils.core.setup")


def builds_extensions(path: str, data: bytes) -> bool:
    """Whether a file is a setup script that builds extensions: `python setup_cuda.py install`.

    A file of another name counts if it calls `setup` when it runs, and not in a function that something else calls.
    """
    if b"xtension" not in data:
        return False
    if PurePosixPath(path).name == "setup.py":
        return True
    if not path.endswith(".py") or not (b"setuptools" in data or b"distutils" in data):
        return False
    module = python_module(source_file(path, data))
    return module is not None and any(_runs_with_the_file(module, call) for call in module.calls(*_SETUP))


def _runs_with_the_file(module: PythonModule, call: ast.Call) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return not any(isinstance(one, kinds) for one in module.parents(call))
