from __future__ import annotations

import textwrap

import pytest

from kernel_pytorch.verify.isolation.python_source import compare_python
from kernel_pytorch.verify.isolation.verdict import Isolation

GATE = "IS_ROCM = hasattr(torch.version, 'hip') and torch.version.hip is not None\n"

PROVEN = {
    "conditional expression": (
        "import torch\nm = torch.compile(f, mode='reduce-overhead')",
        f"import torch\n{GATE}m = torch.compile(f, mode='default' if IS_ROCM else 'reduce-overhead')",
    ),
    "if else": ("import torch\na()", "import torch\nif torch.version.hip:\n    b()\nelse:\n    a()"),
    "is None": ("import torch\na()", "import torch\nif torch.version.hip is None:\n    a()"),
    "not": ("import torch\na()", f"import torch\n{GATE}if not IS_ROCM:\n    a()"),
    "early return": (
        "def f(x):\n    return g(x)",
        "def f(x):\n    if is_rocm():\n        return h(x)\n    return g(x)",
    ),
    "return in else": (
        "def f(x):\n    return g(x)",
        "def f(x):\n    if not is_rocm():\n        return g(x)\n    return h(x)",
    ),
    "helper function": (
        "import torch\na()",
        "import torch\ndef _is_hip():\n    return torch.version.hip is not None\n"
        "if _is_hip():\n    b()\nelse:\n    a()",
    ),
    "helper with import": (
        "a()",
        "def is_rocm():\n    '''On AMD.'''\n    import torch\n    return torch.version.hip is not None\n"
        "if is_rocm():\n    b()\na()",
    ),
    "derived gate": (
        "import torch\nmode = 'x'",
        f"import torch\n{GATE}WIDE = IS_ROCM and True\nmode = 'y' if WIDE else 'x'",
    ),
    "and with others": (
        "import torch\nif big:\n    a()",
        f"import torch\n{GATE}if big and not IS_ROCM:\n    a()",
    ),
    "or with others": ("if big:\n    a()", "if is_rocm or big:\n    a()"),
    "gate alone in or": ("x = big", "x = IS_HIP or big"),
    "imported gate": ("import torch\na()", "import torch\nfrom pkg.compat import is_rocm\nif is_rocm:\n    b()\na()"),
    "imported among others": (
        "from pkg.compat import other\nother()",
        "from pkg.compat import is_rocm, other\nif is_rocm:\n    b()\nother()",
    ),
    "method of a platform": ("a()", "if current_platform.is_rocm():\n    b()\nelse:\n    a()"),
    "import fallback": (
        "import pynvml\npynvml.nvmlInit()",
        "try:\n    import pynvml\nexcept ImportError:\n    pynvml = None\npynvml.nvmlInit()",
    ),
    "new function for ROCm only": (
        "def f(x):\n    return g(x)",
        "def _rocm_f(x):\n    return h(x)\ndef f(x):\n    if is_rocm():\n        return _rocm_f(x)\n    return g(x)",
    ),
    "getattr": ("import torch\na()", "import torch\nif getattr(torch.version, 'hip', None):\n    b()\na()"),
    "cuda is there": ("import torch\na()", "import torch\nif torch.version.cuda is not None:\n    a()\nelse:\n    b()"),
    "decorator": (
        "@compile\ndef f():\n    a()",
        "@(identity if IS_ROCM else compile)\ndef f():\n    a()",
    ),
    "torch is loaded already": (
        "from torch import nn\na()",
        "from torch import nn\nimport torch\nIS_ROCM = torch.version.hip is not None\nif IS_ROCM:\n    b()\na()",
    ),
    "gate without torch": (
        "import os\na()",
        "def _is_rocm():\n    return probe()\nIS_ROCM = _is_rocm()\nimport os\nif IS_ROCM:\n    b()\na()",
    ),
    "comments and layout": ("a(1,2)", "# new\na(1,\n  2)"),
    "the same gate in other words": (
        "import torch\nIS_ROCM = torch.version.hip is not None\na()",
        "import torch\nIS_ROCM = bool(torch.version.hip)\na()",
    ),
    "docstring": ('"""a"""\na()', '"""b"""\na()'),
    "while": ("a()", "while is_rocm:\n    b()\na()"),
    "not of a gate as a value": ("f(fused=True)", "f(fused=not IS_ROCM)"),
    "variable set under a gate, in a conjunction": (
        "import torch\nif big:\n    a()\nelse:\n    c()",
        "import torch\nuse_hip = False\nif torch.version.hip:\n    use_hip = True\n"
        "if big and not use_hip:\n    a()\nelif big and use_hip and deep:\n    b()\nelse:\n    c()",
    ),
    "variable with another value in each branch": (
        "import torch\na()",
        "import torch\nif torch.version.hip is not None:\n    fast = probe()\nelse:\n    fast = False\n"
        "if fast and x:\n    b()\na()",
    ),
    "empty body gets pass": ("def f():\n    pass", "def f():\n    if is_rocm:\n        b()"),
}

