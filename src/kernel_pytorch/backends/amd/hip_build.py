"""One run of the compiler: a HIP source in memory becomes a code object and the list of files it came from."""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

from kernel_pytorch.backends.amd.stored_kernel import StoredKernel
from kernel_pytorch.core.errors import HIPCompilationError
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, compile_device_text
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError
from kernel_pytorch.toolchain.identity import Stamp, identity_of, stamp
from kernel_pytorch.toolchain.program import build_device_code_text

_INCLUDES_HIP = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]hip/hip_runtime(_api)?\.h[>"]', re.MULTILINE)


def build_kernel(
    source: str, name: str, target: str, flags: tuple[str, ...], toolchain: Toolchain, keep_assembly: bool = False
) -> StoredKernel:
    """Compile `source` for `target`; `flags` are the -O level and whatever follows it.

    With `keep_assembly` the compiler writes assembly, which is kept, and the binary is made from that.

    Raises HIPCompilationError with the compiler's words, or if there is no kernel in the result.
    """
    file_name = _file_name(name)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kpt-depend-") as scratch:
        depend_file = Path(scratch) / "depend"
        extra = (*flags[1:], *_depend_flags(depend_file))
        options = CompileOptions(optimization=flags[0], extra=extra)
        try:
            assembly, binary = _compiled(
                _complete(source, file_name), target, toolchain, options, file_name, keep_assembly
            )
        except CompileFailed as failure:
            details = {
                "target": target,
                "messages": [str(message) for message in failure.messages],
                "stderr": failure.stderr,
            }
            raise HIPCompilationError(name, str(failure), details) from failure
        except ToolchainNotFoundError as error:
            raise HIPCompilationError(name, str(error)) from error
        except UnicodeEncodeError as error:
            raise HIPCompilationError(name, f"the source is not valid text: {error}") from error
        dependencies = _dependencies(depend_file)
    elapsed_ms = (time.perf_counter() - started) * 1e3
    if not read_code_object(binary).kernels:
        raise HIPCompilationError(
            name,
            "the source compiles, but the result holds no kernel: it has no __global__ function, or only templates "
            "that nothing instantiates",
            {"target": target},
        )
    return StoredKernel(binary, dependencies, elapsed_ms, identity_of(toolchain).description, assembly)


def _compiled(
    text: str, target: str, toolchain: Toolchain, options: CompileOptions, file_name: str, keep_assembly: bool
) -> tuple[str | None, bytes]:
    if not keep_assembly:
        return None, compile_device_text(text, target, toolchain, options, name=file_name)
    made = build_device_code_text(text, target, toolchain, options, file_name, lines=False)
    return made.assembly, made.code_object


def _complete(source: str, file_name: str) -> str:
    """The source with HIP's header, and with its own line numbers in messages."""
    if _INCLUDES_HIP.search(source):
        return source
    return f'#include <hip/hip_runtime.h>\n#line 1 "{file_name}"\n{source}'


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII).lstrip("-.")[:100] + ".hip"


def _depend_flags(depend_file: Path) -> list[str]:
    # The driver drops -MD in a device-only compile, so the compiler proper is told.
    wanted = ["-dependency-file", str(depend_file), "-MT", "kernel", "-sys-header-deps"]
    return [word for flag in wanted for word in ("-Xclang", flag)]


def _dependencies(depend_file: Path) -> tuple[Stamp, ...]:
    """The files in a make rule that clang wrote; the source itself, which is relative, is in the key."""
    text = depend_file.read_text(encoding="utf-8", errors="surrogateescape")
    rule = text.partition(":")[2].replace("\\\n", " ")
    words = re.findall(r"(?:\\.|[^\s\\])+", rule)
    paths = (re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words)
    return tuple(stamp(path) for path in dict.fromkeys(paths) if path.startswith("/"))
