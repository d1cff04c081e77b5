"""A file that could not be read

What: A file that kpt cannot open, that is not text (UTF-16, or binary), or Python that Python itself cannot parse. In
`kpt build` and `kpt emulate` of a CUDA source also a header that lies outside the project.
Why: kpt neither reports nor changes anything in such a file. CUDA code in it stays.
Fix: Save the file as UTF-8, correct the syntax error, or exclude it with `exclude` in [tool.kernel_pytorch] if it is a
    template or test data.
Source: None outside kpt: this is a limit of kpt itself. We met such files in public repositories.
"""

# Only the page: the walk over a project (port/project.py) and the translator (port/hipify) emits this code.
