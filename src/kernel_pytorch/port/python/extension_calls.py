"""Where a setup.py or a run-time build speaks to nvcc: flag lists, library lists, the CUDA folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.port.python.module import PythonModule

CUDA_HOME = "torch.utils.cpp_extension.CUDA_HOME"
BUILD_WORDS = (b"cpp_extension", b"CUDAExtension", b"CppExtension")
FLAG_KEYWORDS = ("extra_cuda_cflags", "extra_nvcc_flags", "nvcc")


def nvcc_flag_values(module: PythonModule) -> Iterator[ast.expr]:
    """Where nvcc's flags come from: `{"nvcc": X}`, `dict(nvcc=X)`, `d["nvcc"] = X`, `extra_cuda_cflags=X`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "nvcc":
                    yield value
        elif isinstance(node, ast.keyword) and node.arg in FLAG_KEYWORDS:
            yield node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            index = node.targets[0].slice
            if isinstance(index, ast.Constant) and index.value == "nvcc":
                yield node.value


def words_of(node: ast.expr) -> list[str] | None:
    """The strings of a list that holds nothing else."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    words = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return words if len(words) == len(node.elts) else None


def list_text(words: list[str], like: bytes) -> bytes:
    """A list of strings, in the quotes of the original."""
    quote = "'" if b"'" in like and b'"' not in like else '"'
    return ("[" + ", ".join(f"{quote}{word}{quote}" for word in words) + "]").encode()


def is_build_file(module: PythonModule) -> bool:
    """Whether the file builds an extension through torch."""
    return any(word in module.src.data for word in BUILD_WORDS)
