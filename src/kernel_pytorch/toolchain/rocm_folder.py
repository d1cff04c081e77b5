"""A folder that looks like an installed ROCm: its tools answer for one GPU.

Build descriptions and frameworks ask `hipcc --version`, `rocminfo`, `rocm_agent_enumerator`, `rocm-smi`, and read
`.info/version`.
Unless the caller has a compiler for them, the compilers refuse: who reaches them gets an error, never an empty object.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from kernel_pytorch.core.hardware import GPU

ROCM_VERSION = "7.1.0"
HIP_VERSION = "7.1.52802"
REFUSE = 'echo "$0: this compiler is stood in for by kpt and builds nothing" >&2; exit 1'

_SCRIPT = "#!/bin/sh\n{body}\n"
_HIPCC = f"""case "$*" in
  *--version*|-v) echo "HIP version: {HIP_VERSION}"; echo "AMD clang version 20.0.0git (stood in for by kpt)"; exit 0;;
esac
{REFUSE}"""
_HIPCONFIG = f"""case "$*" in
  *--version*) echo "{HIP_VERSION}";;
  *--platform*) echo amd;;
  *--compiler*) echo clang;;
  *--path*|*--rocmpath*) dirname "$(dirname "$0")";;
  *) echo "HIP version: {HIP_VERSION}"; echo "HIP_PLATFORM: amd";;
esac"""
# What scripts look for in the listing: the name, the kind of device, the wave size.
_ROCMINFO = """cat <<'END'
*******
Agent {number}
*******
  Name:                    {target}
  Marketing Name:          {name}
  Vendor Name:             AMD
  Device Type:             GPU
  Wavefront Size:          {wave}(0x{wave:x})
  Compute Unit:            {units}
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--{target}
END"""
_AMD_SMI = """case "$*" in
  *version*) echo "AMDSMI Tool: stood in for by kpt | ROCm version: {version}";;
  *) echo "GPU  NAME"; {devices};;
esac"""
# The lines of the real one that programs search; without an option it prints them all.
_ROCM_SMI = """case "$*" in
  *version*) echo "ROCM-SMI version: stood in for by kpt";;
  *) {devices};;
esac"""


def _rocm_smi_lines(gpu: GPU, number: int) -> tuple[str, ...]:
    facts = (
        ("Card Series", gpu.name),
        ("GFX Version", gpu.target.name),
        ("VRAM Total Memory (B)", int(gpu.memory_gib * 2**30)),
        ("VRAM Total Used Memory (B)", 0),
    )
    return tuple(f"echo {shlex.quote(f'GPU[{number}]: {name}: {value}')}" for name, value in facts)


def rocm_folder(
    folder: Path,
    gpu: GPU,
    devices: int = 1,
    hipcc: Sequence[str] = (),
    more: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Write a stood-in ROCm for one kind of GPU. `hipcc`: the command that does what hipcc is asked for; `more`: what
    else its folder of programs has, as shell."""
    compiler = f'exec {shlex.join(hipcc)} "$@"' if hipcc else _HIPCC
    target = gpu.target.name
    info = (
        _ROCMINFO.format(
            number=one + 2, target=target, name=gpu.name, wave=gpu.target.wave_size, units=gpu.compute_units
        )
        for one in range(devices)
    )
    listed = "; ".join(f'echo "{one}    {gpu.name}"' for one in range(devices))
    shown = "; ".join(line for one in range(devices) for line in _rocm_smi_lines(gpu, one))
    tools = {
        "hipcc": compiler,
        "amdclang++": compiler,
        "hipconfig": _HIPCONFIG,
        "rocminfo": "\n".join(info),
        "rocm_agent_enumerator": "; ".join(["echo gfx000", *[f'echo "{target}"'] * devices]),
        "amdgpu-arch": "; ".join([f'echo "{target}"'] * devices),
        "amd-smi": _AMD_SMI.format(version=ROCM_VERSION, devices=listed),
        "rocm-smi": _ROCM_SMI.format(devices=shown),
        **more,
    }
    write_tools(folder, tools)
    (folder / ".info").mkdir()
    (folder / ".info/version").write_text(ROCM_VERSION + "\n")
    major, minor, patch = ROCM_VERSION.split(".")
    header = (
        f"#define ROCM_VERSION_MAJOR {major}\n#define ROCM_VERSION_MINOR {minor}\n#define ROCM_VERSION_PATCH {patch}\n"
    )
    (folder / "include/rocm-core").mkdir()
    (folder / "include/rocm-core/rocm_version.h").write_text(header)
    return folder


def write_tools(folder: Path, tools: Mapping[str, str]) -> None:
    """Folders bin, include and lib, and a shell script in bin for each of the tools."""
    for name in ("bin", "include", "lib"):
        (folder / name).mkdir(parents=True)
    for name, body in tools.items():
        path = folder / "bin" / name
        path.write_text(_SCRIPT.format(body=body))
        path.chmod(0o755)
