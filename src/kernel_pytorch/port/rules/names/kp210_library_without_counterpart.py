"""A CUDA library without a ROCm counterpart

What: `#include` of a header of NVML, CUPTI, the C++ interface of NVTX, NVSHMEM, cuFile, NPP, nvJPEG, cuTENSOR or
    another library that ROCm does not have under the same interface. Also a build that stops because a library's
    header is not found.
Why: The file does not compile on ROCm, or the ROCm library is not installed.
Fix: Choose: AMD SMI for NVML, rocprofiler-sdk for CUPTI, rocSHMEM for NVSHMEM, or no such feature on ROCm. If the
    header is a ROCm library's own (hipblas, rocprim), install that library's development package.
Source: The headers of ROCm 7.2, compared with CUDA's here (port/tables/cuda_names.csv);
    https://rocm.docs.amd.com/projects/amdsmi/en/develop/how-to/amdsmi-cli-tool.html (AMD SMI).
"""

# Only the page: port/names/headers.py (and toolchain/diagnostics.py, from a compiler's message) emits this code.
