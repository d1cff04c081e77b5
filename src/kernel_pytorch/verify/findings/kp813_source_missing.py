"""A source of an extension that does not exist

What: On ROCm an extension names a source file that the project does not have, and on CUDA it has all of them.
Why: The build stops at that file.
Fix: Correct the name. torch's hipify writes k.hip beside k.cu by itself: list the .cu file.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    torch/utils/hipify/hipify_python.py in pytorch/pytorch (get_hip_file_path: what hipify writes for a .cu file)
"""

# Only the page: verify/install/judge.py emits this code.
