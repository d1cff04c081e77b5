"""An extension that loses GPU sources on ROCm

What: An extension is built on both platforms, with fewer GPU sources on ROCm: it became a plain C++ extension, or some
    sources are added only where CUDA is found.
Why: The install succeeds and functions are missing, or run on the CPU.
Fix: Let the condition at the reported line hold on ROCm too, behind a gate.
Source: Found by running the setup.py files of public extensions here, with a stand-in for a ROCm torch.
"""

# Only the page: verify/install/judge.py emits this code.
