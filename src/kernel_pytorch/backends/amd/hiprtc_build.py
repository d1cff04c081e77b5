"""A HIP source in memory compiled by hiprtc, for machines that have ROCm's libraries and none of its programs."""

from __future__ import annotations

import re
import time

from kernel_pytorch.backends.amd.hiprtc import Hiprtc, HiprtcFailed, include_folders
from kernel_pytorch.backends.amd.stored_kernel import StoredKernel
from kernel_pytorch.core.errors import HIPCompilationError
from kernel_pytorch.toolchain.code_object import read_code_object

# hiprtc knows the runtime by itself and has no file of that name.
_RUNTIME = re.compile(r'^([ \t]*#[ \t]*include[ \t]*[<"]hip/hip_runtime(?:_api)?\.h[>"])', re.MULTILINE)
_OTHER_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]', re.MULTILINE)


def build_with_hiprtc(source: str, name: str, target: str, flags: tuple[str, ...], compiler: Hiprtc) -> StoredKernel:
    """Compile `source` for `target`. Raises HIPCompilationError with the compiler's words."""
    text = _RUNTIME.sub(r"// \1", source)
    options = [f"--offload-arch={target}", "-std=c++17", *flags]
    if _OTHER_INCLUDE.search(text):
        options += [f"-I{folder}" for folder in include_folders(compiler.path)]
    started = time.perf_counter()
    try:
        made = compiler.compile(text, re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII) + ".hip", options)
        kernels = read_code_object(made.binary).kernels
    except HiprtcFailed as failure:
        raise HIPCompilationError(name, failure.log, {"target": target, "compiler": compiler.path}) from failure
    except OSError as error:
        raise HIPCompilationError(name, f"hiprtc could not be run: {error}", {"target": target}) from error
    if not kernels:
        raise HIPCompilationError(
            name,
            "the source compiles, but the result holds no kernel: it has no __global__ function, or only templates "
            "that nothing instantiates",
            {"target": target},
        )
    elapsed_ms = (time.perf_counter() - started) * 1e3
    return StoredKernel(made.binary, (), elapsed_ms, compiler.identity.description)
