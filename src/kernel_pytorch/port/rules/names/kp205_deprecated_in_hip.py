"""A HIP function that is deprecated

What: A CUDA function whose HIP counterpart exists but is marked as deprecated.
Why: The code compiles with a warning today. A later ROCm release may remove the function.
Fix: Replace it by what the message names. There is no hurry. kpt reports each name once per file.
Source: The headers of ROCm 7.2 (status "deprecated" in port/tables/cuda_names.csv);
    https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
"""

# Only the page: port/names/rename.py emits this code.
