"""A Python that this torch was not built for

What: Torch's wheel tag or its Requires-Python does not match this Python.
Why: Compiled modules load into one Python version only. After an upgrade of Python, or with
    `--ignore-requires-python`, the wheel of another version may still be in place.
Fix: Use the Python the wheel was made for, or install torch again with this one. Packages in pure Python often state a
    cautious Requires-Python; torch's is a hard limit.
Source: The WHEEL and METADATA files of the installed torch;
    https://packaging.python.org/specifications/recording-installed-packages/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.torch_install import wheel_tags
from kernel_pytorch.doctor.versions import satisfies

CHECK = Check("KP108", "python-version", "torch", Applies.TORCH)


def check(machine: Machine) -> Iterator[CheckResult]:
    torch = machine.torch
    assert torch is not None
    version = ".".join(str(part) for part in machine.probe.python_version)
    python = machine.probe.python or "python3"
    for record in torch.records:
        built_for = {match for tag in wheel_tags(record) for match in re.findall(r"^cp(\d)(\d+)", tag)}
        major, minor = (str(part) for part in machine.probe.python_version[:2])
        if built_for and (major, minor) not in built_for:
            wheels = ", ".join(f"{a}.{b}" for a, b in sorted(built_for))
            yield CHECK.red(
                f"this is Python {version}; the installed torch is a wheel for {wheels}",
                f"{python} -m pip install --force-reinstall --no-deps torch=={record.version}",
            )
            return
        if record.requires_python and satisfies(version, record.requires_python) is False:
            yield CHECK.red(f"torch {record.version} requires Python {record.requires_python}, this is {version}")
            return
    yield CHECK.ok(f"Python {version} fits torch")
