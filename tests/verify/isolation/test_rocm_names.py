"""Names that promise ROCm, imports that only ask for it, functions that only it calls: believed, and said; or not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from kernel_pytorch.verify.isolation import FileVerdict, Isolation, compare_file, compare_trees
from kernel_pytorch.verify.isolation.trees import FolderTree


def compared(old: str, new: str, path: str = "pkg/model.py") -> FileVerdict:
    return compare_file(path, dedent(old).encode(), dedent(new).encode())


@pytest.mark.parametrize(
    "gate",
    [
        "self.is_rocm_aiter_moe_enabled",
        "platform.is_fp8_fnuz()",
        "rocm_aiter_ops.is_enabled()",
        "rocm_aiter_ops.is_fused_moe_enabled()",
        "is_aiter_found_and_supported()",
        "self.backend == Backend.AITER",
        "self.backend is Backend.ROCM_ATTN",
        "x.ok and rocm_aiter_ops.is_enabled()",
    ],
)
def test_a_promise_is_believed_and_said(gate: str) -> None:
    old = "def f(self, x, platform):\n    return x\n"
    verdict = compared(old, f"def f(self, x, platform):\n    if {gate}:\n        x = other(x)\n    return x\n")
    assert verdict.verdict is Isolation.PROVEN
    assert any("as it says" in taken for taken in verdict.assumptions)


@pytest.mark.parametrize(
    "gate",
    [
        "envs.VLLM_ROCM_USE_SKINNY_GEMM",  # a setting that is on by default, on NVIDIA too
        "is_rocm_or_cuda()",
        "is_rocm_disabled()",
        "is_hip_unsupported()",
        "rocm_aiter_ops.is_disabled()",
        "rocm_aiter_ops.count()",
        "self.backend == Backend.FLASH",
        "self.backend in (Backend.AITER, Backend.FLASH)",
        "self.backend > Backend.AITER",
        "prompt == ROCM",
    ],
)
def test_what_promises_nothing_is_not_proven(gate: str) -> None:
    old = "def f(self, x):\n    return x\n"
    verdict = compared(old, f"def f(self, x):\n    if {gate}:\n        x = other(x)\n    return x\n")
    assert verdict.verdict is not Isolation.PROVEN


def test_where_the_plain_gate_decides_nothing_is_assumed() -> None:
    old = "def f(x):\n    if rocm_aiter_ops.is_enabled():\n        return 1\n    return x\n"
    verdict = compared(old, old.replace("    return x\n", "    if is_rocm():\n        return 2\n    return x\n"))
    assert verdict.verdict is Isolation.PROVEN and not verdict.assumptions


def test_the_other_branch_of_a_promise_is_still_compared() -> None:
    old = "def f(x):\n    return x + 1\n"
    new = "def f(x):\n    if rocm_aiter_ops.is_enabled():\n        return x\n    else:\n        return x + {}\n"
    assert compared(old, new.format(1)).verdict is Isolation.PROVEN
    assert compared(old, new.format(2)).verdict is not Isolation.PROVEN


OLD = "from pkg.log import log\n\ndef f(x):\n    return x\n"


@pytest.mark.parametrize(
    "line", ["from pkg.platforms import current_platform", "from .platforms import current_platform"]
)
def test_an_import_that_only_asks(line: str) -> None:
    body = "def f(x):\n    if current_platform.is_rocm():\n        x = x.clone()\n    return x\n"
    new = f"from pkg.log import log\n{line}\n\n{body}"
    verdict = compared(OLD, new)
    assert verdict.verdict is Isolation.PROVEN and any(
        "loading it is harmless" in taken for taken in verdict.assumptions
    )
    # In a list of names that is there already, too.
    mixed = new.replace("import log\n", "import log, current_platform\n").replace(f"{line}\n", "")
    assert compared(OLD, mixed).verdict is Isolation.PROVEN


@pytest.mark.parametrize(
    "new",
    [
        # another package's module: on a machine without it the import fails
        "from amdsmi import current_platform\n\ndef f(x):\n    if current_platform.is_rocm():\n        x = 1\n"
        "    return x\n",
        # the name is used off ROCm as well
        "from pkg.platforms import current_platform\n\ndef f(x):\n    if current_platform.is_rocm():\n        x = 1\n"
        "    return x if x else current_platform\n",
        # not a gate: a function that only ROCm's branch calls
        "from pkg.rocm import faster\n\ndef f(x):\n    if is_rocm():\n        x = faster(x)\n    return x\n",
        # exported
        "from pkg.platforms import current_platform\n__all__ = ['current_platform']\n\ndef f(x):\n"
        "    if current_platform.is_rocm():\n        x = 1\n    return x\n",
    ],
)
def test_other_imports_stay(new: str) -> None:
    assert compared("def f(x):\n    return x\n", new).verdict is not Isolation.PROVEN


def test_a_new_method_goes_only_if_its_name_says_rocm() -> None:
    old = "class Sampler(Base):\n    def forward(self, x):\n        return x\n"
    new = old + "\n    def {}(self, x):\n        return helper(x)\n\ndef helper(x):\n    return x\n"
    assert compared(old, new.format("forward_hip")).verdict is Isolation.PROVEN
    assert compared(old, new.format("forward_cuda")).verdict is Isolation.CHANGED, "may take a base class's place"
    assert compared(old, new.format("forward_hip") + "\nx = Sampler.forward_hip\n").verdict is Isolation.CHANGED


SHARED = """\
def rocm_gemm(x):
    return {}

