"""Golden records of whole programs: device memory around every kernel launch, compared kernel by kernel.

A recorder that is loaded into the program (LD_PRELOAD) writes down each launch and the buffers it changed, on a machine
with CUDA or ROCm or on the emulator. Two such records, of an original and of its port, are then aligned by kernel.
"""