CHANGED = {
    "branches swapped": (
        "import torch\nm = c(mode='reduce-overhead')",
        f"import torch\n{GATE}m = c(mode='reduce-overhead' if IS_ROCM else 'default')",
    ),
    "ungated edit": ("a(1)", "a(2)"),
    "type of a constant": ("a(1)", "a(1.0)"),
    "True for 1": ("a(1)", "a(True)"),
    "ungated addition": ("a()", "a()\nb()"),
    "removed": ("a()\nb()", "a()"),
    "new import": ("a()", "import os\na()"),
    "new import of a loaded package that is used": (
        "from torch import nn\ntorch = 1\na(torch)",
        "from torch import nn\nimport torch\na(torch)",
    ),
    "gate that is not one": ("flag = True\na()", "flag = True\nif flag:\n    b()\nelse:\n    a()"),
    "argument added": ("def f(x): pass", "def f(x, y=None): pass"),
    "else forgotten": ("a()", "if is_rocm:\n    a()"),
    "new function that is used": ("a()", "def g(): pass\na()\ng()"),
    "new function named in a string": ("a()", "def g(): pass\na(globals()['g'])"),
    "new function with a decorator": ("a()", "@register\ndef g(): pass\na()"),
    "fallback for something that was not imported": (
        "a()",
        "try:\n    import x\nexcept ImportError:\n    x = None\na()",
    ),
    "fallback that catches everything": (
        "import x\na()",
        "try:\n    import x\nexcept Exception:\n    x = None\na()",
    ),
    "own definition of the gate": ("a()", "is_rocm = True\nif is_rocm:\n    b()\nelse:\n    a()"),
    "a gate that both have": (
        "def is_amd():\n    return probe(1)\na()",
        "def is_amd():\n    return probe(2)\na()",
    ),
    "a gate that is gone": ("is_rocm = torch.version.hip\na()", "a()"),
    "variable that is set elsewhere too": (
        "import torch\na()",
        "import torch\nfast = False\nif torch.version.hip:\n    fast = True\nfast = probe()\nif fast:\n    b()\na()",
    ),
    "variable that a function sets": (
        "import torch\na()",
        "import torch\nfast = False\nif torch.version.hip:\n    fast = True\n"
        "def f():\n    global fast\n    fast = 1\nif fast:\n    b()\na()",
    ),
    "not of a gate for False": ("f(fused=False)", "f(fused=not IS_ROCM)"),
    "order": ("a()\nb()", "b()\na()"),
    "star": ("f(*x)", "f(x)"),
    "await": ("async def f():\n    await g()", "async def f():\n    g()"),
}


@pytest.mark.parametrize("name", PROVEN)
def test_proven(name: str) -> None:
    old, new = PROVEN[name]
    verdict = compare_python("a.py", old.encode(), new.encode())
    assert verdict.verdict is Isolation.PROVEN, verdict


@pytest.mark.parametrize("name", CHANGED)
def test_changed(name: str) -> None:
    old, new = CHANGED[name]
    verdict = compare_python("a.py", old.encode(), new.encode())
    assert verdict.verdict in (Isolation.CHANGED, Isolation.NOT_PROVEN), verdict


def test_undecided_gates_are_not_proven() -> None:
    old = b"a()"
    new = b"if rocm_version() > 6:\n    b()\nelse:\n    a()"
    assert compare_python("a.py", old, new).verdict is Isolation.NOT_PROVEN


def test_an_import_fallback_is_an_assumption() -> None:
    old, new = PROVEN["import fallback"]
    verdict = compare_python("a.py", old.encode(), new.encode())
    assert verdict.assumptions == ("`import pynvml` succeeds on NVIDIA as it had to before",)


def test_a_changed_docstring_is_an_assumption() -> None:
    verdict = compare_python("a.py", b'def f():\n    """a"""\n    g()', b'def f():\n    """b"""\n    g()')
    assert verdict.assumptions == ("nothing reads docstrings at run time",)


def test_place() -> None:
    old = textwrap.dedent("""
        def f():
            a()
            b()
    """)
    new = textwrap.dedent("""
        def f():
            if is_rocm:
                c()
            a()
            d()
    """)
    verdict = compare_python("a.py", old.encode(), new.encode())
    assert (verdict.line, verdict.old_line) == (6, 4)


@pytest.mark.parametrize("source", [b"def (", b"\x00", b"\xff\xfe"])
def test_unparsable_is_not_proven(source: bytes) -> None:
    assert compare_python("a.py", b"a()", source).verdict is Isolation.NOT_PROVEN
    assert compare_python("a.py", source, b"a()").verdict is Isolation.NOT_PROVEN


def test_torch_imported_for_the_gate_beside_a_function_that_imports_it_itself() -> None:
    before = "from torch.utils.cpp_extension import CUDA_HOME\n\n\ndef flags():\n"
    before += "    import torch\n\n    return [torch.__version__]\n"
    gate = 'import torch\n\nIS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None\n'
    after = before.replace("CUDA_HOME\n", f"CUDA_HOME\n\n{gate}").replace(
        "return [torch.__version__]", 'return ["-O3"] if IS_ROCM else [torch.__version__]'
    )
    assert compare_python("build.py", before.encode(), after.encode()).verdict is Isolation.PROVEN
    # Here the function would find the module's name, which it did not before.
    found = after.replace("    import torch\n\n    ret", "    ret")
    assert compare_python("build.py", before.encode(), found.encode()).verdict is not Isolation.PROVEN
