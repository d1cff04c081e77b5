"""What a program on an emulated GPU sees as ROCm, and what our own children see instead.

The program finds a folder with ROCm's tools, which answer for the emulated GPU; its hipcc is ours. The compilers and
the translator that are started for it must find this machine's real tools: they get the old values back.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.toolchain import rocm_folder as stand_in
from kernel_pytorch.toolchain.rocm_folder import rocm_folder

_KEPT = "KPT_EMULATE_OUTSIDE"
_CHOOSE_TOOLCHAIN = ("KPT_TOOLCHAIN", "KPT_ROCM_ROOT", "KPT_HEADERS", "KPT_CXX_HEADERS")
# Objects of sources that include torch's headers are kept; whatever else it is asked for, the compiler does.
_CXX = """case " $* " in
  *" -c "*/torch/include*|*/torch/include*" -c "*) exec {kept} "$@";;
esac
exec {compiler} "$@\""""
_CXX_NAMES = ("c++", "g++", f"{platform.machine()}-linux-gnu-g++")
_ROOTS = ("ROCM_HOME", "ROCM_PATH", "HIP_PATH")


def with_rocm(environment: Mapping[str, str], gpu: GPU, devices: int) -> dict[str, str]:
    """The environment with a stood-in ROCm first, and the values that this hides."""
    rocm = kept_rocm(gpu, devices)
    hidden = {name: environment.get(name) for name in (*_ROOTS, "PATH")}
    path = os.pathsep.join((str(rocm / "bin"), environment.get("PATH", os.defpath)))
    return {**environment, **dict.fromkeys(_ROOTS, str(rocm)), "PATH": path, _KEPT: json.dumps(hidden)}


def kept_rocm(gpu: GPU, devices: int, cache: Path | None = None) -> Path:
    """The stood-in ROCm for these GPUs, made once: what a program builds names its folder, and stays built."""
    hipcc, tools = python_module("kernel_pytorch.emulate.hipcc"), _compilers()
    chosen = {name: value for name, value in os.environ.items() if name in _CHOOSE_TOOLCHAIN}
    code = Path(stand_in.__file__).read_bytes()
    made_for = repr((gpu, devices, hipcc, tools, sorted(chosen.items()))).encode()
    identity = hashlib.sha256(made_for + code).hexdigest()[:12]
    folder = (cache or default_cache()) / f"rocm-{gpu.target.name}-{identity}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".rocm-", dir=folder.parent) as scratch:
            made = rocm_folder(Path(scratch) / "rocm", gpu, devices, hipcc, tools)
            try:
                made.rename(folder)
            except OSError:
                if not folder.is_dir():  # another process was not faster: something is wrong
                    raise
    return folder


def _compilers() -> dict[str, str]:
    """The C++ compilers that a build of torch's starts, where this machine has them; none of another run's."""
    outside = json.loads(os.environ.get(_KEPT, "{}")).get("PATH")
    found = {name: shutil.which(name, path=outside) for name in _CXX_NAMES}
    made = {}
    for name, compiler in found.items():
        if compiler is not None:
            kept = shlex.join(python_module("kernel_pytorch.emulate.kept_cxx", compiler))
            made[name] = _CXX.format(kept=kept, compiler=shlex.quote(compiler))
    return made


def step_outside() -> None:
    """In a child of ours: take the hidden values back."""
    for name, value in json.loads(os.environ.pop(_KEPT, "{}")).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
