"""Two sources, one object file

What: An extension has `ops.cpp` and `ops_cuda.cu`, and `ops.cpp` names something of CUDA.
Why: torch's hipify writes `ops_hip.cpp` and `ops_hip.hip`. Both become `ops_hip.o`: ninja refuses the build, and
    without ninja one of the two is never compiled.
Fix: Rename one of the two sources, for instance to `ops_kernels.cu`. kpt renames no file of yours.
Source: Found by running the setup.py files of public extensions here, with a stand-in for a ROCm torch.
"""

# Only the page: verify/install/judge.py emits this code.
