"""What will hurt on the target: found in the compiled kernels and in the calls, before anyone rents the GPU."""

from __future__ import annotations

import math
import re

from kernel_pytorch.core.hardware import GPU, Target
from kernel_pytorch.perf.inspect.view import Configuration, Flag, LaunchStep, TritonKernel

_LIBDEVICE = re.compile(r"libdevice|__nv_|unresolved|undefined (symbol|external)", re.IGNORECASE)
_BLOCK = re.compile(r"\b[XYZ]BLOCK=(\d+)")
# torch's and Triton's names of FP8 types -> the hardware table's.
_FP8 = {"float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz", "fp8e4nv": "e4m3fn", "fp8e4b8": "e4m3fnuz",
        "fp8e5": "e5m2", "fp8e5b16": "e5m2fnuz", "float8_e5m2": "e5m2", "float8_e5m2fnuz": "e5m2fnuz"}  # fmt: skip


def kernel_flags(kernel: TritonKernel, gpu: GPU) -> list[Flag]:
    """Flags of a generated or user's kernel."""
    found: list[Flag] = []
    for number, configuration in enumerate(kernel.configurations):
        problem = configuration_problem(configuration, gpu.target)
        if problem is None:
            continue
        code, text = problem
        only = "" if len(kernel.configurations) == 1 else f" ({configuration.name})"
        weight = "" if number == kernel.chosen or kernel.chosen is None else "; another configuration is fine"
        found.append(Flag(code, kernel.name, f"{text}{only}{weight}", kernel.lines))
    if kernel.chosen is not None:
        idle = idle_lanes(kernel, kernel.configurations[kernel.chosen], gpu.target)
        if idle:
            found.append(Flag("idle-lanes", kernel.name, idle, kernel.lines))
    else:
        found.append(Flag("no-configuration", kernel.name, "no configuration compiles and fits", kernel.lines))
    found += [Flag("fp8-format", kernel.name, text, kernel.lines) for text in fp8_problems(kernel.dtypes, gpu.target)]
    return found


def configuration_problem(configuration: Configuration, target: Target) -> tuple[str, str] | None:
    """(code, words) where a configuration fails, does not fit or spills."""
    if configuration.failure is not None:
        if _LIBDEVICE.search(configuration.failure):
            return "libdevice", f"a math function has no AMD counterpart: {configuration.failure}"
        return "does-not-compile", configuration.failure
    threads = configuration.num_warps * target.wave_size
    if threads > target.max_threads_per_workgroup:
        return "num-warps", (
            f"num_warps={configuration.num_warps} is {threads} threads at wave {target.wave_size}, "
            f"over {target.max_threads_per_workgroup}"
        )
    resources = configuration.resources
    if resources is None:
        return None
    if resources.lds_bytes > target.max_lds_bytes_per_workgroup:
        return (
            "lds",
            f"needs {resources.lds_bytes} bytes of LDS, {target.name} has {target.max_lds_bytes_per_workgroup}",
        )
    if resources.spills:
        return "spills", f"{resources.spills} registers spill to memory ({resources.registers} in use)"
    return None


def idle_lanes(kernel: TritonKernel, configuration: Configuration, target: Target) -> str | None:
    """A pointwise kernel gives each lane at least one element, or lanes idle. A reduction has its row besides."""
    if kernel.category != "pointwise":
        return None
    elements = math.prod(int(size) for size in _BLOCK.findall(configuration.name))
    lanes = configuration.num_warps * target.wave_size
    if elements % target.wave_size:
        return f"a block of {elements} elements is no multiple of the wave ({target.wave_size}): lanes idle"
    return f"a block of {elements} elements for {lanes} lanes: the others idle" if elements < lanes else None


def step_flags(steps: tuple[LaunchStep, ...], gpu: GPU) -> list[Flag]:
    """Flags of library calls."""
    found: dict[tuple[str, str], Flag] = {}
    for step in steps:
        if step.kind != "extern":
            continue
        for text in fp8_problems((step.dtype,), gpu.target):
            found.setdefault((step.name, text), Flag("fp8-format", step.name, text))
        if "_scaled_dot_product_attention_math" in step.name:
            found.setdefault((step.name, ""), Flag("math-attention", step.name, "attention is not fused here"))
    return list(found.values())


def fp8_problems(dtypes: tuple[str, ...], target: Target) -> list[str]:
    """FP8 types the target's hardware does not work with."""
    problems = []
    for dtype in dtypes:
        form = _FP8.get(dtype)
        if form is None:
            continue
        if target.fp8_format is None:
            problems.append(f"{dtype}: {target.name} has no FP8 units, it is converted in software")
        elif form.endswith("fnuz") != target.fp8_format.endswith("fnuz"):
            problems.append(f"{dtype}: {target.name} works with {target.fp8_format}")
    return problems
