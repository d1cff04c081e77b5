"""A second install in the same folder

What: The first ROCm install works; the next one in the same folder stops, or compiles more than the first.
Why: torch's hipify writes translated files beside the originals. `glob("csrc/*.cpp")` takes `ops_hip.cpp` for a source
    the next time, and every symbol is defined twice.
Fix: Leave hipify's files out of the list: their names end in `_hip.cpp` or `.hip`, and their first line says that they
    were generated.
Source: We found it by running the setup.py files of public extensions twice, with a stand-in for a ROCm torch;
    rusty1s/pytorch_cluster#149; torch/utils/hipify/hipify_python.py in pytorch/pytorch (get_hip_file_path)
"""

# Only the page: verify/install/judge.py emits this code.
