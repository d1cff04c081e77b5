"""The GPU asked for at import

What: `torch.cuda.get_device_properties(...)`, `get_device_capability()`, `get_device_name()`, `current_device()`,
    `mem_get_info()` or Triton's `get_current_target()` while a module is imported: at its top level, in a class body,
    a decorator or a default, also in a function of the project that is called there.
Why: The call starts HIP when the module is imported, before a worker process has chosen its device by
    HIP_VISIBLE_DEVICES. A process that has started HIP cannot be forked. vLLM asks amdsmi for that reason.
Fix: Ask inside a function, behind `functools.cache`, at first use. kpt does not report a script's own top level, nor
    code under `if __name__ == "__main__":`.
Source: https://github.com/vllm-project/vllm/blob/main/vllm/platforms/rocm.py
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.project_modules import is_library
from kernel_pytorch.port.python.running import import_time, running
from kernel_pytorch.port.rule import Rule

# A function that is called at import may stand in another module, so the names of the queries need not be here.
RULE = Rule("KP589", "device-at-import", ("python",), Safety.MANUAL, (b"torch", b"triton"))

_QUERIES = frozenset(
    f"torch.cuda.{name}"
    for name in ("get_device_properties", "get_device_capability", "get_device_name", "current_device", "mem_get_info")
)

_MAX_BESIDE = 100
_OF_SCRIPTS = frozenset({"tests", "test", "examples", "benchmarks", "benchmark", "scripts", "docs", ".github"})


def check(module: PythonModule) -> Iterator[Finding]:
    if not _calls_something(module) or _is_script(module) or is_for_other_hardware(module):
        return
    seen: set[int] = set()
    for step in running(module, import_time(module)):
        name = _query(step.module, step.node)
        place = step.node if step.via is None else step.via
        if name is None or id(place) in seen or not isinstance(place, ast.Call):
            continue
        if not step.module.reached_on_rocm(step.node) or not module.reached_on_rocm(place):
            continue
        seen.add(id(place))
        through = f", called by {ast.unparse(place.func)}()," if place is not step.node else ""
        yield RULE.finding(module.src, module.span(place), f"{name}{through} starts HIP while the module is imported")


def _calls_something(module: PythonModule) -> bool:
    """Whether anything is called at import that could ask: torch, Triton, or code of the project. Cheap."""
    names: set[str] = set()
    for node in module.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.Import):
            names.update(_bound_names(node, tuple(alias.name for alias in node.names), module))
        elif isinstance(node, ast.ImportFrom):
            source = "." if node.level else node.module or ""
            names.update(_bound_names(node, (source,) * len(node.names), module))
    for top in import_time(module):
        for item in ast.walk(top):
            head = item.func if isinstance(item, ast.Call) else None
            while isinstance(head, ast.Attribute):
                head = head.value
            if isinstance(head, ast.Name) and head.id in names:
                return True
    return False


def _bound_names(node: ast.Import | ast.ImportFrom, sources: tuple[str, ...], module: PythonModule) -> Iterator[str]:
    """The names that an import binds to torch, Triton or something that is no library we know."""
    for alias, source in zip(node.names, sources, strict=True):
        first = source.split(".")[0]
        if first in ("", "torch", "triton") or first in module.src.project_packages or not is_library(first):
            yield alias.asname or alias.name.split(".")[0]


def _query(module: PythonModule, node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = module.qualified(node.func) or ""
    if name in _QUERIES:
        return name.rsplit(".", 1)[-1]
    is_target = isinstance(node.func, ast.Attribute) and node.func.attr == "get_current_target"
    return "get_current_target" if is_target else None


def _is_script(module: PythonModule) -> bool:
    """Nothing imports it: a test, a setup file, or a file that runs by itself."""
    path = PurePosixPath(module.src.path)
    if path.name in ("setup.py", "conftest.py") or path.name.startswith("test_") or _OF_SCRIPTS & set(path.parts):
        return True
    if module.src.data.startswith(b"#!") or not _is_imported(module, path):
        return True
    return any(
        isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) and "__main__" in ast.unparse(node.test)
        for node in module.tree.body
    )


def _is_imported(module: PythonModule, path: PurePosixPath) -> bool:
    """Whether a file is part of a package, or a file beside it imports it; unknown counts as imported."""
    root = module.src.project_root
    folder = root / path.parent if root is not None else None
    if folder is None or path.stem == "__init__" or (folder / "__init__.py").exists():
        return True
    statement = re.compile(rb"^\s*(?:from|import)\s+" + re.escape(os.fsencode(path.stem)) + rb"\b", re.MULTILINE)
    for other in sorted(folder.glob("*.py"))[:_MAX_BESIDE]:
        try:
            if other.name != path.name and statement.search(read_bytes(other, root)):
                return True
        except OSError:
            continue
    return False
