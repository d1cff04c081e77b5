"""CMake: the CUDA language

What: `project(... CUDA)`, `enable_language(CUDA)`, a variable with CUDA in it that project() is given, and folders
    whose targets have .cu sources.
Why: Without nvcc the configuration fails, and CMake compiles .cu files as CUDA.
Fix: kpt adds an option USE_HIP, off by default. On: project or enable_language names HIP in place of CUDA, the .cu
    files are marked as HIP sources, GPU_TARGETS or AMDGPU_TARGETS is used where CMAKE_HIP_ARCHITECTURES is not set,
    and __HIP_PLATFORM_AMD__ is defined, which ported sources test and CMake's HIP language does not define. Off: the
    original lines, untouched.
Source: https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-hip/CMakeLists.txt;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP401", "cmake-cuda-language", languages=("cmake",), safety=Safety.SAFE, triggers=(b"CUDA", b".cu"))

_ASKING = ("project", "enable_language")
_CREATORS = (
    "add_library", "add_executable", "target_sources", "pybind11_add_module", "nanobind_add_module",
    "python_add_library", "python3_add_library",
)  # fmt: skip


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    """Each command that asks for the language, and the file's own .cu targets."""
    by_project = any(command.name == "project" and "CUDA" in command.words()[1:] for command in file.commands)
    declared = cmake.OPTION in file.text
    for command in cmake.open_commands(file, "project", "enable_language", "check_language"):
        words = list(command.words())
        if "CUDA" not in words[1 if command.name == "project" else 0 :]:
            continue
        twin = " ".join("HIP" if word == "CUDA" and index else word for index, word in enumerate(words))
        if command.name != "project":
            twin = " ".join("HIP" if word == "CUDA" else word for word in words)
        instead = f"{command.name}({twin})"
        before = ""
        if command.name == "project" or (command.name == "enable_language" and not by_project):
            before = cmake.OPTION if not declared and not command.is_in_function else ""
            instead, declared = f"{cmake.ARCHITECTURES}\n{instead}\n{cmake.PLATFORM}", True
        message = f"{command.name} asks for the CUDA language, which needs nvcc"
        yield cmake.finding(RULE, file, command, message, cmake.gated(file, command, instead, before))
    yield from _language_lists(file, declared)
    yield from _sources(file)


def _language_lists(file: cmake.CMakeFile, declared: bool) -> Iterator[Finding]:
    """`set(languages CXX CUDA)` and `list(APPEND languages CUDA)`, where `project(name ${languages})` follows."""
    asking = [word for command in file.commands if command.name in _ASKING for word in command.words()]
    for command in cmake.open_commands(file, "set", "list"):
        words = list(command.words())
        values = words[1:] if command.name == "set" else words[2:] if words[:1] == ["APPEND"] else []
        name = words[0 if command.name == "set" else 1] if values else ""
        if "CUDA" not in values or f"${{{name}}}" not in asking:
            continue
        kept = words[: len(words) - len(values)] + ["HIP" if word == "CUDA" else word for word in values]
        instead = f"{cmake.ARCHITECTURES}\n{command.name}({' '.join(kept)})\n{cmake.PLATFORM}"
        before = "" if declared or command.is_in_function else cmake.OPTION
        declared = True
        message = f"{name} asks for the CUDA language, which needs nvcc"
        yield cmake.finding(RULE, file, command, message, cmake.gated(file, command, instead, before))


def _sources(file: cmake.CMakeFile) -> Iterator[Finding]:
    if "kpt_targets" in file.text:
        return
    creators = list(cmake.open_commands(file, *_CREATORS))
    # The sources of cuda_add_library and its like are marked by the file that stands for FindCUDA (KP402).
    named = any(
        word.endswith(".cu")
        for command in file.commands
        if not command.name.startswith("cuda_")
        for word in command.words()
    )
    if not creators or not named:
        return
    end = len(file.text)
    text = cmake.SOURCES if file.text.endswith("\n") else "\n" + cmake.SOURCES
    edit = Edit(Span(end, end), text.replace("\n", cmake.newline_of(file)).encode())
    yield cmake.finding(RULE, file, creators[0], "targets here have .cu sources, which CMake compiles as CUDA", (edit,))
