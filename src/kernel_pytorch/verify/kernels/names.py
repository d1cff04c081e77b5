"""Kernel names across vendors: what is the same kernel in a CUDA program and in its HIP port, and what its
signature says about its buffers."""

from __future__ import annotations

import re

from kernel_pytorch.toolchain.demangle import demangle, short_name

# Types that have another name on the other side.
_SAME_TYPE = (
    (r"\b(?:__half|_Float16|__fp16|c10::Half|at::Half)\b", "half"),
    (r"\b(?:__nv_bfloat16|__hip_bfloat16|hip_bfloat16|__bf16|c10::BFloat16|at::BFloat16)\b", "bfloat16"),
    (r"\b__(?:nv|hip)_fp8_(e4m3|e5m2)(?:_fnuz)?\b", r"fp8_\1"),
    (r"\bHIP_vector_type<([a-z ]+), ?(\d)u?>", r"\1\2"),
    (r"\bunsigned (char|short|int|long)(\d)\b", r"u\1\2"),
    (r"\blong long\b", "long"),
    (r"\(\w[\w ]*\)(?=-?\d)", ""),  # (int)256
    (r"\b(\d+)(?:u|ul|ull|l|ll)\b", r"\1"),
    (r"\btrue\b", "1"),
    (r"\bfalse\b", "0"),
)
_FLOATS = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16"}
# NVIDIA and new AMD GPUs store OCP's 8-bit floats, MI300 the FNUZ ones: the same values under other bits.
_FLOAT8 = {
    "__nv_fp8_e4m3": "float8_e4m3fn", "__hip_fp8_e4m3": "float8_e4m3fn", "__hip_fp8_e4m3_fnuz": "float8_e4m3fnuz",
    "__nv_fp8_e5m2": "float8_e5m2", "__hip_fp8_e5m2": "float8_e5m2", "__hip_fp8_e5m2_fnuz": "float8_e5m2fnuz",
}  # fmt: skip
_INTEGERS = {
    "int": "int32", "unsigned int": "int32", "uint": "int32", "long": "int64", "unsigned long": "int64",
    "short": "int16", "unsigned short": "int16", "ushort": "int16", "signed char": "uint8", "bool": "uint8",
}  # fmt: skip


def kernel_name(symbol: str) -> str:
    """The name as a person writes it: no return type, no parameters."""
    return short_name(_readable(symbol)).removeprefix("__device_stub__")


def _readable(symbol: str) -> str:
    text = demangle(symbol)
    if text == symbol and "DF16" in symbol:
        # clang's _Float16 and __bf16 are newer than many a demangler: as names of classes every one reads them.
        text = demangle(symbol.replace("DF16_", "4half").replace("DF16b", "6__bf16"))
    return text if not text.startswith("_Z") else symbol


def full_key(symbol: str) -> str:
    """Equal for the same kernel with the same template arguments, whoever compiled it."""
    name = re.sub(r"\(anonymous namespace\)::", "", kernel_name(symbol))
    for pattern, same in _SAME_TYPE:
        name = re.sub(pattern, same, name)
    return _vendor_free(name.replace(" ", ""))


def base_key(symbol: str) -> str:
    """Equal for kernels of one name, whatever their template arguments and namespaces are."""
    name, before = kernel_name(symbol), ""
    while name != before:
        before, name = name, re.sub(r"<[^<>]*>", "", name)
    return _vendor_free(name.rpartition("::")[2].replace(" ", ""))


def _vendor_free(name: str) -> str:
    # A port that is made by hand often renames: cudaSum to hipSum, sum_cuda to sum_hip, cuSum to hipSum.
    return re.sub(r"(?i)cuda|hip|rocm|\bcu(?=[A-Z_])", "~", name)


def parameter_types(symbol: str) -> tuple[str, ...]:
    """The types of a C++ kernel's parameters; empty for a C name, which does not tell them."""
    text = _readable(symbol)
    if text == symbol or not text.endswith(")"):
        return ()
    depth, start = 0, len(text)
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            start = at
            break
    parts, depth, word = [], 0, ""
    for char in text[start + 1 : -1]:
        depth += (char in "<([") - (char in ">)]")
        if char == "," and depth == 0:
            parts.append(word.strip())
            word = ""
        else:
            word += char
    parts.append(word.strip())
    return tuple(part for part in parts if part not in ("", "void"))


def element_type(parameter: str) -> str | None:
    """What a pointer parameter points to, as a type to compare by; None where that is a structure, void or char."""
    if not parameter.endswith(("*", "&")):
        return None
    name = re.sub(r"\b(const|volatile|__restrict__|__restrict)\b", "", parameter).rstrip("*& ").strip()
    if name in _FLOAT8:
        return _FLOAT8[name]
    name = re.sub(r"(?<=[a-z6])[1-4]$", "", name)  # float4, __half2, __nv_bfloat162
    for pattern, same in _SAME_TYPE:
        name = re.sub(pattern, same, name)
    name = re.sub(r"(?<=[a-z])[1-4]$", "", name)  # what was HIP_vector_type<float, 4u>
    return _FLOATS.get(name) or _INTEGERS.get(name)
