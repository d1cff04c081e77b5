"""Finding a toolchain: the order, the reasons, and what is said when there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.toolchain import find, roots
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, candidates, find_toolchain

HIP_VERSION = "#define HIP_VERSION_MAJOR 7\n"


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No ROCm, no compiler on PATH, no PyPI toolchain, an empty current directory."""
    ours = ("KPT_TOOLCHAIN", "KPT_ROCM_ROOT", "KPT_HEADERS", "KPT_CXX_HEADERS")
    for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH", *ours):
        monkeypatch.delenv(name, raising=False)
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    monkeypatch.setenv("PATH", str(bin_dir))
    monkeypatch.setattr(find, "package_directory", lambda name: None)
    monkeypatch.setattr(roots, "package_directory", lambda name: None)
    monkeypatch.setattr(find, "rocm_roots", lambda: iter([Path(p) for p in [os.environ.get("ROCM_PATH", "")] if p]))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return bin_dir


def program(path: Path, answers: dict[str, str]) -> Path:
    """A script that answers like a compiler driver."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = "\n".join(f'{flag}) printf "%s\\n" "{text}" ;;' for flag, text in answers.items())
    path.write_text(f'#!/bin/sh\ncase "$1" in\n{cases}\n*) exit 1 ;;\nesac\n')
    path.chmod(0o755)
    return path


def rocm_tree(root: Path, version: str = "20.0.0") -> Path:
    (root / "include/hip").mkdir(parents=True)
    (root / "include/hip/hip_runtime.h").write_text("")
    (root / "include/hip/hip_version.h").write_text(HIP_VERSION)
    (root / "amdgcn/bitcode").mkdir(parents=True)
    (root / "amdgcn/bitcode/ocml.bc").write_bytes(b"BC")
    program(root / "llvm/bin/clang++", {"--version": f"AMD clang version {version} (roc-7.2.0)"})
    program(root / "llvm/bin/ld.lld", {})
    return root


def debian_tree(root: Path) -> Path:
    (root / "usr/include/hip").mkdir(parents=True)
    (root / "usr/include/hip/hip_runtime.h").write_text("")
    (root / "usr/include/hip/hip_version.h").write_text(HIP_VERSION)
    bitcode = root / "usr/lib/llvm-22/lib/clang/22/amdgcn/bitcode"
    bitcode.mkdir(parents=True)
    (bitcode / "ocml.bc").write_bytes(b"BC")
    return root


def system_clang(path: Path, version: str = "20.1.0", targets: str = "amdgcn - AMD GCN GPUs") -> Path:
    said = {"--version": f"clang version {version}", "--print-targets": targets, "-print-resource-dir": "/nowhere"}
    program(path, said)
    program(path.with_name("ld.lld"), {})
    return path


def pip_packages(monkeypatch: pytest.MonkeyPatch, root: Path, names: tuple[str, ...] = ("ziglang", "triton")) -> None:
    zig, triton = root / "ziglang", root / "triton"
    (zig / "lib").mkdir(parents=True)
    (zig / "zig").write_text("")
    amd = triton / "backends/amd"
    (amd / "include/hip").mkdir(parents=True)
    (amd / "include/hip/hip_runtime.h").write_text("")
    (amd / "lib").mkdir()
    for library in ("ocml.bc", "ockl.bc"):
        (amd / "lib" / library).write_bytes(b"BC")
    found = {"ziglang": zig, "triton": triton}
    for module in (find, roots):
        monkeypatch.setattr(module, "package_directory", lambda name: found.get(name) if name in names else None)
    (root / "ziglang-0.17.0.dist-info").mkdir()


def test_nothing_found_says_how_to_get_one() -> None:
    with pytest.raises(ToolchainNotFoundError) as caught:
        find_toolchain()
    assert 'pip install "ziglang==0.17.0" "triton>=3.5"' in str(caught.value)
    assert [(c.kind, c.found) for c in candidates()] == [("rocm", False), ("clang", False), ("zig", False)]
    assert all(c.lacks for c in candidates())


def test_rocm_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bare_machine: Path) -> None:
    root = rocm_tree(tmp_path / "rocm")
    monkeypatch.setenv("ROCM_PATH", str(root))
    system_clang(bare_machine / "clang")
    pip_packages(monkeypatch, tmp_path / "site")
    chosen = find_toolchain()
    assert (chosen.kind, chosen.headers) == ("rocm", "rocm")
    assert chosen.compiler == (str(root / "llvm/bin/clang++"),)
    assert chosen.linker == (str(root / "llvm/bin/ld.lld"),)
    assert chosen.device_lib_dir == root / "amdgcn/bitcode"
    assert str(root) in chosen.reason
    assert [c.kind for c in candidates() if c.found] == ["rocm", "clang", "zig"]


def test_system_clang_with_pip_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bare_machine: Path) -> None:
    system_clang(bare_machine / "clang-19", "19.1.7")
    pip_packages(monkeypatch, tmp_path / "site")
    chosen = find_toolchain()
    assert (chosen.kind, chosen.headers, chosen.version) == ("clang", "triton", "clang 19.1.7")
    assert chosen.wrapper == "kpt_hip_wrapper.h"
    assert [path.name for path in chosen.device_libs] == ["ocml.bc", "ockl.bc"]


@pytest.mark.parametrize(
    ("version", "targets", "says"),
    [("17.0.6", "amdgcn", "18 is needed"), ("20.0.0", "x86-64 - x86", "no AMDGPU back end")],
)
def test_unfit_clang_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bare_machine: Path, version: str, targets: str, says: str
) -> None:
    system_clang(bare_machine / "clang", version, targets)
    pip_packages(monkeypatch, tmp_path / "site")
    assert find_toolchain().kind == "zig"
    clang = next(c for c in candidates() if c.kind == "clang")
    assert not clang.found
    assert says in clang.note


def test_clang_without_headers_says_so(bare_machine: Path) -> None:
    system_clang(bare_machine / "clang")
    clang = next(c for c in candidates() if c.kind == "clang")
    assert clang.lacks == ("HIP headers",)


def test_unpacked_debian_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = debian_tree(tmp_path / "debian")
    system_clang(root / "bin/clang", "22.1.8")
    chosen = find_toolchain(rocm_root=root)
    assert (chosen.kind, chosen.headers) == ("clang", "debian")
    assert chosen.compiler == (str(root / "bin/clang"),)
    assert chosen.device_lib_dir == root / "usr/lib/llvm-22/lib/clang/22/amdgcn/bitcode"
    monkeypatch.setenv("KPT_ROCM_ROOT", str(root))
    assert find_toolchain() == chosen


def test_a_rocm_folder_in_the_current_directory_is_not_taken_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The current folder is the project, which may be a stranger's: its compiler must not be started."""
    root = debian_tree(tmp_path / "here/.rocm")
    system_clang(root / "bin/clang", "22.1.8")
    with pytest.raises(ToolchainNotFoundError):
        find_toolchain()
    monkeypatch.setenv("KPT_ROCM_ROOT", str(root))
    assert find_toolchain().headers == "debian"


