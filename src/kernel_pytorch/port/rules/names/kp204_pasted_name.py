"""A CUDA name made by ## in a macro

What: A macro that joins a piece of a CUDA name with another token: `cuda##x`.
Why: The whole name exists only after the preprocessor ran, so no translator of source text can rename it. kpt lists
    such places and does not guess.
Fix: Write the names out, or give the macro a HIP form: `hip##x` behind `#if defined(__HIP_PLATFORM_AMD__)`.
Source: https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDAAllocatorConfig.cpp (PyTorch splits names to hide
    them from its own translator); https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

# Only the page: port/names/rename.py emits this code.