def nvidia_gemm(x):
    return {}

def pick():
    if is_rocm():
        return rocm_gemm
    return nvidia_gemm
"""


@pytest.mark.parametrize(
    ("rocm", "nvidia", "user", "verdict"),
    [
        ("x + 2", "x", "", Isolation.PROVEN),
        ("x + 2", "x + 2", "", Isolation.CHANGED),
        ("x + 2", "x", "from pkg.shared import rocm_gemm\n", Isolation.PROVEN),
        ("x + 2", "x", "from pkg.shared import rocm_gemm\nrocm_gemm(1)\n", Isolation.CHANGED),
        ("x + 2", "x", "from pkg.shared import rocm_gemm as gemm\ngemm(1)\n", Isolation.CHANGED),
        ("x + 2", "x", "from pkg.shared import rocm_gemm\n__all__ = ['rocm_gemm']\n", Isolation.CHANGED),
        ("x + 2", "x", "import pkg.shared\npkg.shared.rocm_gemm(1)\n", Isolation.CHANGED),
        ("x + 2", "x", "import pkg.shared\ngetattr(pkg.shared, 'rocm_gemm')\n", Isolation.CHANGED),
        ("x + 2", "x", "if is_rocm():\n    from pkg.shared import rocm_gemm\n", Isolation.PROVEN),
    ],
)
def test_functions_of_rocm_in_a_shared_file(
    tmp_path: Path, rocm: str, nvidia: str, user: str, verdict: Isolation
) -> None:
    for name, text in (("old", SHARED.format("x + 1", "x")), ("new", SHARED.format(rocm, nvidia))):
        (tmp_path / name / "pkg").mkdir(parents=True)
        (tmp_path / name / "pkg" / "shared.py").write_text(text)
        (tmp_path / name / "pkg" / "user.py").write_text(user)
    report = compare_trees(FolderTree(tmp_path / "old"), FolderTree(tmp_path / "new"))
    assert [item.verdict for item in report.files] == [verdict]


def test_a_rocm_file_that_nvidia_reaches_makes_its_functions_reached(tmp_path: Path) -> None:
    for name, number in (("old", 1), ("new", 2)):
        (tmp_path / name / "pkg").mkdir(parents=True)
        (tmp_path / name / "pkg" / "shared.py").write_text(f"def rocm_gemm(x):\n    return x + {number}\n")
        (tmp_path / name / "pkg" / "rocm_ops.py").write_text("from pkg.shared import rocm_gemm\nrocm_gemm(1)\n")
        (tmp_path / name / "pkg" / "main.py").write_text("import pkg.rocm_ops\n")
    report = compare_trees(FolderTree(tmp_path / "old"), FolderTree(tmp_path / "new"))
    assert report.verdict is Isolation.CHANGED


TEST = "import pytest\n\n{}def test_a():\n    assert 1\n"


@pytest.mark.parametrize(
    ("mark", "verdict"),
    [
        ("@pytest.mark.skipif(is_rocm(), reason='x')\n", Isolation.PROVEN),
        ("@pytest.mark.xfail(current_platform.is_rocm(), reason='x')\n", Isolation.PROVEN),
        ("pytestmark = pytest.mark.skipif(not current_platform.is_cuda(), reason='x')\n", Isolation.PROVEN),
        ("@pytest.mark.skipif(not is_rocm(), reason='x')\n", Isolation.CHANGED),
        ("@pytest.mark.skipif(x.is_cuda(), reason='x')\n", Isolation.CHANGED),
        ("@pytest.mark.skip(is_rocm())\n", Isolation.CHANGED),
        ("@pytest.mark.flaky(only_on=is_rocm())\n", Isolation.CHANGED),
        ("pytestmark = mark\npytestmark = pytest.mark.skipif(is_rocm(), reason='x')\n", Isolation.CHANGED),
    ],
)
def test_tests_that_rocm_skips(mark: str, verdict: Isolation) -> None:
    found = compared(TEST.format(""), TEST.format(mark), "tests/test_a.py").verdict
    assert (found is Isolation.PROVEN) is (verdict is Isolation.PROVEN)


def test_a_test_imports_from_the_project(tmp_path: Path) -> None:
    new = "from pkg.platforms import current_platform\n\ndef test_a():\n    if current_platform.is_rocm():\n"
    new += "        return\n"
    for name, text in (("old", "\ndef test_a():\n    assert 1\n"), ("new", new + "    assert 1\n")):
        (tmp_path / name / "pkg").mkdir(parents=True)
        (tmp_path / name / "tests").mkdir()
        (tmp_path / name / "pkg" / "__init__.py").write_text("")
        (tmp_path / name / "tests" / "test_a.py").write_text(text)
    report = compare_trees(FolderTree(tmp_path / "old"), FolderTree(tmp_path / "new"))
    assert report.verdict is Isolation.PROVEN


LOCAL = "def f(x, wanted):\n    {}\n    if use_aiter:\n        x = other(x)\n    return g(x, use_aiter)\n"


@pytest.mark.parametrize(
    ("line", "proven"),
    [
        ("use_aiter = is_rocm() and wanted", True),
        ("use_aiter = torch.version.hip is not None", True),
        ("use_aiter = not is_rocm()", False),
        ("use_aiter = is_rocm() or wanted", False),
        ("use_aiter = False", False),  # no gate: a plain name, which the old file has not
        ("use_aiter = is_rocm() and wanted\n    use_aiter = wanted", False),
        ("use_aiter = is_rocm() and wanted\n    use_aiter |= wanted", False),
        ("use_aiter = is_rocm() and wanted\n    for use_aiter in wanted: pass", False),
    ],
)
def test_a_variable_that_holds_a_gate(line: str, proven: bool) -> None:
    old = "def f(x, wanted):\n    return g(x, False)\n"
    assert (compared(old, LOCAL.format(line)).verdict is Isolation.PROVEN) is proven


def test_a_variable_that_changes_its_gate_is_seen() -> None:
    old, new = LOCAL.format("use_aiter = is_rocm() and wanted"), LOCAL.format("use_aiter = not is_rocm()")
    assert compared(old, new).verdict is not Isolation.PROVEN
    assert compared(old, LOCAL.format("use_aiter = is_hip()")).verdict is Isolation.PROVEN


def test_a_name_of_another_function_is_another_name() -> None:
    old = "def f(x):\n    flag = x.ok\n    return flag\n"
    new = old + "\ndef g(x):\n    flag = is_rocm()\n    return flag\n"
    assert compared(old, new.replace("return flag\n\n", "return not flag\n\n")).verdict is Isolation.CHANGED
