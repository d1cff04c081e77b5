"""A folder that looks like an installed ROCm or CUDA to a build description. Its tools answer, and build nothing.

Build descriptions ask `hipcc --version`, look for `bin/nvcc`, read `.info/version`. The compilers refuse to compile:
a build that reaches them by another way than setuptools gets an error, never an empty object.
"""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.core.hardware import GPU

ROCM_VERSION = "7.1.0"
HIP_VERSION = "7.1.52802"
CUDA_VERSION = "12.8"

_SCRIPT = "#!/bin/sh\n{body}\n"
_REFUSE = 'echo "$0: this compiler is stood in for by kpt and builds nothing" >&2; exit 1'
_HIPCC = f"""case "$*" in
  *--version*|-v) echo "HIP version: {HIP_VERSION}"; echo "AMD clang version 20.0.0git (stood in for by kpt)"; exit 0;;
esac
{_REFUSE}"""
_HIPCONFIG = f"""case "$*" in
  *--version*) echo "{HIP_VERSION}";;
  *--platform*) echo amd;;
  *--compiler*) echo clang;;
  *--path*|*--rocmpath*) dirname "$(dirname "$0")";;
  *) echo "HIP version: {HIP_VERSION}"; echo "HIP_PLATFORM: amd";;
esac"""
_NVCC = f"""case "$*" in
  *--version*|*-V*) echo "nvcc: NVIDIA (R) Cuda compiler driver"
    echo "Cuda compilation tools, release {CUDA_VERSION}, V{CUDA_VERSION}.61"; exit 0;;
esac
{_REFUSE}"""


def rocm_folder(folder: Path, gpu: GPU) -> Path:
    """Write a stood-in ROCm for one GPU."""
    rocminfo = f'echo "  Name:                    {gpu.target.name}"; echo "  Device Type:             GPU"'
    tools = {
        "hipcc": _HIPCC,
        "amdclang++": _HIPCC,
        "hipconfig": _HIPCONFIG,
        "rocminfo": rocminfo,
        "rocm_agent_enumerator": f'echo gfx000; echo "{gpu.target.name}"',
        "amdgpu-arch": f'echo "{gpu.target.name}"',
    }
    _write(folder, tools)
    (folder / ".info").mkdir()
    (folder / ".info/version").write_text(ROCM_VERSION + "\n")
    major, minor, patch = ROCM_VERSION.split(".")
    header = (
        f"#define ROCM_VERSION_MAJOR {major}\n#define ROCM_VERSION_MINOR {minor}\n#define ROCM_VERSION_PATCH {patch}\n"
    )
    (folder / "include/rocm-core").mkdir()
    (folder / "include/rocm-core/rocm_version.h").write_text(header)
    return folder


def cuda_folder(folder: Path) -> Path:
    """Write a stood-in CUDA toolkit."""
    _write(folder, {"nvcc": _NVCC})
    (folder / "version.json").write_text(f'{{"cuda": {{"name": "CUDA SDK", "version": "{CUDA_VERSION}.0"}}}}\n')
    (folder / "lib64").symlink_to("lib")
    return folder


def _write(folder: Path, tools: dict[str, str]) -> None:
    for name in ("bin", "include", "lib"):
        (folder / name).mkdir(parents=True)
    for name, body in tools.items():
        path = folder / "bin" / name
        path.write_text(_SCRIPT.format(body=body))
        path.chmod(0o755)
