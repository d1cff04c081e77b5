"""A CUDA header without a HIP counterpart

What: `#include` of a CUDA header that HIP and ROCm do not have, or a build that stops because such a header is not
    found.
Why: The file does not compile on ROCm.
Fix: Find out what the file uses of it. Often the header is not needed, or only a few names of it are: KP202 reports
    those.
Source: AMD's HIPIFY tables, https://github.com/ROCm/HIPIFY/tree/amd-staging/docs/tables; the headers of ROCm 7.2,
    compared with CUDA's here (port/tables/cuda_names.csv).
"""

# Only the page: port/names/headers.py (and toolchain/diagnostics.py, from a compiler's message) emits this code.
