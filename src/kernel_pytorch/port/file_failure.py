"""The finding that stands for a file that could not be handled: one such file is not the end of the project."""

from __future__ import annotations

from kernel_pytorch.core.findings import Finding, Safety


def failure_finding(path: str, problem: BaseException) -> Finding:
    """What is said at a file about the exception that it caused."""
    if isinstance(problem, OSError):
        return not_looked_at(path, f"cannot be read ({problem.strerror or problem})")
    if isinstance(problem, RecursionError):
        return Finding("KP002", path, 1, 1, "nested too deeply to analyse: nothing is said about it", Safety.MANUAL)
    if isinstance(problem, MemoryError):
        return Finding("KP005", path, 1, 1, "needs more memory than there is: not looked at", Safety.MANUAL)
    words = (str(problem).splitlines() or [""])[0][:200]
    message = f"kpt failed on this file and says nothing about it (a fault of kpt: {type(problem).__name__}: {words})"
    return Finding("KP005", path, 1, 1, message, Safety.MANUAL)


def not_looked_at(path: str, reason: str) -> Finding:
    """What is said at a file that was not read."""
    return Finding("KP001", path, 1, 1, f"not looked at: {reason}", Safety.MANUAL)
