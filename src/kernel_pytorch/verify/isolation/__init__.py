"""Proof that a change leaves the NVIDIA path alone.

Fold every gate to "not ROCm" in the old and in the new revision; what is left must be the same. Works on any two
revisions or folders, ours or a stranger's pull request, and shares no code with the rewriter.
"""

from __future__ import annotations

from kernel_pytorch.verify.isolation.tree_comparison import compare_file, compare_trees
from kernel_pytorch.verify.isolation.verdict import FileVerdict, Isolation, IsolationReport

__all__ = ["FileVerdict", "Isolation", "IsolationReport", "compare_file", "compare_trees"]
