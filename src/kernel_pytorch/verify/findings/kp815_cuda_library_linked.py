"""A CUDA library that an extension links on ROCm

What: An extension names a library of CUDA's, such as cublas, when it is built for ROCm.
Why: The linker does not find it.
Fix: Name ROCm's library there, behind a gate. KP422 does this for lists that are written in the file.
Source: We found it by running the setup.py files of public extensions;
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py (what torch links itself).
    port/tables/libraries.csv has the pairs, from ROCm 7.2.
"""

# Only the page: verify/install/judge.py emits this code.