def test_zig_with_debian_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = debian_tree(tmp_path / "debian")
    pip_packages(monkeypatch, tmp_path / "site", ("ziglang",))
    chosen = find_toolchain("zig", root)
    assert (chosen.kind, chosen.headers) == ("zig", "debian")
    assert chosen.device_libs == ()
    assert chosen.device_lib_dir is not None


def test_headers_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = debian_tree(tmp_path / "debian")
    pip_packages(monkeypatch, tmp_path / "site")
    assert find_toolchain("zig", root).version == "ziglang 0.17.0"
    assert find_toolchain("zig", root).headers == "debian"
    assert find_toolchain("zig", root, headers="triton").headers == "triton"
    monkeypatch.setenv("KPT_HEADERS", "triton")
    assert find_toolchain("zig", root).headers == "triton"


def test_zig_without_triton_names_the_lack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pip_packages(monkeypatch, tmp_path / "site", ("ziglang",))
    with pytest.raises(ToolchainNotFoundError, match="zig: no HIP headers"):
        find_toolchain("zig")


def test_wrong_root_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pip_packages(monkeypatch, tmp_path / "site")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ToolchainNotFoundError, match="holds no HIP headers"):
        find_toolchain(rocm_root=empty)


@pytest.mark.parametrize("variable", ["KPT_TOOLCHAIN", "KPT_HEADERS", "KPT_CXX_HEADERS"])
def test_unknown_choice_is_an_error(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "gcc")
    with pytest.raises(ToolchainNotFoundError, match=f"{variable}='gcc' is not known"):
        find_toolchain()


def test_environment_picks_the_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bare_machine: Path) -> None:
    system_clang(bare_machine / "clang")
    pip_packages(monkeypatch, tmp_path / "site")
    assert find_toolchain().kind == "clang"
    monkeypatch.setenv("KPT_TOOLCHAIN", "zig")
    assert find_toolchain().kind == "zig"
    assert find_toolchain("clang").kind == "clang"


def test_fingerprint_follows_the_device_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pip_packages(monkeypatch, tmp_path / "site")
    chosen = find_toolchain("zig")
    before = chosen.fingerprint()
    assert chosen.fingerprint() == before
    chosen.device_libs[0].write_bytes(b"another library")
    assert chosen.fingerprint() != before


def test_import_starts_nothing_and_finding_imports_no_triton() -> None:
    code = (
        "import subprocess, sys\n"
        "def refuse(*a, **k): raise AssertionError('a process was started on import')\n"
        "keep, subprocess.Popen.__init__ = subprocess.Popen.__init__, refuse\n"
        "from kernel_pytorch.toolchain import compile, find\n"
        "subprocess.Popen.__init__ = keep\n"
        "find.candidates()\n"
        "print(sorted({'triton', 'torch', 'ziglang', 'numpy', 'rich'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
