"""What a compiled kernel says about its own parameters.

A code object gives offset, size and (on AMD) whether a parameter is a pointer. It does not say int or float:
those come from the C++ symbol, which spells out its parameter types unless the kernel is `extern "C"`.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.toolchain.code_object import KernelResources
from kernel_pytorch.toolchain.kernel_symbols import readable_name

POINTER = "pointer"
VALUE = "value"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Parameter:
    """One explicit kernel parameter. `kind` is "pointer", "value" or "unknown"; `type` is "" if unknown."""

    index: int
    offset: int
    size: int
    kind: str
    name: str = ""
    type: str = ""

    def __str__(self) -> str:
        label = " ".join(part for part in (self.type, self.name) if part)
        return f"argument {self.index}" + (f" ({label})" if label else "")


@dataclass(frozen=True)
class Scalar:
    """The arithmetic class of a C type: "bool", "int", "uint", "float", "bfloat"."""

    family: str
    size: int


_SCALARS = {
    "bool": Scalar("bool", 1),
    # A plain char holds -128..127 or 0..255 depending on the target: both are let through.
    "char": Scalar("char", 1),
    "signed char": Scalar("int", 1),
    "unsigned char": Scalar("uint", 1),
    "short": Scalar("int", 2),
    "unsigned short": Scalar("uint", 2),
    "int": Scalar("int", 4),
    "unsigned int": Scalar("uint", 4),
    "long": Scalar("int", 8),
    "unsigned long": Scalar("uint", 8),
    "long long": Scalar("int", 8),
    "unsigned long long": Scalar("uint", 8),
    "float": Scalar("float", 4),
    "double": Scalar("float", 8),
    "_Float16": Scalar("float", 2),
    "half": Scalar("float", 2),
    "__half": Scalar("float", 2),
    "__bf16": Scalar("bfloat", 2),
    "__hip_bfloat16": Scalar("bfloat", 2),
    "hip_bfloat16": Scalar("bfloat", 2),
    "__nv_bfloat16": Scalar("bfloat", 2),
}


def scalar(type_name: str) -> Scalar | None:
    """The arithmetic class of a C type name, or None for pointers, structs and unknown names."""
    return _SCALARS.get(_plain(type_name))


def pointee(type_name: str) -> Scalar | None:
    """The arithmetic class of what a pointer type points at, or None."""
    stripped = type_name.replace("__restrict__", "").replace("__restrict", "").replace(" const", " ").strip()
    if not stripped.endswith("*"):
        return None
    return scalar(stripped[:-1])


def parameter_types(signature: str) -> tuple[str, ...] | None:
    """The parameter types of a demangled name: `add(float*, int)` gives ("float*", "int").

    None for a name without a parameter list, as an `extern "C"` kernel has.
    """
    signature = signature.strip()
    if not signature.endswith(")"):
        return None
    depth = 0
    for position in range(len(signature) - 1, -1, -1):
        character = signature[position]
        # `operator()` and template arguments before the list must not be taken for it, so read from the end.
        if character in ")>" and signature[position - 1 : position + 1] != "->":
            depth += 1
        elif character in "(<":
            depth -= 1
            if depth == 0 and character == "(":
                return tuple(_split(signature[position + 1 : -1]))
    return None


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = 0
    current = ""
    for character in text:
        if character in "(<[{":
            depth += 1
        elif character in ")>]}":
            depth -= 1
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return [] if parts == ["void"] else parts


def _plain(type_name: str) -> str:
    words = [word for word in type_name.split() if word not in ("const", "volatile")]
    return " ".join(words)


def kernel_parameters(kernel: KernelResources) -> tuple[Parameter, ...]:
    """The explicit parameters of a kernel; the hidden ones are the runtime's to fill."""
    kinds = {"by_value": VALUE, "global_buffer": POINTER}
    types = parameter_types(readable_name(kernel.symbol))
    explicit = kernel.explicit_args
    known = types if types is not None and len(types) == len(explicit) else ("",) * len(explicit)
    return tuple(
        Parameter(index, arg.offset, arg.size, kinds.get(arg.kind, UNKNOWN), arg.name, known[index])
        for index, arg in enumerate(explicit)
    )
