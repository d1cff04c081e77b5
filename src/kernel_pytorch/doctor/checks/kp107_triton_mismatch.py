"""A Triton that torch did not ask for

What: Torch's metadata pins one Triton release, but another one, or none, is installed. On ROCm builds the pinned
    package may be called pytorch-triton-rocm, triton-rocm or triton.
Why: Inductor and Triton change together. With another Triton, torch.compile fails to import or generates code that
    does not compile. A `triton` from PyPI installed beside pytorch-triton-rocm overwrites the same folder.
Fix: Install exactly the Triton that torch asks for, from the same index as torch.
Source: Requires-Dist in the METADATA file of the installed torch;
    https://github.com/vllm-project/vllm/blob/main/tools/vllm-rocm/pin_rocm_dependencies.py (vLLM pins the ROCm Triton
    for this reason).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.advice import wheel_index
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.distributions import requirement_name, requirement_specifier
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.torch_install import triton_requirement
from kernel_pytorch.doctor.versions import satisfies

CHECK = Check("KP107", "triton-mismatch", "torch", Applies.TORCH)
ALL_TRITONS = ("triton", "pytorch-triton-rocm", "triton-rocm", "pytorch-triton")


def check(machine: Machine) -> Iterator[CheckResult]:
    torch = machine.torch
    assert torch is not None
    present = [item for item in machine.distributions if item.name in ALL_TRITONS]
    line = triton_requirement(torch)
    if len(present) > 1:
        names = ", ".join(f"{item.name} {item.version}" for item in present)
        wanted = requirement_name(line)
        others = " ".join(item.name for item in present if item.name != wanted)
        yield CHECK.red(f"several Tritons share one folder: {names}", *_install(machine, line, remove=others))
        return
    if not line:
        if present:
            yield CHECK.note(f"torch asks for no Triton; {present[0].name} {present[0].version} is here")
        else:
            yield CHECK.ok("torch asks for no Triton, and there is none")
        return
    name, specifier = requirement_name(line), requirement_specifier(line)
    if not present:
        yield CHECK.warn(f"torch asks for {name}{specifier}, which is not installed", *_install(machine, line))
    elif present[0].name != name or satisfies(present[0].version, specifier) is False:
        have = f"{present[0].name} {present[0].version}"
        yield CHECK.red(f"torch asks for {name}{specifier}, installed is {have}", *_install(machine, line))
    else:
        yield CHECK.ok(f"{name} {present[0].version} is what torch asks for")


def _install(machine: Machine, line: str, remove: str = "") -> tuple[str, ...]:
    python = machine.probe.python or "python3"
    commands = [f"{python} -m pip uninstall -y {remove}"] if remove else []
    if line:
        assert machine.torch is not None
        index = f" --index-url {wheel_index(machine)}" if machine.torch.build == "rocm" else ""
        wanted = requirement_name(line) + requirement_specifier(line)
        commands.append(f"{python} -m pip install --no-deps --force-reinstall '{wanted}'{index}")
    return tuple(commands)
