"""CUDA and HIP programs from source on the CPU: every thread a fiber, warps of 32, every access checked."""
