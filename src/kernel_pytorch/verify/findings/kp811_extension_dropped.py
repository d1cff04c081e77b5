"""An extension that is built on CUDA and left out on ROCm

What: setup.py adds an extension on a CUDA machine and does not on a ROCm machine. The finding is at the
    condition that decides it, or else at the line that makes the extension.
Why: The install succeeds and the package has no GPU code. Users notice at import, or never if there is a slow path.
Fix: Let the condition hold on ROCm too, behind a gate: `if IS_ROCM or CUDA_HOME is not None:`. If the extension cannot
    work on AMD GPUs, say so in the code and ignore the finding with a reason.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py (CUDA_HOME is None on ROCm)
"""

# Only the page: verify/install/judge.py emits this code.
