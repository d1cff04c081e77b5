"""An extension that was built in an earlier run finds torch's ROCm libraries, though this run built nothing."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

# What kpt runs to make torch's libraries, here with two small ones: it is told where torch and the stand-in are.
MAKES_LIBRARIES = """
import subprocess, sys
for name in ("c10_hip", "torch_hip"):
    subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{sys.argv[2]}/lib/lib{name}.so", f"-Wl,-soname,lib{name}.so",
                    "-xc", "-"], input=f"int of_{name}(void) {{ return 42; }}", text=True, check=True)
"""
LOADS = """
import sys
from kernel_pytorch.emulate.torch_program import adjust_on_import
adjust_on_import()
import torch, torch.utils.cpp_extension
torch.utils.cpp_extension.ROCM_HOME = sys.argv[1]
torch.ops.load_library(sys.argv[2])
print("loaded")
"""


def extension(folder: Path, needs: str) -> Path:
    """A library that needs another one, which is gone when it is loaded."""
    other, made = folder / f"lib{needs}.so", folder / "extension.so"
    compiler = ["cc", "-shared", "-fPIC", "-xc", "-"]
    named = [f"-Wl,-soname,{other.name}"]
    subprocess.run([*compiler, *named, "-o", str(other)], input=f"int of_{needs}(void);", text=True, check=True)
    source = f"int of_{needs}(void); int answer(void) {{ return of_{needs}(); }}"
    linked = ["-Wl,--no-as-needed", f"-L{folder}", f"-l{needs}"]
    subprocess.run([*compiler, "-o", str(made), *linked], input=source, text=True, check=True)
    other.unlink()
    return made


def load(library: Path, rocm: Path) -> subprocess.CompletedProcess[str]:
    (rocm / "lib").mkdir(parents=True)
    complete = shlex.join([sys.executable, "-c", MAKES_LIBRARIES])
    return subprocess.run(
        [sys.executable, "-c", LOADS, str(rocm), str(library)],
        capture_output=True, text=True, check=False, env={**os.environ, "KPT_EMULATE_TORCH_EXTENSION": complete},
    )  # fmt: skip


def test_torchs_libraries_are_made_when_a_library_that_needs_them_is_loaded(tmp_path: Path) -> None:
    done = load(extension(tmp_path, "c10_hip"), tmp_path / "rocm")
    assert done.stdout == "loaded\n", done.stderr
    assert (tmp_path / "rocm/lib/libc10_hip.so").is_file()


def test_other_missing_libraries_are_the_programs_own_fault(tmp_path: Path) -> None:
    done = load(extension(tmp_path, "elsewhere"), tmp_path / "rocm")
    assert "libelsewhere.so: cannot open shared object file" in done.stderr
    assert not list((tmp_path / "rocm/lib").iterdir())
