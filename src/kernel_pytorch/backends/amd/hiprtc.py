"""hiprtc, AMD's compiler as a library, through ctypes: it comes with every ROCm, and with ROCm builds of torch.

It needs no GPU. A library that this process cannot load, because it was unpacked with a newer C library of its own
beside it (scripts/fetch_rocm_debian.py), is run in a process of its own with that C library.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_pytorch.backends.shared_library import library_candidates, open_library
from kernel_pytorch.core.python_child import python_code
from kernel_pytorch.toolchain.identity import ToolchainIdentity, stamp
from kernel_pytorch.toolchain.roots import unpacked_root

TIMEOUT_S = 300.0
# Where hiprtc puts the source for its compiler; the person who reads the message knows another name.
_SCRATCH = re.compile(r"(?<![^\s:])/\S*/comgr-[^/\s]+/input/")
_SUCCESS = 0
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "hiprtcVersion": (ctypes.c_void_p, ctypes.c_void_p),
    "hiprtcCreateProgram": (
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
    ),
    "hiprtcCompileProgram": (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
    "hiprtcAddNameExpression": (ctypes.c_void_p, ctypes.c_char_p),
    "hiprtcGetLoweredName": (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    "hiprtcGetProgramLogSize": (ctypes.c_void_p, ctypes.c_void_p),
    "hiprtcGetProgramLog": (ctypes.c_void_p, ctypes.c_void_p),
    "hiprtcGetCodeSize": (ctypes.c_void_p, ctypes.c_void_p),
    "hiprtcGetCode": (ctypes.c_void_p, ctypes.c_void_p),
    "hiprtcDestroyProgram": (ctypes.c_void_p,),
}  # fmt: skip


class HiprtcNotFoundError(OSError):
    """No libhiprtc that can be used; the message says what was tried."""


class HiprtcFailed(Exception):
    """hiprtc did not compile a source. `log` holds its words."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


@dataclass(frozen=True)
class HiprtcResult:
    """A code object, what the compiler said on the way, and the symbols of the names that were asked for."""

    binary: bytes
    log: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hiprtc:
    """A libhiprtc to compile with. `loader` is the command that runs a program with the library's own C library."""

    path: str
    version: str
    loader: tuple[str, ...] = ()

    @property
    def identity(self) -> ToolchainIdentity:
        """Changes when the library or the compiler behind it does."""
        library = Path(self.path).resolve()
        parts = [self.path, *sorted(str(item) for item in library.parent.glob("libamd_comgr.so*"))]
        parts += [f"{folder}/hip/hip_version.h" for folder in include_folders(self.path)]
        stamps = json.dumps([stamp(str(Path(part).resolve())) for part in parts])
        return ToolchainIdentity(hashlib.sha256(stamps.encode()).hexdigest(), f"hiprtc {self.version}: {self.path}")

    def compile(
        self,
        source: str,
        name: str,
        options: Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        expressions: Sequence[str] = (),
    ) -> HiprtcResult:
        """Compile HIP source; `name` stands in messages, `headers` are files by the name they are included by.

        `expressions` are kernels to instantiate ("scale<float>"), whose symbols come back. Raises HiprtcFailed with
        the compiler's words."""
        request = {
            "path": self.path,
            "source": source,
            "name": name,
            "options": list(options),
            "headers": dict(headers or {}),
            "expressions": list(expressions),
        }
        if any("\0" in text for text in (source, name, *options)):
            raise HiprtcFailed("the source, its name or an option holds a NUL character")
        return _ask(self.loader, request) if self.loader else compile_here(open_hiprtc(self.path), request)


def include_folders(library: str) -> list[str]:
    """ROCm's headers that belong to the library: of the installation it lies in."""
    above = Path(library).resolve().parents
    return [str(folder / "include") for folder in above[:4] if (folder / "include/hip/hip_version.h").is_file()][:1]


def find_hiprtc() -> Hiprtc:
    """The libhiprtc of torch, of ROCm, or of an unpacked tree. Raises HiprtcNotFoundError."""
    problems = []
    for path in hiprtc_candidates():
        try:
            return Hiprtc(path, _version(open_hiprtc(path)))
        except OSError as error:
            problems.append(f"{Path(path).name}: {error}")
    for path, loader in _unpacked():
        try:
            return Hiprtc(path, str(_reply(loader, {"path": path})["version"]), loader)
        except (OSError, HiprtcFailed) as error:
            problems.append(f"{path}: {error}")
    tried = f" ({'; '.join(problems)})" if problems else ""
    raise HiprtcNotFoundError(f"libhiprtc.so was not found{tried}: it comes with ROCm, and with ROCm builds of torch")


