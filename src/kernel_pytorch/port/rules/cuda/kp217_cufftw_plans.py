"""Plans of cuFFTW that hipFFTW does not have

What: A file that includes <cufftw.h> and calls fftw_plan_many_dft, a guru plan, or the functions for wisdom, in double
    or single precision.
Why: hipfft/hipfftw.h of ROCm 7.2 has FFTW's basic plans alone: plan_dft, its r2c and c2r forms in one to three
    dimensions, execute and destroy_plan. The same names in a file that includes FFTW's own header are FFTW's.
Fix: Make the plan with hipfftPlanMany, or include <fftw3.h> and leave it to the CPU. kpt leaves calls for FFTW's
    wisdom out.
Source: hipfft/hipfftw.h, ROCm 7.2; https://docs.nvidia.com/cuda/cufft/index.html#fftw-conversion-guide
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.includes import includes_in
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP217", "cufftw-plans", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=(b"cufftw",))

_ENDS = (
    *(b"plan_" + kind + form for kind in (b"many_dft", b"guru_dft", b"guru64_dft") for form in (b"", b"_r2c", b"_c2r")),
    b"iodim", b"iodim64", b"export_wisdom_to_file", b"import_wisdom_from_file",
)  # fmt: skip
_MISSING = (*(first + end for first in (b"fftw_", b"fftwf_") for end in _ENDS), b"FFTW_INVERSE")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each use of a name that the header in cufftw.h's place does not declare."""
    if not any(include.name == "cufftw.h" for include in includes_in(src)):
        return
    known = words(src)
    for name in _MISSING:
        for index in known.get(name):
            token = src.code[index]
            message = f"{name.decode()} is not in hipfftw.h: make the plan with hipfftPlanMany"
            yield RULE.finding(src, Span(token.start, token.end), message)
