"""A tree full of booby traps: whatever runs a piece of it leaves the name of that piece in a file."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Modules of the standard library, of what kpt imports, and of what its children import: none may come from the tree.
MODULES = (
    "json", "torch", "triton", "sitecustomize", "usercustomize", "yaml", "rich", "runpy", "pathlib", "typing",
    "dataclasses", "subprocess", "multiprocessing", "numpy", "pip", "ziglang", "kernel_pytorch", "importlib_metadata",
    "tree_sitter", "anyio", "concurrent", "conftest", "platform", "sysconfig", "inspect", "tomllib",
)  # fmt: skip
CONFIGURATION = """
[core]
\tfsmonitor = {trap} fsmonitor
\thooksPath = {hooks}
\tsshCommand = {trap} sshCommand
\tpager = {trap} pager
\teditor = {trap} editor
\taskPass = {trap} askPass
\tgitProxy = {trap} gitProxy
\talternateRefsCommand = {trap} alternateRefsCommand
[pager]
\tgrep = {trap} pager.grep
\tls-files = {trap} pager.ls-files
[diff]
\texternal = {trap} diff.external
[diff "evil"]
\ttextconv = {trap} textconv
\tcommand = {trap} diff.command
[filter "evil"]
\tclean = {trap} clean
\tsmudge = {trap} smudge
\tprocess = {trap} process
\trequired = true
[credential]
\thelper = !{trap} credential
[alias]
\tls-files = !{trap} alias
[gpg]
\tprogram = {trap} gpg
[protocol "ext"]
\tallow = always
[remote "origin"]
\turl = ext::{trap} remote
\tpromisor = true
\tpartialclonefilter = blob:none
[submodule "x"]
\tupdate = !{trap} submodule
"""
TRITON = """\
open({fired!r}, "a").write("triton kernel module\\n")
import triton
import triton.language as tl

@triton.jit
def add(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)

def launch(x):
    add[(1,)](x, 4, BLOCK=64)
"""
KERNEL = """\
#include <cuda_runtime.h>
#include <cstdio>
__global__ void k(float *x) { x[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 0); }
int main() { fputs("main\\n", fopen("FIRED", "a")); }
"""


@dataclass(frozen=True)
class Traps:
    """The tree, and the file that a trap writes its name into."""

    root: Path
    fired: Path

    def names(self) -> list[str]:
        """The traps that fired."""
        return self.fired.read_text().split() if self.fired.exists() else []


def set_traps(folder: Path, git: bool = True) -> Traps:
    """Lays out the tree, as a git repository with two commits unless told otherwise."""
    root, fired = folder / "tree", folder / "FIRED"
    root.mkdir(parents=True)
    trap = folder / "trap"
    trap.write_text(f'#!/bin/sh\necho "$1" >> {fired}\nexit 0\n')
    trap.chmod(0o755)
    traps = Traps(root, fired)
    python = 'open({fired!r}, "a").write("{name}\\n")\n'
    for name in MODULES:
        (root / f"{name}.py").write_text(python.format(fired=str(fired), name=f"{name}.py"))
    setup = python.format(fired=str(fired), name="setup.py")
    build = 'from setuptools import Extension, setup\nsetup(name="x", ext_modules=[Extension("x", ["x.c"])])\n'
    (root / "setup.py").write_text(setup + build)
    (root / "kernels.py").write_text(TRITON.format(fired=str(fired)))
    (root / "model.py").write_text('import torch\nm = torch.compile(f, mode="reduce-overhead")\n')
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["torch"]\nbuild-backend = "setup"\nbackend-path = ["."]\n'
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.3"]\n'
        '[tool.kernel_pytorch]\nrules = ["rules.yml"]\n'
        '[tool.kernel_pytorch.verify]\nprograms = ["k.cu"]\nentry_points = ["model:f"]\ngolden = ["model:f = g"]\n'
    )
    (root / "rules.yml").write_text("rules:\n  - {code: U100, kind: guard, call: mine.old, why: so}\n")
    (root / "k.cu").write_text(KERNEL.replace("FIRED", str(fired)))
    (root / "CMakeLists.txt").write_text(
        f"project(x LANGUAGES CXX CUDA)\nexecute_process(COMMAND {trap} cmake)\nfind_package(CUDA)\n"
    )
    (root / "Makefile").write_text(f"X := $(shell {trap} make)\nall:\n\tnvcc k.cu\n")
    (root / "requirements.txt").write_text("torch==2.3\n-e .\n")
    (root / "n.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["%run setup.py\\n"]}]}')
    for program in ("git", "clang", "clang++", "hipcc", "nvcc", "python3", "rocminfo", "amd-smi", "llvm-objdump"):
        _program(root / program, trap, program)
    for place in ("bin/clang", "bin/clang++", "llvm/bin/clang++", "llvm/bin/llvm-objdump", "bin/llvm-objdump"):
        _program(root / ".rocm" / place, trap, f".rocm/{place}")
    for place in (".rocm/include/hip/hip_runtime.h", ".rocm/usr/include/hip/hip_runtime.h"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("#define HIP_VERSION_MAJOR 7\n")
    if git:
        _repository(root, trap)
    return traps


def _program(path: Path, trap: Path, name: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec {trap} {name}\n")
    path.chmod(0o755)


def _repository(root: Path, trap: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    (root / "k.cu").write_text((root / "k.cu").read_text().replace("float", "double"))
    git("commit", "-qam", "two")
    hooks = root / ".git" / "hooks-of-theirs"
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
        _program(hooks / name, trap, f"hook-{name}")
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n")
    config = root / ".git" / "config"
    config.write_text(config.read_text() + CONFIGURATION.format(trap=trap, hooks=hooks))


def kpt() -> list[str]:
    """The command as a user starts it."""
    return [str(Path(sys.executable).with_name("kpt"))]
