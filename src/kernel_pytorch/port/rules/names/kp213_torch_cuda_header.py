"""A CUDA header of torch in a project that torch does not build

What: `#include <c10/cuda/CUDAStream.h>`, `<ATen/cuda/...>` or `<torch/csrc/cuda/...>` in a project without a torch
    extension: CMake or make compiles the file and links libtorch.
Why: torch's build for extensions renames these headers and their names for ROCm (c10/hip/HIPStream.h). Nothing renames
    them here. CUDA's form of the header includes cuda_runtime_api.h, which ROCm does not have.
Fix: Take the include out where nothing of it is used, gate it with the header under hip/, or build the file as a torch
    extension.
Source: torch/utils/hipify/cuda_to_hip_mappings.py; https://github.com/pytorch/pytorch/tree/main/c10/hip
"""

# Only the page: port/names/torch_headers.py emits this code.
