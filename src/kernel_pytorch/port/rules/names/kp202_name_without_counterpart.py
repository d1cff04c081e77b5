"""A CUDA name without a HIP counterpart

What: A function, type, constant or macro of CUDA or one of its libraries that HIP and ROCm do not have, or a build
    that stops at such a name.
Why: The name is not declared on ROCm, so the file does not compile. kpt leaves it as it is and never guesses a
    substitute.
Fix: You decide. The message carries what is known about the nearest thing. If the code is for new NVIDIA GPUs only,
    put it behind `#if !defined(__HIP_PLATFORM_AMD__)`.
Source: AMD's HIPIFY tables, https://github.com/ROCm/HIPIFY/tree/amd-staging/docs/tables; the headers of ROCm 7.2,
    compared with CUDA's here (port/tables/cuda_names.csv has a row for each name).
"""

# Only the page: port/names/rename.py (and toolchain/diagnostics.py, from a compiler's message) emits this code.
