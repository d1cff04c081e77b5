"""The function that KP420 writes into a setup.py says the same as the table it was made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernel_pytorch.port.build_files.hip_flags import hip_flags_function
from kernel_pytorch.port.build_files.nvcc_flags import flag_table
from kernel_pytorch.port.rules.build.kp420_nvcc_flags import hip_words

# A person decides these, or they are no matter of an extension: they stay as they are, and hipcc says so.
NOT_WRITTEN = ("person", "keep", "language", "code-object")


def written(flags: list[str]) -> Callable[[list[str]], list[str]]:
    """The function for a build file that names these flags."""
    names: dict[str, Any] = {}
    exec(hip_flags_function(f"flags = {flags!r}"), names)
    function: Callable[[list[str]], list[str]] = names["_hip_flags"]
    return function


@pytest.mark.parametrize(
    "flags",
    [
        ["-O3", "-std=c++17", "-DNAME=a b"],
        ["-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90", "-O3"],
        ["--use_fast_math", "-lineinfo", "-G", "--expt-relaxed-constexpr", "--expt-extended-lambda"],
        ["-Xcompiler", "-fPIC,-Wall", "-Xcompiler=-O2", "--threads", "4", "-Xptxas", "-v", "--ptxas-options=-v"],
        ["-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__", "-U__CUDA_NO_BFLOAT16_CONVERSIONS__"],
        ["-D__CUDA_NO_HALF_OPERATORS__", "-rdc=true", "-default-stream", "per-thread", "--Werror", "all-warnings"],
        ["-rdc", "false", "-Werror", "-Werror=reorder", "--forward-unknown-opts", "-O3"],
        ["-O3 -Xptxas -O3 -Xcompiler -O3", "-O0 --use_fast_math", "-DNAME=a -lineinfo"],
        ["-Xptxas -O3", "-maxrregcount=50", "-res-usage", "--extra-device-vectorization", "-diag-suppress=20012"],
    ],
)
def test_the_written_function_and_the_table_agree(flags: list[str]) -> None:
    assert written(flags)(flags) == hip_words(flags)


@pytest.mark.parametrize("flag", [flag for flag, row in flag_table().items() if row.action not in NOT_WRITTEN])
def test_every_flag_of_the_table_is_known_to_the_written_function(flag: str) -> None:
    """apex adds lists together, and `--ftz=false` among them stopped hipcc: the function knew only `-ftz`."""
    takes_value = flag_table()[flag].value == "joined-or-next"
    for flags in ([f"{flag}=true", "-O3"], [flag, "true", "-O3"]) if takes_value else ([flag, "-O3"],):
        assert written(flags)(flags) == hip_words(flags)


def test_fast_math_never_becomes_clangs() -> None:
    assert "-ffast-math" not in hip_words(["--use_fast_math"])
    assert hip_words(["--use_fast_math"]) == ["-ffp-contract=fast", "-fno-math-errno"]


def test_the_written_function_holds_what_the_file_names_and_no_more() -> None:
    text = hip_flags_function('flags += ["-diag-suppress", "20012"]; flags.append("-lineinfo")')
    assert '"-diag-suppress"' in text and "-gline-tables-only" in text
    assert "-gencode" not in text and "Werror" not in text and text.count("\n") < 20
    every = hip_flags_function(" ".join(f'"{flag}"' for flag in flag_table()))
    assert "-gencode" in every and max(map(len, every.splitlines())) < 110


def test_switching_half_operators_off_is_what_torch_does_anyway() -> None:
    assert hip_words(["-D__CUDA_NO_HALF_OPERATORS__"]) == ["-D__CUDA_NO_HALF_OPERATORS__"]
    assert "-U__HIP_NO_HALF_OPERATORS__" in hip_words(["-U__CUDA_NO_HALF_OPERATORS__"])
