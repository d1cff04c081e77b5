"""A file that could not be read

What: A file that kpt cannot open, that is not text (UTF-16, or binary), or Python that Python itself cannot parse.
Why: kpt neither reports nor changes anything in such a file. CUDA code in it stays.
Fix: Save the file as UTF-8, correct the syntax error, or exclude it with `exclude` in [tool.kernel_pytorch] if it is a
    template or test data.
Source: Found by porting public repositories here. kpt's own limit.
"""

# Only the page: the walk over a project (port/project.py) and the translator (port/hipify) emits this code.
