"""nvcc's command-line words in hipcc's terms, from tables/nvcc_flags.csv and tables/libraries.csv."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from kernel_pytorch.port.tables import read_table

HIP_ARCH = "--offload-arch=$(HIP_ARCH)"
# What a compiler other than hipcc has to be told. The macro says which vendor's half of HIP's headers is meant.
_ROCM_HEADERS = ("-I$(ROCM_PATH)/include", "-D__HIP_PLATFORM_AMD__=1")
_ROCM_LIBRARIES = ("-L$(ROCM_PATH)/lib",)
_RUNTIME = "-lamdhip64"
WERROR_KINDS = ("all-warnings", "cross-execution-space-call", "reorder", "deprecated-declarations")
_CUDA_FOLDER = re.compile(
    r"(?:^|[/({])cuda(?:[-/.\d]|$)|CUDA_(?:HOME|PATH|ROOT|DIR|INC|LIB|INSTALL|TOOLKIT)|CUDAPATH|CUDAHOME|CUDADIR",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FlagRow:
    """One row of the flag table."""

    flag: str
    value: str
    action: str
    hip: str
    reason: str


@dataclass(frozen=True)
class Library:
    """One row of the library table. `hip` is empty where nothing is linked and "?" where a person decides."""

    cuda: str
    hip: str
    cmake_package: str
    cmake_target: str
    note: str


@dataclass
class Mapped:
    """Words for hipcc, the reasons of what changed, and what stands against a translation."""

    words: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    relocatable: bool = False
    makes_code_object: bool = False  # where nvcc makes PTX, a cubin or a fatbin
    for_host: bool = False


@cache
def flag_table() -> dict[str, FlagRow]:
    """Rows by flag."""
    return {row["flag"]: FlagRow(**row) for row in read_table("nvcc_flags.csv")}


def flags_in_two_words(words: Sequence[str]) -> list[str]:
    """Those that the table has with their value only: `--fmad false` for --fmad=false."""
    pairs = itertools.pairwise(words)
    return [
        f"{flag} {value}" for flag, value in pairs if flag not in flag_table() and f"{flag}={value}" in flag_table()
    ]


@cache
def libraries() -> dict[str, Library]:
    """Rows by CUDA's library name."""
    return {row["cuda"]: Library(**row) for row in read_table("libraries.csv")}


def map_flags(words: Sequence[str], arch_flag: str = HIP_ARCH, for_host: bool = False) -> Mapped:
    """nvcc's words as hipcc's. Words the tables do not name stay as they are: clang knows the common ones.

    `for_host`: another compiler gets them as well. hipcc knows where ROCm is and links its runtime, others are told.
    """
    result = Mapped(for_host=for_host)
    index = 0
    while index < len(words):
        index += _one(words, index, result, arch_flag)
    # nvcc names the file after the source, hipcc does not.
    if result.makes_code_object and not any(word.startswith("-o") for word in words):
        made = next(word for word in words if (row := flag_table().get(word)) and row.action == "code-object")
        result.obstacles.append(f"{made} without -o: hipcc --genco does not name the file after the source")
    return result


def _one(words: Sequence[str], index: int, result: Mapped, arch_flag: str) -> int:
    """Handles the word at `index`; returns how many words were used."""
    word = words[index]
    bare = word.strip("\"'")
    name, joined, value = bare.partition("=")
    row = flag_table().get(bare) or flag_table().get(name)
    following = words[index + 1].strip("\"'") if index + 1 < len(words) else ""
    pair = flag_table().get(f"{bare}={following}") if row is None else None
    if pair is not None:  # nvcc takes `--fmad false` for --fmad=false
        _apply(pair, f"{bare}={following}", following, result, arch_flag)
        return 2
    if row is None:
        if _library(bare, result) or _cuda_path(words, index, result):
            return 2 if bare in ("-I", "-L", "-isystem") else 1
        result.words.append(word)
        return 1
    used = 1
    if row.value == "joined-or-next" and not joined and row.flag == name:
        if index + 1 >= len(words):
            result.obstacles.append(f"{word} without its value")
            return 1
        value, used = words[index + 1].strip("\"'"), 2
    elif row.value == "next":
        value, used = (words[index + 1] if index + 1 < len(words) else ""), 2
    elif row.value == "nvcc-kind":
        # nvcc: -Werror all-warnings; everywhere else -Werror stands alone
        following = words[index + 1] if index + 1 < len(words) else ""
        used = 2 if following in WERROR_KINDS else 1
        if joined:
            result.words.append(word)
            return 1
    _apply(row, word, value, result, arch_flag)
    return used


def _apply(row: FlagRow, word: str, value: str, result: Mapped, arch_flag: str) -> None:
    if row.action == "replace":
        new = arch_flag if row.hip == HIP_ARCH else row.hip
        if new != arch_flag or arch_flag not in result.words:
            result.words.append(new)
    elif row.action == "unwrap":
        result.words.extend(value.replace(",", " ").split())
    elif row.action == "keep":
        result.words += [word] if "=" in word or row.value == "none" else [word, value]
        return
    elif row.action == "relocatable":
        if value.lower() not in ("false",):
            result.words.append(row.hip)
            result.relocatable = True
    elif row.action == "respell":
        result.words.append(f"{row.hip}={value}")
    elif row.action == "language":
        result.words += ["-x", "hip" if value == "cu" else value]
    elif row.action == "host-compiler":
        if "mpi" in value.lower():
            result.obstacles.append(
                f"{word} {value}: hipcc cannot use an MPI wrapper as host compiler; give MPI's flags instead"
            )
    elif row.action == "code-object":
        result.makes_code_object = True
        result.words.append(row.hip)
    elif row.action == "person":
        result.obstacles.append(f"{word}: {row.reason}")
        return
    if row.action != "language":
        result.notes.append(f"{word}: {row.reason}")


def _library(word: str, result: Mapped) -> bool:
    found = re.fullmatch(r"-l([\w-]+)", word)
    row = libraries().get(found.group(1)) if found else None
    if row is None:
        return False
    if row.hip == "?":
        result.obstacles.append(f"{word}: {row.note}")
    elif result.for_host and not row.hip and row.cmake_target == "hip::host":
        if _RUNTIME not in result.words:
            result.words.append(_RUNTIME)
        return True
    elif row.hip:
        result.words.append(f"-l{row.hip}")
    if row.note:
        result.notes.append(f"{word}: {row.note}")
    return True


def _cuda_path(words: Sequence[str], index: int, result: Mapped) -> bool:
    """-I and -L of the CUDA installation: hipcc knows its own."""
    word = words[index]
    found = re.match(r"(-I|-L|-isystem)(.*)\Z", word)
    if not found:
        return False
    path = found.group(2) or (words[index + 1] if index + 1 < len(words) else "")
    if not _CUDA_FOLDER.search(path) or not re.search(r"(?:include|lib\d*(?:/stubs)?|common/inc)/?[\"']?\Z", path):
        return False
    if result.for_host:
        new = _ROCM_LIBRARIES if found.group(1) == "-L" else _ROCM_HEADERS
        result.words += [word for word in new if word not in result.words]
    result.notes.append(f"{found.group(1)}{path}: a folder of the CUDA installation")
    return True
