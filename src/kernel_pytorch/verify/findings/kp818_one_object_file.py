"""Two sources, one object file

What: An extension has `ops.cpp` and `ops_cuda.cu`, and `ops.cpp` names something of CUDA.
Why: torch's hipify writes `ops_hip.cpp` and `ops_hip.hip`. Both become `ops_hip.o`: ninja refuses the build, and
    without ninja one of the two is never compiled.
Fix: On ROCm `kpt port` has a new file compiled, `kpt_hip_sources/ops_gpu.cu`, which includes `ops_cuda.cu`. If the list
    of sources cannot be read, rename one of the two.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    torch/utils/hipify/hipify_python.py in pytorch/pytorch (get_hip_file_path)
"""

# Only the page: verify/install/judge.py emits this code.
