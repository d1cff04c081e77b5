"""A file that was not fully analysed

What: A file of more than 8 MB, code nested too deeply for the analysis, or a rule that failed on this file.
Why: kpt renames the names and headers of a very large file but runs no rules on it. If one rule fails, the others
    still run; the message names the rule that is missing.
Fix: Look at the file by hand, or split it. Please report a rule that failed: the message says that it is a fault of
    kpt.
Source: None outside kpt: this is a limit of kpt itself. We met such files in public repositories.
"""

# Only the page: the translator (port/hipify) emits this code.
