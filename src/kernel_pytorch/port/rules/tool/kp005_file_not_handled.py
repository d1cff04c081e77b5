"""A file that kpt failed on

What: A file on which kpt itself failed: a fault in its own code, or not enough memory, or a process that died.
Why: kpt neither reports nor changes anything in such a file. It reads the rest of the project as usual.
Fix: Look at the file by hand, or exclude it with `exclude` in [tool.kernel_pytorch]. Please report it: run `kpt` on
    this one file, and send the message and, if you may, the file.
Source: None outside kpt: this is a limit of kpt itself. We met it when we fed kpt damaged files.
"""

# Only the page: port/file_failure.py emits this code.
