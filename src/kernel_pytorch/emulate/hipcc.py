"""The `hipcc` that a program on an emulated GPU finds: it compiles for that GPU, with the toolchain at hand.

`python -m kernel_pytorch.emulate.hipcc WORDS...` takes hipcc's words: -c, -E, --genco, -shared, -o, -I, -D, -l, -L and
what clang knows. Device code is made for the emulated GPU alone, whatever `--offload-arch` says.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.extension_headers import torch_headers_of
from kernel_pytorch.emulate.kept_objects import Compilation, KeptObjects, files_read
from kernel_pytorch.emulate.outside import step_outside
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.emulate.runtime_compile import keep_for_translator
from kernel_pytorch.toolchain import compile as compile_module
from kernel_pytorch.toolchain import compiler_flags, program, stages
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.compiler_flags import common_flags
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.other_passes import compile_plain
from kernel_pytorch.toolchain.program import DeviceCode, build_device_code, host_object
from kernel_pytorch.toolchain.rocm_folder import HIP_VERSION
from kernel_pytorch.toolchain.stages import bundle, link_program

_SOURCES = (".hip", ".cu", ".cpp", ".cc", ".cxx", ".c")
_WITH_VALUE = ("-o", "-I", "-D", "-L", "-l", "-x", "-include", "-isystem", "-MF", "-MT", "-MQ", "-Xclang", "-mllvm")
_TARGETS = ("--offload-arch", "--amdgpu-target", "--cuda-gpu-arch", "-parallel-jobs", "--rocm-path", "--hip-path")
_LINK = ("-l", "-L", "-Wl,", "-shared", "-static-lib", "-pthread", "-rdynamic")


@dataclass(frozen=True)
class _Unit:
    """A source, compiled: its object, its device code, and the files that both passes read."""

    compiled: bytes
    device: DeviceCode
    read: tuple[Path, ...]


@dataclass
class Words:
    """hipcc's command line, sorted by what it is about."""

    step: str = "link"  # or -c, -E, --genco
    output: Path | None = None
    sources: list[Path] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    compile: list[str] = field(default_factory=list)
    optimization: str = "-O3"
    std: str = "c++17"

    @property
    def options(self) -> CompileOptions:
        """What the toolchain is to be told."""
        return CompileOptions(self.optimization, extra=tuple(self.compile), std=self.std)


def read_words(words: list[str]) -> Words:
    """The command line, sorted. Raises UsageError where a word lacks its value."""
    found = Words()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in _WITH_VALUE:
            value = next(rest, "")
            if not value:
                raise UsageError(f"{word} lacks its value")
            _take_pair(found, word, value)
        elif word in ("-c", "-E", "--preprocess", "--genco", "-S"):
            found.step = "-E" if word == "--preprocess" else word
        elif word.startswith(_TARGETS) or (name == "-x" and equals):
            continue
        elif name in ("-std", "--std"):
            found.std = value
        elif word.startswith("-O") and len(word) <= 6:
            found.optimization = word
        elif word.startswith(_LINK):
            found.link.append(word)
        elif word.startswith("-"):
            found.compile.append(word)
        elif word == "/dev/null" or word.endswith(_SOURCES):
            found.sources.append(Path(word))
        else:
            found.objects.append(word)
    return found


def _take_pair(found: Words, word: str, value: str) -> None:
    if word == "-o":
        found.output = Path(value)
    elif word in ("-l", "-L"):
        found.link.append(word + value)
    elif word != "-x":  # the language: everything is HIP
        found.compile += [word, value]


def run(found: Words, target: str, toolchain: Toolchain) -> None:
    """Do what the words ask for. Raises CompileFailed, UsageError."""
    if found.step == "-E":
        _preprocess(found, target, toolchain)
    elif found.step == "--genco":
        (source,) = _one(found)
        made = _device(source, found.options, target, toolchain)
        (found.output or Path("a.out")).write_bytes(bundle({target: made.code_object}))
    elif found.step == "-c":
        for source in _one(found) if found.output else found.sources:
            output = found.output or Path(source.name).with_suffix(".o")
            output.write_bytes(_object(source, found, target, toolchain))
    elif found.step == "link":
        _link(found, target, toolchain)
    else:
        raise UsageError(f"{found.step} is not among what the emulator's hipcc does: -c, -E, --genco, linking")


