"""A source that does not compile for ROCm

What: clang rejects a line of a source that the port builds, and kpt has no repair for its message.
Why: The extension does not build on ROCm.
Fix: The message is the compiler's, at your line. Change the line inside `#if defined(USE_ROCM)`, or leave the source
    out of the ROCm build. `kpt port` repairs what it can first: see KP211, KP214, KP215, KP224 to KP226, KP229 and
    KP280 to KP293.
Source: clang itself, with the headers of HIP and, for a torch extension, of torch;
    https://clang.llvm.org/docs/DiagnosticsReference.html
"""

# Only the page: jobs/repair.py emits this code.
