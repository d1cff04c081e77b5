"""A macro that an extension loses on ROCm

What: An extension is compiled with a macro such as WITH_CUDA on CUDA and without it on ROCm.
Why: The install succeeds, the kernels are compiled, and the C++ code that calls them is left out by `#ifdef`.
Fix: Let the condition that adds the macro hold on ROCm too, behind a gate.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    https://github.com/pytorch/vision/blob/main/setup.py (an extension that sets WITH_CUDA)
"""

# Only the page: verify/install/judge.py emits this code.
