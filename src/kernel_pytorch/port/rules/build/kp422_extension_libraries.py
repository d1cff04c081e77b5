"""CUDA's libraries in an extension

What: `libraries=["cublas", "cudart"]` or `extra_ldflags=["-lcuda"]` of an extension.
Why: the linker does not find them on ROCm; torch renames sources, not these lists.
Fix: the list is chosen by the gate: HIP's libraries on ROCm (the runtime is linked by hipcc itself), the original
    elsewhere. A library without a counterpart of the same interface is named and left to a person.
Source: catalogue row 88; port/tables/libraries.csv.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.build_files.nvcc_flags import libraries
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.python.extension_calls import list_text, words_of

KEYWORDS = ("libraries", "extra_ldflags", "extra_link_args")
RULE = Rule("KP422", "extension-libraries", ("python",), Safety.SAFE, tuple(name.encode() for name in KEYWORDS))

_MODULE = "torch.utils.cpp_extension."
CALLS = (
    *(_MODULE + name for name in ("CUDAExtension", "CppExtension", "load", "load_inline")),
    "setuptools.Extension", "setuptools.extension.Extension", "distutils.core.Extension",
)  # fmt: skip


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls(*CALLS):
        for keyword in call.keywords:
            prefix = "" if keyword.arg == "libraries" else "-l"
            if keyword.arg not in KEYWORDS:
                continue
            words = words_of(keyword.value)
            if words is None:
                continue
            rows = {word: libraries().get(word.removeprefix(prefix)) for word in words if word.startswith(prefix)}
            known = {word: row for word, row in rows.items() if row is not None}
            if not known:
                continue
            span, text = module.span(keyword.value), module.text(keyword.value)
            missing = [f"{word} ({row.note})" for word, row in known.items() if row.hip == "?"]
            if missing:
                yield RULE.finding(module.src, span, f"libraries that ROCm has not: {', '.join(missing)}")
                continue
            kept = [word for word in words if word not in known or known[word].hip]
            hip = [prefix + known[word].hip if word in known else word for word in kept]
            edits = [Edit(span, list_text(hip, text) + b" if IS_ROCM else " + text)]
            yield RULE.finding(module.src, span, f"CUDA's libraries: {', '.join(known)}", edits)