def _one(found: Words) -> list[Path]:
    if len(found.sources) != 1:
        raise UsageError(f"{found.step} with -o takes one source, not {len(found.sources)}")
    return found.sources


def _preprocess(found: Words, target: str, toolchain: Toolchain) -> None:
    command = [*common_flags(toolchain, found.options, target), "--cuda-host-only", "-E", *map(str, found.sources)]
    command += ["-o", str(found.output)] if found.output else []
    done = subprocess.run(command, check=False)
    if done.returncode != 0:
        raise CompileFailed((), "", tuple(command))


def _device(source: Path, options: CompileOptions, target: str, toolchain: Toolchain) -> DeviceCode:
    made = build_device_code(source, target, toolchain, options)
    keep_for_translator(made)
    return made


def _object(source: Path, found: Words, target: str, toolchain: Toolchain) -> bytes:
    if source.suffix == ".c":
        return compile_plain(source, toolchain, found.options)
    words = (found.optimization, found.std, *found.compile, str(source))
    compilation = Compilation(f"{target} {toolchain.fingerprint()} {_own_code()}", words, source)
    kept = KeptObjects()
    made = kept.get(compilation)
    if made is None:
        unit = _compiled(source, found, target, toolchain)
        made = [unit.compiled, unit.device.code_object, unit.device.assembly.encode()]
        kept.put(compilation, unit.read, made)
    compiled, code_object, assembly = made
    keep_for_translator(DeviceCode(str(source), target, assembly.decode(), code_object))
    return compiled


def _compiled(source: Path, found: Words, target: str, toolchain: Toolchain) -> _Unit:
    leading = torch_headers_of(source, found.compile)
    if leading is not None:
        with suppress(CompileFailed):  # the source's own fault, or that of a file that was kept
            return _both_passes(source, replace(found.options, leading=leading), target, toolchain)
    return _both_passes(source, found.options, target, toolchain)


def _both_passes(source: Path, options: CompileOptions, target: str, toolchain: Toolchain) -> _Unit:
    with tempfile.TemporaryDirectory(prefix="kpt-hipcc-") as scratch:
        lists = [Path(scratch) / "device.d", Path(scratch) / "host.d"]
        device = build_device_code(source, target, toolchain, replace(options, files_read=lists[0]))
        host = host_object(source, device, toolchain, replace(options, files_read=lists[1]), Path(scratch))
        read = [file for one in lists for file in files_read(one.read_text(errors="surrogateescape"))]
        return _Unit(host.read_bytes(), device, tuple(read))


@functools.cache
def _own_code() -> str:
    """A hash of what decides how an object is made, besides the compiler."""
    digest = hashlib.sha256()
    for module in (program, stages, compile_module, compiler_flags):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


def _link(found: Words, target: str, toolchain: Toolchain) -> None:
    if not found.sources and not found.objects:
        raise UsageError("no input files")
    with tempfile.TemporaryDirectory(prefix="kpt-hipcc-") as scratch:
        objects = [Path(one) for one in found.objects]
        for number, source in enumerate(found.sources):
            objects.append(Path(scratch) / f"{number}.o")
            objects[-1].write_bytes(_object(source, found, target, toolchain))
        runtime = [f"-L{runtime_directory()}", "-lamdhip64"]
        link_program(objects, toolchain, found.output or Path("a.out"), [*found.link, *runtime])


def main(words: list[str]) -> int:
    """The command line; exit status 1 where the compiler or the linker refuses."""
    step_outside()
    if "--version" in words or words == ["-v"]:
        print(f"HIP version: {HIP_VERSION}")
        print("AMD clang version 20.0.0git (the emulator's: what it compiles is for the emulated GPU)")
        return 0
    described = os.environ.get("KPT_EMULATE_GPU")
    try:
        if not described:
            raise UsageError("KPT_EMULATE_GPU is not set: start the program with `kpt emulate`")
        run(read_words(words), json.loads(Path(described).read_text())["target"], find_toolchain())
    except CompileFailed as failure:
        print(failure.stderr or failure, file=sys.stderr)
        return 1
    except (UsageError, ToolchainNotFoundError, OSError, ValueError) as problem:
        print(f"hipcc: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main(sys.argv[1:]))
