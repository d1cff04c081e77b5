"""The install stops on ROCm

What: setup.py raises or exits with a ROCm torch, and runs to its end with a CUDA torch. The line is the deepest one of
    the project on the way.
Why: `pip install .` fails on an AMD machine before anything is compiled.
Fix: Ask `torch.version.hip` before code that needs CUDA itself: CUDA_HOME is None, there is no nvcc and
    torch.version.cuda is None on ROCm. `kpt verify --level install` tries the install again.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py
"""

# Only the page: verify/install/judge.py emits this code.