def hiprtc_candidates() -> Iterator[str]:
    """Where libhiprtc may lie, best first."""
    named = [os.environ.get(name, "") for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")]
    roots = [root for root in (*named, "/opt/rocm") if root]
    folders = ("torch/lib", "_rocm_sdk_core/lib", "_rocm_sdk_*/lib")
    return library_candidates("hiprtc", roots=roots, package_folders=folders)


def open_hiprtc(path: str) -> ctypes.CDLL:
    """Open a libhiprtc. Raises OSError if it is not one."""
    return open_library(path, _SIGNATURES)


def compile_here(library: ctypes.CDLL, request: Mapping[str, Any]) -> HiprtcResult:
    """One compile in this process."""
    program = ctypes.c_void_p()
    headers = request["headers"]
    texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
    names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
    source = request["source"].encode(errors="surrogatepass")
    created = library.hiprtcCreateProgram(
        ctypes.byref(program), source, request["name"].encode(), len(headers), texts, names
    )
    _check(library, created)
    try:
        for expression in request["expressions"]:
            _check(library, library.hiprtcAddNameExpression(program, expression.encode()))
        options = (ctypes.c_char_p * len(request["options"]))(*(option.encode() for option in request["options"]))
        status = library.hiprtcCompileProgram(program, len(options), options)
        log = _text(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        log = _SCRATCH.sub("", log)
        if status != _SUCCESS:
            raise HiprtcFailed(log or _error_text(library, status))
        symbols = {}
        for expression in request["expressions"]:
            lowered = ctypes.c_char_p()
            _check(library, library.hiprtcGetLoweredName(program, expression.encode(), ctypes.byref(lowered)))
            symbols[expression] = (lowered.value or b"").decode()
        return HiprtcResult(_text(library, program, "Code"), log, symbols)
    finally:
        library.hiprtcDestroyProgram(ctypes.byref(program))


def serve() -> None:
    """One compile, or a question for the version, as JSON on standard input and output; see `_ask`."""
    request = json.load(sys.stdin)
    try:
        library = open_hiprtc(request["path"])
        if "source" not in request:
            reply: dict[str, Any] = {"version": _version(library)}
        else:
            made = compile_here(library, request)
            reply = {"binary": base64.b64encode(made.binary).decode(), "log": made.log, "symbols": dict(made.symbols)}
    except HiprtcFailed as failure:
        reply = {"failed": failure.log}
    except OSError as error:
        reply = {"cannot_load": str(error)}
    json.dump(reply, sys.stdout)


def _ask(loader: tuple[str, ...], request: Mapping[str, Any]) -> HiprtcResult:
    reply = _reply(loader, request)
    return HiprtcResult(base64.b64decode(reply["binary"]), reply["log"], reply["symbols"])


def _reply(loader: tuple[str, ...], request: Mapping[str, Any]) -> dict[str, Any]:
    code = "import sys; sys.path[:0] = [sys.argv[1]]; from kernel_pytorch.backends.amd.hiprtc import serve; serve()"
    ours = str(Path(__file__).parents[3])
    command = [*loader, *python_code(code, ours, python=str(Path(sys.executable).resolve()), isolated=True)]
    import subprocess  # a kernel that is in the cache needs no process

    from kernel_pytorch.core.process import run_child

    try:
        done = run_child(command, text=json.dumps(request), timeout_s=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OSError(f"hiprtc in a process of its own: {error}") from error
    try:
        reply = json.loads(done.stdout)
    except ValueError:
        message = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise OSError(f"hiprtc in a process of its own ended without an answer: {message}") from None
    if "cannot_load" in reply:
        raise OSError(reply["cannot_load"])
    if "failed" in reply:
        raise HiprtcFailed(reply["failed"])
    return dict(reply)


def _unpacked() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Libraries in an unpacked tree, with the command that starts a program on the C library unpacked beside them."""
    root = unpacked_root()
    if root is None:
        return
    root = root.absolute()
    for path in sorted(root.glob("usr/lib/*-linux-gnu/libhiprtc.so.*")):
        for start in sorted(path.parent.glob("ld-linux*.so*")):
            folders = [path.parent, *sorted(root.glob("usr/lib/llvm-*/lib"))]
            yield str(path), (str(start), "--library-path", ":".join(map(str, folders)))


def _version(library: ctypes.CDLL) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.hiprtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(library, f"hiprtcGet{what}Size")(program, ctypes.byref(size)) != _SUCCESS or size.value == 0:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    if getattr(library, f"hiprtcGet{what}")(program, buffer) != _SUCCESS:
        return b""
    return buffer.raw


def _check(library: ctypes.CDLL, status: int) -> None:
    if status != _SUCCESS:
        raise HiprtcFailed(_error_text(library, status))


def _error_text(library: ctypes.CDLL, status: int) -> str:
    library.hiprtcGetErrorString.restype = ctypes.c_char_p
    message = library.hiprtcGetErrorString(ctypes.c_int(status))
    return f"{message.decode(errors='replace') if message else 'unknown error'} ({status})"
