"""A header that torch's hipify does not reach

What: A source includes a header of the project that torch's hipify does not read: its folder is known only by a flag
    (`-Iinclude` in extra_compile_args), it lies outside the folder of setup.py, `load` builds it at run time, or its
    name ends in something hipify leaves alone (`.inl`, `.inc`).
Why: hipify reads what lies below setup.py and is included by its path, and what lies below `include_dirs`; for `load`
    only what lies below `extra_include_paths`; and of all these only `.h`, `.hpp`, `.cuh` and sources. Other headers
    keep CUDA's names, and the build stops there. It also writes a source from a folder called `cuda` into one called
    `hip`, where an unread header beside it is not found.
Fix: Behind a gate, and in this order: hipify told to read files with such names; the header's folder among the
    `extra_include_paths` of `load`; the include by its path from the source where hipify follows that; HIP's names in
    the header. `kpt port` writes them. A header outside setup.py's folder that uses torch's own CUDA names is left to
    you: name its folder.
Source: We found it by running the setup.py files of public extensions with a stand-in for a ROCm torch;
    torch/utils/hipify/hipify_python.py in pytorch/pytorch
"""

# Only the page: verify/install/judge.py emits this code.
