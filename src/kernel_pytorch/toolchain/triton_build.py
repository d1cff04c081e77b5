"""Builds Triton kernels for AMD targets with Triton's own compiler; no GPU is needed.

The user's module is imported in a process of its own, so that its imports, prints and crashes stay there, and with a
cache directory of its own, so that what comes back was compiled now.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import target
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.toolchain.diagnostics import CompilerMessage

SCALARS = (
    "i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64",
    "fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16",
)  # fmt: skip
_TYPE = re.compile(rf"(\*k?)?({'|'.join(SCALARS)})(:\d+)?|tensordesc<.+>|nvTmaDesc")
_TIMEOUT_S = 600


@dataclass(frozen=True)
class TritonRequest:
    """What to compile. `signature` lists the types of the run-time parameters in order; `:16` after a type promises
    that the value is a multiple of 16, as Triton's launcher would find out."""

    file: Path
    kernel: str
    signature: tuple[str, ...]
    constexprs: Mapping[str, object]
    num_warps: int | None = None
    num_stages: int | None = None


@dataclass(frozen=True)
class TritonBuild:
    """The outcome for one target: a code object, or an error in the user's file."""

    arch: str
    code_object: bytes
    assembly: str
    shared_bytes: int  # LDS that the launcher asks for on top of what the code object declares
    num_warps: int
    error: CompilerMessage | None


def split_kernel_path(text: str) -> tuple[Path, str] | None:
    """`dir/file.py::kernel` as path and name; None for anything else."""
    path, separator, name = text.partition("::")
    return (Path(path), name) if separator else None


def parse_signature(text: str) -> tuple[str, ...]:
    """`*fp32,*fp32:16,i32` as a tuple; raises UsageError naming the first type Triton does not have."""
    parts = re.split(r",(?![^<]*>)(?![^\[]*\])", text) if text.strip() else []
    found = tuple(part.strip() for part in parts)
    for part in found:
        if not _TYPE.fullmatch(part):
            raise UsageError(
                f"--signature: {part!r} is not a Triton type; write *fp32 for a pointer, or a scalar: "
                f"{', '.join(SCALARS)}"
            )
    return found


def parse_constexprs(items: Sequence[str]) -> dict[str, object]:
    """`BLOCK=1024`, `SCALE=0.5`, `CAUSAL=True`, `NAME=text` as Python values."""
    found: dict[str, object] = {}
    for item in items:
        name, separator, text = item.partition("=")
        if not separator or not name.isidentifier():
            raise UsageError(f"--constexpr {item!r}: write NAME=VALUE")
        found[name] = _value(text)
    return found


def _value(text: str) -> object:
    constants: dict[str, object] = {"True": True, "true": True, "False": False, "false": False, "None": None}
    if text in constants:
        return constants[text]
    for kind in (lambda t: int(t, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def build_triton(request: TritonRequest, architectures: Sequence[str]) -> tuple[TritonBuild, ...]:
    """Compile a Triton kernel for each architecture. Raises UsageError for what was asked for wrongly."""
    if not request.file.is_file():
        raise UsageError(f"{request.file}: no such file")
    if not request.kernel.isidentifier():
        raise UsageError(
            f"{request.file}::{request.kernel}: write FILE.py::KERNEL with the name of a @triton.jit function"
        )
    with tempfile.TemporaryDirectory(prefix="kpt-triton-") as directory:
        answer = _ask(request, architectures, Path(directory))
        return tuple(_outcome(build, Path(directory)) for build in answer["builds"])  # type: ignore[attr-defined]


def _ask(request: TritonRequest, architectures: Sequence[str], directory: Path) -> dict[str, object]:
    require_project_code(f"{request.file}::{request.kernel}")
    question = {
        "file": str(request.file),
        "kernel": request.kernel,
        "signature": list(request.signature),
        "constexprs": dict(request.constexprs),
        "options": {"num_warps": request.num_warps, "num_stages": request.num_stages},
        "targets": [{"arch": name, "wave_size": target(name).wave_size} for name in architectures],
    }
    (directory / "request.json").write_text(json.dumps(question), encoding="utf-8")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(directory / "cache")}
    command = python_module("kernel_pytorch.toolchain.triton_worker", str(directory / "request.json"), str(directory))
    try:
        done = run_child(command, env=environment, timeout_s=_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{request.file}::{request.kernel}: Triton did not finish within {_TIMEOUT_S} s") from error
    answer_path = directory / "answer.json"
    if not answer_path.is_file():
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise UsageError(
            f"{request.file}::{request.kernel}: Triton's process ended with status {done.returncode}:\n{last}"
        )
    answer: dict[str, object] = json.loads(answer_path.read_text(encoding="utf-8"))
    if "usage_error" in answer:
        raise UsageError(str(answer["usage_error"]))
    return answer


def _outcome(build: Mapping[str, object], directory: Path) -> TritonBuild:
    arch = str(build["arch"])
    problem = build.get("error")
    if isinstance(problem, dict):
        message = CompilerMessage(problem["path"], problem["line"], problem["column"], "error", problem["text"])
        return TritonBuild(arch, b"", "", 0, 0, message)
    return TritonBuild(
        arch=arch,
        code_object=(directory / f"{arch}.hsaco").read_bytes(),
        assembly=(directory / f"{arch}.s").read_text(encoding="utf-8"),
        shared_bytes=int(str(build["shared"])),
        num_warps=int(str(build["num_warps"])),
        error=None,
    )
