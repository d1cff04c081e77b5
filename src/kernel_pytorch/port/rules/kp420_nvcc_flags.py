"""nvcc's flags in a torch extension

What: the flags given to nvcc by an extension: `extra_compile_args={"nvcc": [...]}`, `extra_cuda_cflags=[...]`.
Why: on ROCm torch hands the same list to clang, which stops at an unknown argument; and torch's own HIP flags switch
    the half operators off under other names than CUDA's.
Fix: the list is chosen by the gate and the original stays as it is. A list of plain strings is translated where it
    stands; one that is put together at run time goes through a small function that does the same. --use_fast_math
    becomes -ffp-contract=fast -fno-math-errno and never -ffast-math, which also assumes that there is no NaN.
    Architectures are left to torch, which reads PYTORCH_ROCM_ARCH.
Source: catalogue rows 80, 81, 83, 89; port/tables/nvcc_flags.csv.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.build_files.nvcc_flags import flag_table, map_flags
from kernel_pytorch.port.cuda.unit import Unit
from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.rules.extension_calls import is_build_file, list_text, nvcc_flag_values, words_of
from kernel_pytorch.port.rules.gated_import import is_rocm_branch
from kernel_pytorch.port.source import SourceFile

RULE = Rule("KP420", "nvcc-flags", ("python",), Safety.SAFE, (b"nvcc", b"extra_cuda_cflags"))

HALF = ("__CUDA_NO_HALF_OPERATORS__", "__CUDA_NO_HALF_CONVERSIONS__")
HELPER = b'''\
def _hip_flags(flags):
    """nvcc's flags in hipcc's terms. The architecture is torch's business: PYTORCH_ROCM_ARCH."""
    with_value = {"-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code", "--gpu-code", "-Xptxas",
                  "--ptxas-options", "-Xnvlink", "--nvlink-options", "-Xcudafe", "-Xfatbin", "-ccbin", "-t",
                  "--threads", "--compiler-bindir", "-maxrregcount", "--maxrregcount", "-ftz", "--ftz", "-prec-div",
                  "--prec-div", "-prec-sqrt", "--prec-sqrt", "-cudart", "--cudart", "-diag-suppress", "--diag-suppress",
                  "-keep-dir", "--split-compile"}
    fast = ["-ffp-contract=fast", "-fno-math-errno"]  # -ffast-math would also assume that there is no NaN
    dropped = ["expt-relaxed-constexpr", "expt-extended-lambda", "extended-lambda", "restrict", "fmad=true",
               "allow-unsupported-compiler", "forward-unknown-to-host-compiler"]
    other = {dash + name: [] for name in dropped for dash in ("-", "--")}
    other.update({"--extra-device-vectorization": [], "--resource-usage": [], "-res-usage": [], "-src-in-ptx": [],
                  "--source-in-ptx": [], "-Wno-deprecated-gpu-targets": [], "-dw": [], "-use_fast_math": fast,
                  "--use_fast_math": fast, "-fmad=false": ["-ffp-contract=off"], "--fmad=false": ["-ffp-contract=off"],
                  "-G": ["-g"], "--device-debug": ["-g"], "-lineinfo": ["-gline-tables-only"],
                  "--generate-line-info": ["-gline-tables-only"], "-disable-warnings": ["-w"],
                  "--disable-warnings": ["-w"], "-keep": ["--save-temps"], "--keep": ["--save-temps"],
                  "-dc": ["-fgpu-rdc", "-c"], "--device-c": ["-fgpu-rdc", "-c"], "-dryrun": ["-###"],
                  "--dryrun": ["-###"]})
    valued = ("-Xcompiler", "--compiler-options", "-rdc", "--relocatable-device-code", "-default-stream",
              "--default-stream")
    left, kept = [], []
    for flag in map(str, flags):
        # "-Xptxas -O3" in one string is two words; "-DNAME=a b" is one.
        left += flag.split() if flag.split(" ")[0] in with_value.union(valued) else [flag]
    while left:
        word = left.pop(0)
        name, joined, value = word.partition("=")
        if name in valued:
            value = (value if joined else left.pop(0)).strip("'\\"")
            if "ompiler" in name:
                kept += value.replace(",", " ").split()
            elif "stream" in name:
                kept.append("-fgpu-default-stream=" + value)
            elif value.lower() != "false":
                kept.append("-fgpu-rdc")
        elif name in with_value:
            left = left if joined else left[1:]
        elif word in other:
            kept += other[word]
        else:
            kept.append(word)
            if "__CUDA_NO_HALF_" in word:
                kept.append(word.replace("__CUDA_NO_", "__HIP_NO_"))
    return kept
'''


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    module = python_module(src)
    if module is None or not is_build_file(module):
        return
    helper_is_there = b"def _hip_flags(" in src.data
    for value in sorted(nvcc_flag_values(module), key=lambda node: module.span(node).start):
        gate = value.test if isinstance(value, ast.IfExp) else None
        is_gated = gate is not None and module.gate_value(gate) is not None
        if is_gated or not module.reached_on_rocm(value) or is_rocm_branch(module, value):
            continue
        words = words_of(value)
        changed = [word for word in _reached_words(module, value) if translated([word]) != [word]]
        if not changed:
            continue
        span, text = module.span(value), module.text(value)
        unknown = [word for word in dict.fromkeys(changed) if not any(name in word for name in HALF)]
        message = f"flags that hipcc does not take: {', '.join(unknown[:4])}"
        if not unknown:
            message = "torch switches the half operators off under HIP's names, and only CUDA's are switched on here"
        if words is not None:
            hip = list_text(translated(words), text)
            edits = [Edit(span, hip + b" if IS_ROCM else " + text)]
        else:
            edits = [Edit(span, b"_hip_flags(" + text + b") if IS_ROCM else " + text)]
            if not helper_is_there:
                edits.append(_helper(module, span.start))
                helper_is_there = True
        yield RULE.finding(src, span, message, edits)


def translated(words: list[str]) -> list[str]:
    """A list of nvcc's words for hipcc."""
    kept: list[str] = []
    single = [part for word in words for part in (word.split() if word.split(" ")[0] in flag_table() else [word])]
    unchanged = set(single)
    mapped = map_flags(single, "").words
    for word in (part for item in mapped for part in ([item] if item in unchanged else item.split(" ")) if part):
        kept.append(word)
        if any(name in word for name in HALF):
            kept.append(word.replace("__CUDA_NO_", "__HIP_NO_"))
    return kept


def _reached_words(module: PythonModule, value: ast.expr) -> list[str]:
    """The flags that can get into a value: its own strings, and those of the lists and functions that it names."""
    words = words_of(value)
    if words is not None:
        return words
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    sources: list[ast.AST] = [value]
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id in names for target in targets):
                sources.append(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id in names:
                sources.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name in names:
            sources.append(node)
    found = (node for source in sources for node in ast.walk(source) if isinstance(node, ast.Constant))
    return [
        node.value
        for node in found
        if isinstance(node.value, str) and node.value.startswith("-") and module.reached_on_rocm(node)
    ]


def _helper(module: PythonModule, before: int) -> Edit:
    """The function goes behind the imports at the head of the file."""
    line = 0
    for statement in module.tree.body:
        if module.span(statement).start >= before:
            break
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and statement.end_lineno:
            line = statement.end_lineno
    at = module.line_span(line).end if line else 0
    blank = module.newline * 2
    return Edit(Span(at, at), blank + HELPER.replace(b"\n", module.newline) + module.newline)
