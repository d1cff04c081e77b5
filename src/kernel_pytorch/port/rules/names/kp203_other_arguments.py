"""A HIP function that takes other arguments

What: A CUDA function whose HIP counterpart has the same purpose but another list of arguments, other argument types or
    another meaning of one of them.
Why: kpt renames the call. It may then not compile, or pass a value that HIP reads differently.
Fix: Compare the call with the HIP signature; the message names the difference. kpt reports each name once per file.
Source: The headers of ROCm 7.2, compared with CUDA's here (status "signature" in port/tables/cuda_names.csv);
    https://github.com/ROCm/HIPIFY/tree/amd-staging/docs/tables
"""

# Only the page: port/names/rename.py emits this code.
