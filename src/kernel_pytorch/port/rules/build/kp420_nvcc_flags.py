"""nvcc's flags in a torch extension

What: The flags that an extension gives to nvcc: `extra_compile_args={"nvcc": [...]}`, `extra_cuda_cflags=[...]`.
Why: On ROCm torch hands the same list to clang, which stops at an unknown argument. torch's own HIP flags also switch
    the half operators off under other names than CUDA's.
Fix: The gate chooses the list, and the original stays as it is. kpt translates a list of plain strings where it
    stands. A list that is put together at run time goes through a small function that does the same for the flags this
    file names. --use_fast_math becomes -ffp-contract=fast -fno-math-errno and never -ffast-math, which also assumes
    that there is no NaN. Architectures are left to torch, which reads PYTORCH_ROCM_ARCH.
Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py;
    https://github.com/vllm-project/vllm-gguf-plugin/pull/85; Joluck/RWKV-PEFT#79;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md (-ffast-math); port/tables/nvcc_flags.csv
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.build_files.hip_flags import HALF, NEWER_STANDARD, hip_flags_function
from kernel_pytorch.port.build_files.nvcc_flags import flag_table, flags_in_two_words, map_flags
from kernel_pytorch.port.python.extension_calls import is_build_file, list_text, nvcc_flag_values, words_of
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP420", "nvcc-flags", ("python",), Safety.SAFE, (b"nvcc", b"extra_cuda_cflags"))


def check(module: PythonModule) -> Iterator[Finding]:
    if not is_build_file(module):
        return
    helper_is_there = b"def _hip_flags(" in module.src.data
    for value in sorted(nvcc_flag_values(module), key=lambda node: module.span(node).start):
        gate = value.test if isinstance(value, ast.IfExp) else None
        is_gated = gate is not None and module.gate_value(gate) is not None
        if is_gated or not module.reached_on_rocm(value) or is_rocm_branch(module, value):
            continue
        words = words_of(value)
        reached = _reached_words(module, value)
        changed = [word for word in reached if hip_words([word]) != [word]] + flags_in_two_words(words or ())
        if not changed:
            continue
        span, text = module.span(value), module.text(value)
        unknown = [word for word in dict.fromkeys(changed) if not _switches_half_on(word)]
        message = f"flags that hipcc does not take: {', '.join(unknown[:4])}"
        if not unknown:
            message = "torch switches the half operators off under HIP's names, and only CUDA's are switched on here"
        if words is not None:
            hip = list_text(hip_words(words), text)
            edits = [Edit(span, hip + b" if IS_ROCM else " + text)]
        else:
            edits = [Edit(span, b"_hip_flags(" + text + b") if IS_ROCM else " + text)]
            if not helper_is_there:
                edits.append(_helper(module, span.start))
                helper_is_there = True
        yield RULE.finding(module.src, span, message, edits)


def hip_words(words: list[str]) -> list[str]:
    """A list of nvcc's words for hipcc."""
    kept: list[str] = []
    single = [part for word in words for part in (word.split() if _is_several(word) else [word])]
    unchanged = set(single)
    mapped = map_flags(single, "").words
    for word in (part for item in mapped for part in ([item] if item in unchanged else item.split(" ")) if part):
        kept.append(NEWER_STANDARD.get(word, word))
        if _switches_half_on(word):
            kept.append(word.replace("__CUDA_NO_", "__HIP_NO_"))
    return kept


def _is_several(word: str) -> bool:
    """ "-Xptxas -O3" and "-O3 -Xptxas -O3" in one string are several words; "-DNAME=a b" is one."""
    first, *others = word.split(" ")
    return first in flag_table() or (
        any(one in flag_table() for one in others) and not word.startswith("-D") and '"' not in word
    )


def _switches_half_on(word: str) -> bool:
    """-U of what torch defines; with -D nothing is to do: torch defines HIP's names by itself."""
    return word.startswith("-U") and any(name in word for name in HALF)


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
    return [
        text
        for source in sources
        for node, text in _strings(source)
        if text.startswith("-") and module.reached_on_rocm(node)
    ]


def _strings(node: ast.AST) -> Iterator[tuple[ast.Constant, str]]:
    """The strings below a node that can end up in a list: not those that are looked for in one."""
    if isinstance(node, (ast.Set, ast.Compare)):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node, node.value
    for child in ast.iter_child_nodes(node):
        yield from _strings(child)


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
    text = hip_flags_function(module.src.data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return Edit(Span(at, at), blank + text.replace(b"\n", module.newline) + module.newline)
