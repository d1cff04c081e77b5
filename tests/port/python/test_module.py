from __future__ import annotations

import ast

import pytest

from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.source import source_file


def parsed(text: str | bytes, path: str = "pkg/sub/m.py") -> PythonModule:
    data = text.encode() if isinstance(text, str) else text
    module = python_module(source_file(path, data))
    assert module is not None
    return module


def call_names(text: str) -> list[str | None]:
    module = parsed(text)
    return [module.qualified(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\ntorch.compile(f)", "torch.compile"),
        ("import torch as t\nt.compile(f)", "torch.compile"),
        ("from torch import compile\ncompile(f)", "torch.compile"),
        ("from torch import compile as c\nc(f)", "torch.compile"),
        ("import torch.nn.functional as F\nF.gelu(x)", "torch.nn.functional.gelu"),
        ("import torch.nn.functional\ntorch.compile(f)", "torch.compile"),
        ("from . import ops\nops.f()", "pkg.sub.ops.f"),
        ("from ..x import y\ny()", "pkg.x.y"),
        ("def g():\n    import torch as q\n    q.compile(f)", "torch.compile"),
        ("import torch\nclass A:\n    def m(self):\n        torch.compile(f)", "torch.compile"),
        ("try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\nflash_attn.f()", "flash_attn.f"),
        ("import torch\ndef g(torch):\n    torch.compile(f)", None),
        ("import torch\ndef g():\n    torch = 1\n    torch.compile(f)", None),
        ("import torch\nclass A:\n    torch = 1\n    def m(self):\n        torch.compile(f)", "torch.compile"),
        ("import torch\n[torch.f() for torch in x]", None),
        ("import torch\nlambda torch: torch.f()", None),
        ("import torch\ndef g():\n    global torch\n    torch = 1\n    torch.compile(f)", "torch.compile"),
        ("torch.compile(f)", None),
        ("x().y()", None),
    ],
)
def test_names_resolve_through_imports(text: str, name: str | None) -> None:
    assert call_names(text)[0] == name


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_spans_are_bytes_of_the_file(newline: bytes, bom: bytes) -> None:
    data = bom + newline.join([b"s = 'h\xc3\xa9'; f(1)", b"", b"g(", b"  'x', \xc3\xa9=2)"])
    module = parsed(data)
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    assert sorted(module.text(call) for call in calls) == [b"f(1)", b"g(" + newline + b"  'x', \xc3\xa9=2)"]
    assert module.newline == newline


GATED = {
    "if is_rocm:\n    a()\nelse:\n    CALL()": False,
    "if is_rocm:\n    CALL()": True,
    "if not is_rocm:\n    CALL()": False,
    "if torch.version.hip is None:\n    CALL()": False,
    "if torch.version.hip:\n    a()\nelse:\n    CALL()": False,
    "if torch.version.cuda:\n    CALL()": False,
    "x = a() if IS_ROCM else CALL()": False,
    "x = CALL() if IS_ROCM else a()": True,
    "def f():\n    if is_rocm():\n        return a()\n    return CALL()": False,
    "def f():\n    if not is_rocm():\n        return a()\n    return CALL()": True,
    "x = not is_rocm and CALL()": False,
    "x = is_rocm and CALL()": True,
    "x = is_rocm or CALL()": False,
    "if big and not IS_HIP:\n    CALL()": False,
    "if big or not IS_HIP:\n    CALL()": True,
    "if current_platform.is_rocm():\n    a()\nelif z:\n    CALL()": False,
    "if getattr(torch.version, 'hip', None) is not None:\n    a()\nelse:\n    CALL()": False,
    "if other:\n    CALL()": True,
    "CALL()": True,
}


@pytest.mark.parametrize("text", GATED)
def test_what_rocm_reaches(text: str) -> None:
    module = parsed("from x import CALL\nimport torch\n" + text)
    assert bool(list(module.calls("x.CALL"))) == GATED[text]


def test_guarded_imports() -> None:
    module = parsed(
        "import a\ntry:\n    import b\nexcept ImportError:\n    import c\n"
        "try:\n    import d\nexcept ValueError:\n    pass\n"
        "try:\n    def f():\n        import e\nexcept Exception:\n    pass\n"
        "try:\n    import g\nexcept (ImportError, OSError):\n    pass\n"
    )
    guarded = {name: module.is_import_guarded(node) for node, name in module.imports("a", "b", "c", "d", "e", "g")}
    assert guarded == {"a": False, "b": True, "c": False, "d": False, "e": False, "g": True}


def test_type_checking() -> None:
    module = parsed("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a.b\nimport a\n")
    assert [module.is_type_checking_only(node) for node, _ in module.imports("a")] == [False, True]


@pytest.mark.parametrize("data", [b"def (", b"\xff\xfe", b"\x00", b"(" * 5000])
def test_what_python_cannot_parse_is_none(data: bytes) -> None:
    assert python_module(source_file("a.py", data)) is None
