"""An extension that loses GPU sources on ROCm

What: An extension is built on both platforms, with fewer GPU sources on ROCm: it became a plain C++ extension, or some
    sources are added only where CUDA is found.
Why: The install succeeds and functions are missing, or run on the CPU.
Fix: Let the condition at the reported line hold on ROCm too, behind a gate.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py
"""

# Only the page: verify/install/judge.py emits this code.
