"""Runs a program with the recorder loaded, here or on an emulated GPU, and makes a record of what it wrote down."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child_bytes
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.verify.kernels.collect import read_launches
from kernel_pytorch.verify.kernels.noise import with_noise
from kernel_pytorch.verify.kernels.record import KernelRecord, write_kernel_record
from kernel_pytorch.verify.kernels.recorder import gpu_runtime, recorder_library


@dataclass(frozen=True)
class ProgramRun:
    """What to run and how much of it to keep. `gpu` None: this machine's own GPU.

    `source` is what the executable was built from, where it was built for this run: the record is named after it.
    """

    program: Path
    arguments: tuple[str, ...] = ()
    gpu: GPU | None = None
    repeats: int = 1
    max_mb: float = 1024.0
    max_buffer_mb: float = 64.0
    max_launches: int = 1000
    timeout_s: float | None = None
    directory: Path | None = None
    source: Path | None = None

    @property
    def named(self) -> Path:
        """What a person calls the program."""
        return self.source or self.program


def record_executable(how: ProgramRun, out: Path, progress: Callable[[str], None] = lambda text: None) -> KernelRecord:
    """Run the program and write its record to `out`. Raises UsageError when nothing can be recorded."""
    with tempfile.TemporaryDirectory(prefix="kpt-record-") as scratch:
        if gpu_runtime(how.program) == "cuda" and how.gpu is not None:
            raise UsageError(f"{how.program}: a CUDA program; an AMD GPU is emulated for HIP programs and .cu sources")
        first: KernelRecord | None = None
        contents: Mapping[str, Path] = {}
        for number in range(how.repeats):
            progress(f"run {number + 1} of {how.repeats}")
            raw = Path(scratch) / f"run{number}"
            raw.mkdir()
            record = _one_run(how, raw)
            if first is None:
                first, contents = record, {file.stem: file for file in sorted(raw.glob("*.bin"))}
            else:
                first = with_noise(first, Path(scratch) / "run0", record, raw)
        assert first is not None
        first = replace(first, repeats=how.repeats)
        write_kernel_record(out, first, contents)
        return first


def _one_run(how: ProgramRun, raw: Path) -> KernelRecord:
    environment = {**_environment(how, raw), **_recording(how, raw)}
    require_project_code(str(how.named))
    command = [str(how.program.absolute()), *how.arguments]
    try:
        done = run_child_bytes(command, env=environment, cwd=how.directory, timeout_s=how.timeout_s)
    except subprocess.TimeoutExpired as late:
        raise UsageError(f"{how.named}: did not end within {how.timeout_s:g} s (--timeout)") from late
    except OSError as problem:
        raise UsageError(f"{how.named}: cannot be started ({problem.strerror})") from problem
    launches, in_all, device = read_launches(raw)
    if not launches:
        lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"{how.named}: ended with status {done.returncode} and launched no kernel that could be seen"
            + (f"; it said: {lines[-1]}" if lines else "")
        )
    return KernelRecord(
        program=how.named.name,
        arguments=how.arguments,
        machine=_machine(how, device),
        launches=launches,
        launches_in_all=in_all,
        exit_code=done.returncode,
    )


def _machine(how: ProgramRun, device: str) -> dict[str, str]:
    from kernel_pytorch.version import VERSION

    name = device or "unknown"
    if how.gpu is not None:
        name = f"emulated {how.gpu.name} ({how.gpu.target.name}, wave {how.gpu.target.wave_size})"
    return {"device_name": name, "kernel-pytorch": VERSION}


def _environment(how: ProgramRun, raw: Path) -> Mapping[str, str]:
    if how.gpu is None:
        return os.environ
    from kernel_pytorch.emulate.libraries import needed_libraries
    from kernel_pytorch.emulate.run import RunSettings, emulation_environment

    settings = RunSettings(timeout_s=how.timeout_s)
    return emulation_environment(how.gpu, settings, raw, None, needed_libraries(how.program))


def _recording(how: ProgramRun, raw: Path) -> dict[str, str]:
    loaded = [str(recorder_library()), os.environ.get("LD_PRELOAD", "")]
    table = raw / "kernels.txt"
    table.write_text(_argument_table(how.program))
    return {
        "LD_PRELOAD": " ".join(part for part in loaded if part),
        "KPT_RECORD_DIR": str(raw),
        "KPT_RECORD_KERNELS": str(table),
        "KPT_RECORD_BUFFER_BYTES": str(int(how.max_buffer_mb * 2**20)),
        "KPT_RECORD_TOTAL_BYTES": str(int(how.max_mb * 2**20)),
        "KPT_RECORD_LAUNCHES": str(how.max_launches),
    }


def _argument_table(executable: Path) -> str:
    """For every AMD kernel in the program the sizes of its arguments: HIP has no call that tells them."""
    from kernel_pytorch.toolchain.code_object import CodeObjectError, read_code_objects

    try:
        found = read_code_objects(executable.read_bytes())
    except CodeObjectError:
        return ""
    kernels = {kernel.symbol.removesuffix(".kd"): kernel for code in found for kernel in code.kernels}
    sizes = {symbol: " ".join(str(arg.size) for arg in kernel.explicit_args) for symbol, kernel in kernels.items()}
    return "".join(f"{symbol} {line}\n" for symbol, line in sizes.items())
