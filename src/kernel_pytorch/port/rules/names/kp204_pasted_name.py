"""A CUDA name made by ## in a macro

What: A macro that joins a piece of a CUDA name with another token, `cuda##x`, where kpt sees no call of it, or a call
    makes a name that AMD's form of the macro cannot make: a function of your own, or one that HIP calls otherwise.
Why: The whole name exists only after the preprocessor ran. kpt reads the calls, `CALL(Free(p))`, and then writes
    `hip##x` and what the calls need. One front must do for all of them.
Fix: Write the odd name out at its call, or give the macro a HIP form: `hip##x` behind
    `#if defined(__HIP_PLATFORM_AMD__)`.
Source: https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDAAllocatorConfig.cpp (PyTorch splits names to hide
    them from its own translator); https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

# Only the page: port/names/rename.py and port/names/glued.py emit this code.
