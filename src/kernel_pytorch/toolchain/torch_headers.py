"""torch's headers as a ROCm build of torch has them, out of whichever torch is installed.

A torch extension includes torch's headers, and those speak CUDA until torch's own tool, torch.utils.hipify, renames
them. Only a ROCm wheel brings the renamed ones: for any other they are made once, with the tool of that wheel, and kept
in the cache folder. torch itself is never imported: its files are read, and its tool runs in a process of its own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_code
from kernel_pytorch.toolchain.compile import CompileOptions

HIPIFY_TIMEOUT_S = 600.0
# What torch.utils.cpp_extension passes on ROCm, to every source and to those with kernels.
DEFINES = ("USE_ROCM=1", "HIPBLAS_V2")
KERNEL_DEFINES = (
    "CUDA_HAS_FP16=1",
    "__HIP_NO_HALF_OPERATORS__=1",
    "__HIP_NO_HALF_CONVERSIONS__=1",
    "HIP_ENABLE_WARP_SYNC_BUILTINS=1",
)

# Loaded by its path: `import torch` would take seconds, and fail where torch's libraries do not load.
_HIPIFY = """
import importlib.util, json, sys
place, folder, kind, includes, header_dirs = *sys.argv[1:4], json.loads(sys.argv[4]), json.loads(sys.argv[5])
spec = importlib.util.spec_from_file_location("hipify", place + "/__init__.py", submodule_search_locations=[place])
sys.modules["hipify"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["hipify"])
from hipify import hipify_python
made = hipify_python.hipify(project_directory=folder, output_directory=folder, includes=includes, show_detailed=False,
                            header_include_dirs=header_dirs, is_pytorch_extension=kind == "extension")
print("RESULT" + json.dumps({key: value.hipified_path for key, value in made.items() if value.hipified_path}))
"""
# Where torch keeps headers that its own ROCm build renames.
_RENAMED = (
    "ATen/cuda", "ATen/native/cuda", "ATen/native", "c10/cuda", "torch/csrc/cuda", "torch/csrc/inductor",
    "torch/csrc/stable",
)  # fmt: skip
# Written by torch's own CMake for a ROCm build; a wheel for CUDA or the CPU does not have them.
_GENERATED = {
    "ATen/hip/HIPConfig.h": "#pragma once\n#define AT_CUDNN_ENABLED() 0\n#define AT_CUSPARSELT_ENABLED() 0\n"
    "#define AT_HIPSPARSELT_ENABLED() 0\n#define AT_ROCM_ENABLED() 1\n#define AT_MAGMA_ENABLED() 0\n",
    "c10/hip/impl/hip_cmake_macros.h": "#pragma once\n#define C10_HIP_BUILD_SHARED_LIBS\n",
}


class TorchHeadersError(UsageError):
    """torch's headers cannot be had here. The message says why and what to do."""


@dataclass(frozen=True)
class InstalledTorch:
    """A torch that is installed: its folder, its version, and the HIP version it was built for, if for ROCm."""

    folder: Path
    version: str
    hip: str | None
    standard: str

    @property
    def include(self) -> Path:
        return self.folder / "include"


def installed_torch() -> InstalledTorch:
    """The torch of this Python. Raises TorchHeadersError where there is none."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # something else took the name in this process
        spec = None
    if spec is None or spec.origin is None:
        raise TorchHeadersError("torch is not installed: pip install torch (any build: the headers are what is needed)")
    return torch_at(Path(spec.origin).parent)


def torch_at(folder: Path) -> InstalledTorch:
    """The torch in a folder such as site-packages/torch, read without importing it."""
    try:
        said = (folder / "version.py").read_text(encoding="utf-8")
        build = (folder / "utils/cpp_extension.py").read_text(encoding="utf-8")
    except OSError as problem:
        raise TorchHeadersError(f"{folder} is not a whole torch: {problem}") from problem
    if not (folder / "include/torch").is_dir():
        raise TorchHeadersError(f"torch in {folder} has no headers (include/torch): install a wheel of torch")
    standards = re.findall(r"-std=c\+\+(\d+)", build)
    return InstalledTorch(
        folder,
        _assigned("__version__", said) or "unknown",
        _assigned("hip", said),
        f"c++{max(map(int, standards), default=17)}",
    )


def rocm_headers(torch: InstalledTorch, cache: Path | None = None) -> Path:
    """The folder of torch's headers in their ROCm form. Made once; a ROCm torch's are used as they are."""
    if torch.hip is not None:
        return torch.include
    identity = hashlib.sha256((torch.folder / "version.py").read_bytes())
    identity.update(repr((str(torch.folder), _HIPIFY, _RENAMED, _GENERATED)).encode())
    named = re.sub(r"[^\w.+-]", "_", torch.version)
    folder = (cache or default_cache()) / f"torch-headers-{named}-{identity.hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".torch-headers-", dir=folder.parent) as scratch:
            made = Path(scratch).resolve() / "include"
            # A copy, never a link: the tool rewrites some files where they stand.
            shutil.copytree(torch.include, made)
            hipify(torch, made, "torch", [f"{made}/{place}/*" for place in _RENAMED])
            for name, text in _GENERATED.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_text(text, encoding="utf-8")
            _keep(made, folder)
    except OSError as problem:
        raise TorchHeadersError(
            f"torch's headers cannot be kept in {folder.parent}: {problem}; KPT_CACHE_DIR names another folder"
        ) from problem
    return folder


def hipify(
    torch: InstalledTorch, folder: Path, kind: str, includes: Sequence[str], header_dirs: Sequence[Path] = ()
) -> dict[Path, Path]:
    """torch.utils.hipify over a folder, in place. `kind` is "extension" or "torch". Returns old path to new."""
    command = python_code(_HIPIFY, str(torch.folder / "utils/hipify"), str(folder), kind, isolated=True)
    command += [json.dumps(list(includes)), json.dumps([str(one) for one in header_dirs])]
    try:
        done = run_child(command, timeout_s=HIPIFY_TIMEOUT_S)
    except subprocess.TimeoutExpired as problem:
        raise TorchHeadersError(f"torch.utils.hipify did not finish within {HIPIFY_TIMEOUT_S:g} s") from problem
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
    if line is None:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TorchHeadersError(f"torch.utils.hipify of torch {torch.version} failed: {last}")
    return {Path(old).resolve(): Path(new) for old, new in json.loads(line.removeprefix("RESULT")).items()}


def extension_options(options: CompileOptions, torch: InstalledTorch, headers: Path, kernels: bool) -> CompileOptions:
    """Options as torch's own extension build has them on ROCm; without `kernels`, for a source of the host compiler."""
    flags = ["-isystem", str(headers), "-isystem", str(headers / "torch/csrc/api/include")]
    flags += ["-isystem", sysconfig.get_paths()["include"]]
    # The last -x wins: torch's build gives a .cpp to the C++ compiler, which knows nothing of HIP's language.
    flags += [] if kernels else ["-x", "c++"]
    return replace(
        options,
        std=torch.standard,
        defines=(*options.defines, *DEFINES, *(KERNEL_DEFINES if kernels else ())),
        extra=(*options.extra, *flags),
    )


def _keep(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        # Another process was faster: what it made is the same.
        if not folder.is_dir():
            raise


def _assigned(name: str, text: str) -> str | None:
    found = re.search(rf"^{name}\s*(?::[^=\n]*)?=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return found[1] if found else None
