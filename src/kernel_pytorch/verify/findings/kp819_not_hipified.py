"""A .cu source in an extension that torch does not hipify

What: A .cu file among the sources of CppExtension or of setuptools' own Extension.
Why: torch's build hands it to hipcc, but only CUDAExtension runs hipify over the sources: hipcc sees CUDA's names.
Fix: CUDAExtension on ROCm, behind the gate. `kpt port` does it where torch's CppExtension is called.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py
"""

# Only the page: verify/install/judge.py emits this code.
