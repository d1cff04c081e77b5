"""A software AMD GPU: runs AMD machine code on the CPU, wave 32 or 64, with a HIP runtime on top.

A code object is translated to C once and compiled by the host's compiler (`translate`); `libamdhip64.so` of our own
(`runtime_build`) loads such modules and runs grids of workgroups on all cores; `run` starts a HIP program on it and
`launch` a single kernel from Python. What runs here is machine code "emulated at wave 32 or 64", not a GPU: its
results can be trusted as far as the instruction table is right, its timings say nothing about hardware.
"""
