from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.triton_build import TritonRequest, build_triton, parse_constexprs, parse_signature

KERNELS = """
import triton
import triton.language as tl

print("talk of the module")
NOT_A_KERNEL = 3


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside), mask=inside)


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=[])
@triton.jit
def tuned(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)
"""
ADD = ("*fp32", "*fp32", "*fp32", "i32")


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("triton")
    path = tmp_path_factory.mktemp("triton") / "kernels.py"
    path.write_text(KERNELS)
    return path


def test_builds_for_several_targets(module: Path) -> None:
    request = TritonRequest(module, "add", ADD, {"BLOCK": 1024}, num_warps=8)
    builds = build_triton(request, ["gfx942", "gfx1100", "gfx1201"])
    assert [one.arch for one in builds] == ["gfx942", "gfx1100", "gfx1201"]
    for one, wave in zip(builds, (64, 32, 32), strict=True):
        assert one.error is None
        code_object = read_code_object(one.code_object)
        assert (code_object.target, code_object.kernels[0].name) == (one.arch, "add")
        assert code_object.kernels[0].wave_size == wave
        assert code_object.kernels[0].max_workgroup_size == one.num_warps * wave == 8 * wave
        assert "s_endpgm" in one.assembly


def test_divisibility_changes_the_code(module: Path) -> None:
    plain = build_triton(TritonRequest(module, "add", ADD, {"BLOCK": 1024}), ["gfx942"])[0]
    aligned = ("*fp32:16", "*fp32:16", "*fp32:16", "i32:16")
    vectorised = build_triton(TritonRequest(module, "add", aligned, {"BLOCK": 1024}), ["gfx942"])[0]
    assert "dwordx4" in vectorised.assembly.split("add:")[1]
    assert plain.assembly != vectorised.assembly


def test_autotuned_kernels_are_unwrapped(module: Path) -> None:
    (built,) = build_triton(TritonRequest(module, "tuned", ("*fp32",), {"BLOCK": 64}), ["gfx942"])
    assert built.error is None


def test_error_points_into_the_users_file(module: Path) -> None:
    (built,) = build_triton(TritonRequest(module, "add", ADD, {"BLOCK": 1000}), ["gfx942"])
    assert built.error is not None
    assert built.code_object == b""
    line = KERNELS.splitlines().index("    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)") + 1
    assert (built.error.path, built.error.line) == (str(module), line)
    assert "power of 2" in built.error.text


def test_error_without_a_place(module: Path) -> None:
    request = TritonRequest(module, "add", ADD, {"BLOCK": 1024}, num_warps=3)
    (built,) = build_triton(request, ["gfx942"])
    assert built.error is not None
    assert str(built.error).startswith(f"error: {module}: ")
    assert "num_warps" in built.error.text


@pytest.mark.parametrize(
    ("kernel", "signature", "constexprs", "said"),
    [
        ("ad", ADD, {}, "did you mean add"),
        ("zzz", ADD, {}, "it has add, tuned"),
        ("NOT_A_KERNEL", (), {}, "not a @triton.jit function but int"),
        ("add", ADD, {}, r"needs a value for BLOCK: --constexpr BLOCK=VALUE"),
        ("add", ADD, {"BLOK": 1, "BLOCK": 64}, "takes x_ptr, y_ptr, out_ptr, n, BLOCK"),
        ("add", ("*fp32",), {"BLOCK": 64}, r"1 types, add has 4 run-time parameters: x_ptr, y_ptr, out_ptr, n"),
        ("not a name", ADD, {}, "write FILE.py::KERNEL"),
    ],
)
def test_wrong_requests(
    module: Path, kernel: str, signature: tuple[str, ...], constexprs: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        build_triton(TritonRequest(module, kernel, signature, constexprs), ["gfx942"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_that_name\n", r"broken.py:1: cannot be imported: ModuleNotFoundError"),
        ("x = (\n", "SyntaxError"),
        ("raise SystemExit(3)\n", "SystemExit"),
    ],
)
def test_modules_that_do_not_import(tmp_path: Path, text: str, said: str) -> None:
    pytest.importorskip("triton")
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        build_triton(TritonRequest(path, "k", (), {}), ["gfx942"])


def test_a_module_that_kills_its_process(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    path = tmp_path / "killer.py"
    path.write_text("import os\nos._exit(7)\n")
    with pytest.raises(UsageError, match="ended with status 7"):
        build_triton(TritonRequest(path, "k", (), {}), ["gfx942"])


def test_without_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = tmp_path / "shadow" / "triton"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("raise ImportError('none here')\n")
    monkeypatch.setenv("PYTHONPATH", str(shadow.parent) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    path = tmp_path / "k.py"
    path.write_text("")
    with pytest.raises(UsageError, match=r'none here.*pip install .*"triton'):
        build_triton(TritonRequest(path, "k", (), {}), ["gfx942"])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        build_triton(TritonRequest(tmp_path / "none.py", "k", (), {}), ["gfx942"])


def test_parse_signature() -> None:
    assert parse_signature("*fp32, *bf16:16 ,i32") == ("*fp32", "*bf16:16", "i32")
    assert parse_signature("") == ()
    assert parse_signature("tensordesc<fp16[64,64]>,i32") == ("tensordesc<fp16[64,64]>", "i32")
    for wrong in ("*f32", "i33", "fp32,,i32", "*fp32:x"):
        with pytest.raises(UsageError, match="not a Triton type"):
            parse_signature(wrong)


def test_parse_constexprs() -> None:
    given = ["A=1024", "B=0.5", "C=True", "D=None", "E=text", "F=0x10", "G=-3"]
    expected = {"A": 1024, "B": 0.5, "C": True, "D": None, "E": "text", "F": 16, "G": -3}
    assert parse_constexprs(given) == expected
    for wrong in ("A", "=3", "1A=3"):
        with pytest.raises(UsageError, match="NAME=VALUE"):
            parse_constexprs([wrong])
