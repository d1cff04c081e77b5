"""`torch.utils.cpp_extension.load`: what its call needs on ROCm."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.python.edits import choice, is_chosen, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.rewrite import GATE

_LOAD = "torch.utils.cpp_extension.load"
_FOLDERS = "extra_include_paths"
_POSITION = 5  # load(name, sources, extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths)


def with_include_folders(module: PythonModule, line: int, folders: Sequence[str]) -> tuple[Edit, ...]:
    """The call of `load` on a line with more include folders on ROCm, given as seen from its file.

    The same call elsewhere in the file (in another branch, say, for a build that is there already) gets them too.
    Nothing where the call cannot be read: arguments in a dictionary.
    """
    calls = [one for one in module.calls(_LOAD) if one.lineno <= line <= (one.end_lineno or one.lineno)]
    if not calls:
        return ()
    same = [one for one in module.calls(_LOAD) if ast.dump(one) == ast.dump(calls[-1])]
    return tuple(edit for one in same for edit in _with_folders(module, one, folders))


def _with_folders(module: PythonModule, call: ast.Call, folders: Sequence[str]) -> tuple[Edit, ...]:
    if not is_editable(module, call):
        return ()
    os = "os" if _imports_os(module) else '__import__("os")'
    added = ", ".join(_from_this_file(os, folder) for folder in folders).encode()
    ours = _list_of_ours(module, call)
    if ours is not None:
        end = module.span(ours).end - 1
        return (Edit(Span(end, end), b", " + added),)
    if any(one.arg is None for one in call.keywords) or any(isinstance(one, ast.Starred) for one in call.args):
        return ()
    given = next((one.value for one in call.keywords if one.arg == _FOLDERS), None)
    given = call.args[_POSITION] if given is None and len(call.args) > _POSITION else given
    if given is None:
        text = b', **({"' + _FOLDERS.encode() + b'": [' + added + b"]} if " + GATE + b" else {})"
        end = max(module.span(one).end for one in (*call.args, *(one.value for one in call.keywords)))
        return (Edit(Span(end, end), text),)
    if isinstance(given, ast.Constant) and given.value is None:
        return (choice(module, given, b"[" + added + b"]"),)
    return (choice(module, given, b"[*" + _operand(module, given) + b", " + added + b"]"),)


def _list_of_ours(module: PythonModule, call: ast.Call) -> ast.List | None:
    """The folders for ROCm that a port before has put into the call."""
    for one in call.keywords:
        if one.arg not in (None, _FOLDERS) or not isinstance(one.value, ast.IfExp) or not is_chosen(module, one.value):
            continue
        found = one.value.body
        if isinstance(found, ast.Dict):
            pairs = zip(found.keys, found.values, strict=True)
            found = next(
                (value for key, value in pairs if isinstance(key, ast.Constant) and key.value == _FOLDERS), found
            )
        if isinstance(found, ast.List) and found.elts:
            return found
    return None


def _operand(module: PythonModule, node: ast.expr) -> bytes:
    text = module.text(node)
    return text if isinstance(node, (ast.List, ast.Name, ast.Attribute, ast.Call)) else b"(" + text + b")"


def _from_this_file(os: str, folder: str) -> str:
    here = f"{os}.path.dirname({os}.path.abspath(__file__))"
    return here if folder == "." else f"{os}.path.join({here}, {json.dumps(folder)})"


def _imports_os(module: PythonModule) -> bool:
    return any(
        isinstance(one, ast.Import) and any(item.name == "os" and item.asname is None for item in one.names)
        for one in module.tree.body
    )
