"""Write the names that ROCm's library headers declare, for the emulator's CPU stand-ins of those libraries.

    python scripts/list_library_symbols.py .rocm/include

Each line of src/kernel_pytorch/emulate/native/libraries/symbols/<library>.txt is a function's name and one letter per
parameter: i and l for 32- and 64-bit integers and enums, f and d for floating point, p for pointers and handles, s for
a structure by value. The stand-ins export every name; tests compare their own signatures with the letters.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

LIBRARIES = {
    "hipblas": (("hipblas/hipblas.h",), "hipblas"),
    "rocblas": (
        (
            "rocblas/internal/rocblas-auxiliary.h",
            "rocblas/internal/rocblas-functions.h",
            "rocblas/internal/rocblas-beta.h",
        ),
        "rocblas_",
    ),
    "hipblaslt": (("hipblaslt/hipblaslt.h", "hipblaslt/hipblaslt-ext-op.h"), "hipblas[Ll]t"),
    "hipfft": (("hipfft/hipfft.h", "hipfft/hipfftXt.h"), "hipfft"),
    "rocfft": (("rocfft/rocfft.h",), "rocfft_"),
    "hiprand": (("hiprand/hiprand.h",), "hiprand"),
    "rocrand": (("rocrand/rocrand.h",), "rocrand_"),
    "hipsparse": (("hipsparse/**/*.h",), "hipsparse"),
    "rocsparse": (("rocsparse/**/*.h",), "rocsparse_"),
    "hipsolver": (("hipsolver/**/*.h",), "hipsolver"),
    "rocsolver": (("rocsolver/*.h",), "rocsolver_"),
    "rccl": (("rccl/rccl.h",), "p?nccl"),
    "roctx": (("roctracer/roctx.h",), "roctx"),
    "miopen": (("miopen/miopen.h",), "miopen"),
    "rocm_smi": (("rocm_smi/rocm_smi.h",), "rsmi_"),
}
INTEGERS_64 = {"int64_t", "uint64_t", "size_t", "long"}
POINTERS = {"hipStream_t", "hipEvent_t", "miopenAcceleratorQueue_t", "va_list"}
FUNCTION = r"(?:^|[;{}]|\n)\s*((?:[\w:]+[\s*&]+)+?)(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*;"


def type_names(text: str) -> tuple[set[str], set[str]]:
    """Names that a header gives to pointer types and to 64-bit integers."""
    pointers = set(
        re.findall(r"typedef\s+(?:const\s+)?(?:struct\s+)?\w+\s*(?:const)?\s*\*\s*(?:const)?\s*(\w+)\s*;", text)
    )
    pointers |= {f"{name}_t" for name in re.findall(r"MIOPEN_DECLARE_OBJECT\((\w+)\)", text)}
    for known, alias in re.findall(r"typedef\s+(\w+)\s+(\w+)\s*;", text):
        if known in pointers:
            pointers.add(alias)
    wide = set(re.findall(r"typedef\s+(?:u?int64_t|size_t|unsigned long|long long)\s+(\w+)\s*;", text))
    narrow = set(re.findall(r"typedef\s+int32_t\s+(\w+)\s*;", text))  # 64 bits only with an ILP64 macro
    return pointers, wide - narrow


def letter(parameter: str, pointers: set[str], wide: set[str]) -> str:
    """The class in which the C calling convention passes a parameter."""
    words = set(re.findall(r"\w+", parameter))
    if re.search(r"[*\[(]", parameter) or words & pointers:
        return "p"
    for kind, names in (("d", {"double"}), ("f", {"float"}), ("l", wide), ("s", {"ncclUniqueId", "uint4", "half"})):
        if words & names:
            return kind
    return "i"


def declared(text: str, prefix: str, pointers: set[str], wide: set[str]) -> dict[str, str]:
    """Function names in a header's text with their parameters as letters."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", ";", text, flags=re.M)
    text = re.sub(r"\bROCTX_VERSION_\w+", "", text)
    text = re.sub(r'extern\s+"C"\s*\{?', ";", text)
    text = re.sub(
        r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[.*?\]\]|\b[A-Z]+_DEPRECATED\w*(\([^()]*\))?", " ", text
    )
    found = {}
    for _, name, parameters in re.findall(FUNCTION, text):
        if re.match(prefix, name) and not re.search(r"_t$|Bfloat16$", name):
            parts = [part.strip() for part in re.sub(r"\([^()]*\)", "()", parameters).split(",")]
            found[name] = "".join(letter(part, pointers, wide) for part in parts if part and part != "void")
    return found


def main() -> None:
    """Write one list per library whose headers are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("include", type=Path, help="ROCm's include directory")
    parser.add_argument("--out", type=Path, default=Path("src/kernel_pytorch/emulate/native/libraries/symbols"))
    args = parser.parse_args()
    for library, (patterns, prefix) in LIBRARIES.items():
        headers = sorted({path for pattern in patterns for path in args.include.glob(pattern)})
        texts = [header.read_text(errors="replace") for header in headers]
        folders = {patterns[0].split("/")[0], *(("rocblas",) if library == "rocsolver" else ())}
        related = [path for folder in folders for path in (args.include / folder).rglob("*.h")]
        pointers, wide = type_names("\n".join(path.read_text(errors="replace") for path in related))
        found: dict[str, str] = {}
        for text in texts:
            found.update(declared(text, prefix, pointers | POINTERS, wide | INTEGERS_64))
        if not found:
            raise SystemExit(f"no declarations of {library} under {args.include}")
        lines = [f"{name} {letters}".rstrip() for name, letters in sorted(found.items())]
        (args.out / f"{library}.txt").write_text("\n".join(lines) + "\n")
        print(f"{library}: {len(lines)}")


if __name__ == "__main__":
    main()
