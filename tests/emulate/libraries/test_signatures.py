"""Every function of ours takes its parameters in the registers in which the real header's callers pass them."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.emulate.libraries import LIBRARIES, NATIVE, Library, declared_names, generated_sources, host_cxx

DEFINITION = re.compile(r"^[ \t]*(?:const char \*|[\w:]+ )(\w+)\(([^{};]*)\)\s*\{", re.MULTILINE)
# No package of Debian's has their headers, or a few functions of many are wanted: their lists are written by hand.
WITHOUT_HEADERS = ("roctracer64", "rocprofiler-sdk", "hsa-runtime64", "amd_smi", "rocm_sysdeps_drm",
                   "rocm_sysdeps_drm_amdgpu", "rocm_sysdeps_numa")  # fmt: skip
WIDE = re.compile(r"\b(int64_t|uint64_t|size_t|Int|long long)\b")


def declared_letters(library: Library) -> dict[str, str]:
    text = (NATIVE / "symbols" / f"{library.symbols or library.name}.txt").read_text()
    return {line.split()[0]: "".join(line.split()[1:]) for line in text.splitlines()}


def letters(parameters: str) -> str:
    """The same letters as in the symbol lists, for a parameter list of ours."""
    found = ""
    for parameter in parameters.split(","):
        if not parameter.strip():
            continue
        if "*" in parameter:
            found += "p"
        elif re.search(r"\bdouble\b", parameter):
            found += "d"
        elif re.search(r"\bfloat\b", parameter):
            found += "f"
        elif "UniqueId" in parameter:
            found += "s"
        else:
            found += "l" if WIDE.search(parameter) else "i"
    return found


@functools.cache
def defined_letters(library: Library) -> dict[str, str]:
    """Functions that a library's sources define, after the preprocessor has written out the macros."""
    found: dict[str, str] = {}
    for source in library.sources:
        command = [*host_cxx(), "-std=c++17", "-E", "-P", *library.defines, f"-I{NATIVE}", str(NATIVE / source)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        text = re.sub(r"([{}])", r"\1\n", text)
        for name, parameters in DEFINITION.findall(text):
            found[name] = letters(parameters)
    for text in generated_sources(library).values():
        for name, parameters in DEFINITION.findall(text):
            found[name] = letters(parameters)
    return found


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_parameters_agree_with_the_headers(library: Library) -> None:
    declared, defined = declared_letters(library), defined_letters(library)
    ours = {name: found for name, found in defined.items() if name in declared}
    assert len(ours) > (1 if library.name in WITHOUT_HEADERS else 3) or not library.sources
    wrong = {name: (declared[name], found) for name, found in ours.items() if found != declared[name]}
    assert wrong == {}


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_no_name_that_the_headers_do_not_have(library: Library) -> None:
    # rocSPARSE's stand-in is put on top of hipSPARSE's functions, which its export map keeps inside.
    prefix = re.compile("rocsparse" if library.name == "rocsparse" else "hip|hsa|roc|rsmi|amdsmi|nccl|miopen|numa")
    invented = {name for name in defined_letters(library) if prefix.match(name)} - set(declared_names(library))
    assert invented == set()


@pytest.mark.rocm_headers
def test_symbol_lists_are_what_the_headers_declare(rocm_headers: Path, tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "scripts" / "list_library_symbols.py"
    subprocess.run([sys.executable, str(script), str(rocm_headers), "--out", str(tmp_path)], check=True)
    for library in LIBRARIES:
        name = f"{library.symbols or library.name}.txt"
        if library.name in WITHOUT_HEADERS:
            continue
        assert (tmp_path / name).read_text() == (NATIVE / "symbols" / name).read_text()
