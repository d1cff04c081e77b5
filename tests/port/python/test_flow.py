"""Values are followed through names, helpers, classes and the project's own modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.project import PortOptions, port_project
from kernel_pytorch.port.python.definitions import definitions
from kernel_pytorch.port.python.flow import origins, uses
from kernel_pytorch.port.python.module import PythonModule, parse_module
from kernel_pytorch.port.source import SourceFile


def parsed(text: str, path: str = "pkg/file.py", root: Path | None = None) -> PythonModule:
    module = parse_module(SourceFile(path, text.encode(), "python", frozenset({"pkg"}), root))
    assert module is not None
    return module


def last_expression(module: PythonModule) -> ast.expr:
    statement = module.tree.body[-1]
    assert isinstance(statement, ast.Expr)
    return statement.value


def origin_texts(text: str, root: Path | None = None) -> set[str]:
    module = parsed(text, root=root)
    return {ast.unparse(place.node) for place in origins(module, last_expression(module))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb = a\nb", {"1"}),
        ("a, b = 1, 2\nb", {"2"}),
        ("a = 1 if x else 2\na", {"1", "2"}),
        ("def f(): return 3\nf()", {"3"}),
        ("def f(n=4): return n\nf(5)", {"4", "5"}),
        ("def f(a, *, k=1): return k\nf(0, k=2)", {"1", "2"}),
        ("f = lambda: 6\nf()", {"6"}),
        ("class A:\n    k = 7\n    def get(self): return self.k\na = A()\na.get()", {"7"}),
        ("class B:\n    def get(self): return 8\nclass A(B): pass\na = A()\na.get()", {"8"}),
        ("def f(): return g()\ndef g(): return f()\nf()", set()),
        ("def f(*args): return args\nf(1)", {"args"}),
        ("import torch\nx = torch.float16\nx", {"torch.float16"}),
    ],
)
def test_origins(text: str, expected: set[str]) -> None:
    assert origin_texts(text) == expected


def test_other_modules_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("from .inner import helper\n")
    (tmp_path / "pkg/inner.py").write_text("LIMIT = 10\n\ndef helper(): return LIMIT\n")
    assert origin_texts("from .inner import LIMIT\nLIMIT", tmp_path) == {"10"}
    assert origin_texts("from pkg.inner import LIMIT as N\nN", tmp_path) == {"10"}
    assert origin_texts("import pkg.inner\npkg.inner.helper()", tmp_path) == {"10"}
    assert origin_texts("from . import helper\nhelper()", tmp_path) == {"10"}, "through the package's own import"
    assert origin_texts("import pkg.missing\npkg.missing.helper()", tmp_path) == {"pkg.missing.helper()"}


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret.py").write_text("KEY = 1\n")
    (tmp_path / "project/linked.py").symlink_to(tmp_path / "secret.py")
    assert origin_texts("import linked\nlinked.KEY", tmp_path / "project") == {"linked.KEY"}


def test_uses_go_through_helpers_and_fields() -> None:
    module = parsed(
        "class A:\n"
        "    def __init__(self, kind):\n"
        "        self.kind = kind\n"
        "    def run(self, x):\n"
        "        return convert(x, to=self.kind)\n"
        "def convert(x, to):\n"
        "    return x.cast(to)\n"
        "A('fp8')\n"
    )
    call = last_expression(module)
    assert isinstance(call, ast.Call)
    seen = {(place.node.lineno, ast.unparse(place.node)) for place in uses(module, call.args[0])}
    assert {(8, "'fp8'"), (3, "kind"), (5, "self.kind"), (7, "to")} <= seen


def test_a_function_in_a_wrapper_is_that_function() -> None:
    module = parsed("import functools, torch\ndef f(x): return x\ng = torch.compile(functools.partial(f, 1))\ng")
    (found,) = definitions(module, last_expression(module))
    assert isinstance(found.node, ast.FunctionDef) and found.node.name == "f"


def test_rules_see_what_other_modules_hold(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    (tmp_path / "pkg/kinds.py").write_text(
        "import torch\nFP8 = torch.float8_e4m3fn\n\ndef sm():\n"
        "    major, minor = torch.cuda.get_device_capability()\n    return major * 10 + minor\n\n"
        "def has_capability(a, b):\n    return torch.cuda.get_device_capability() >= (a, b)\n"
    )
    (tmp_path / "pkg/use.py").write_text(
        "import torch\nfrom .kinds import FP8, has_capability, sm\n\n"
        "def run(x):\n    return x.to(FP8) if sm() >= 90 or has_capability(10, 0) else x\n"
    )
    result = port_project(discover(tmp_path), PortOptions(unsafe=True), workers=1)
    found = [item.code for item in result.findings if item.path == "pkg/use.py"]
    assert found == ["KP541", "KP584", "KP584"]
    after = next(patch.after for patch in result.patches if patch.path == "pkg/use.py").decode()
    assert "not IS_ROCM and sm() >= 90" in after and "not IS_ROCM and has_capability(10, 0)" in after
