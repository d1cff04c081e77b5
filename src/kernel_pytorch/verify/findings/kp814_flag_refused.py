"""A compiler flag that hipcc refuses

What: The build passes a flag to hipcc that clang, which hipcc starts, does not know. kpt asked the compiler itself.
Why: The first source does not compile.
Fix: Pass the flag on NVIDIA only. KP420 does this for flags that are written in the file; a flag that is put together
    at run time is left to you.
Source: We found it by running the setup.py files of public extensions;
    https://clang.llvm.org/docs/ClangCommandLineReference.html
"""

# Only the page: verify/install_level.py emits this code.
