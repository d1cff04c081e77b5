"""Commands that more than one check advises. Doctor prints them; it never runs them."""

from __future__ import annotations

import re

from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.versions import local_part, minor

# ROCm releases for which pytorch.org has had a wheel index; the newest last.
WHEEL_INDEXES = ("6.1", "6.2", "6.3", "6.4", "7.0", "7.1", "7.2")
FAMILY = ("torch", "torchvision", "torchaudio")


def wheel_index(machine: Machine) -> str:
    """The pytorch.org index for this machine: of the ROCm torch that was here, else of the ROCm installed."""
    for name in FAMILY:
        for item in machine.distributions:
            match = re.match(r"rocm(\d+\.\d+)", local_part(item.version))
            if item.name == name and match and match.group(1) in WHEEL_INDEXES:
                return _url(match.group(1))
    installed = minor(machine.platform.rocm_version)
    return _url(installed if installed in WHEEL_INDEXES else WHEEL_INDEXES[-1])


def _url(rocm: str) -> str:
    return f"https://download.pytorch.org/whl/rocm{rocm}"


def install_rocm_torch(machine: Machine) -> tuple[str, ...]:
    """Removes the torch that is here and installs a ROCm build, with the packages that must match it."""
    present = [name for name in FAMILY if machine.distribution(name)] or ["torch"]
    python = machine.probe.python or "python3"
    triton = [name for name in ("triton",) if machine.distribution(name)]
    commands = [f"{python} -m pip uninstall -y {' '.join([*present, *triton])}"] if machine.torch else []
    commands.append(f"{python} -m pip install {' '.join(present)} --index-url {wheel_index(machine)}")
    commands.append(f'{python} -c "import torch; print(torch.__version__, torch.version.hip)"')
    return tuple(commands)
