"""What the Python rules find in a notebook.

Notebooks are read, never rewritten: their cells are JSON strings, and a person runs them one by one.
"""

from __future__ import annotations

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.file_failure import not_looked_at
from kernel_pytorch.port.python.notebook import NotebookLine, notebook_cells, python_text
from kernel_pytorch.port.rules import rules_for, run_rules
from kernel_pytorch.port.source import SourceFile


def notebook_findings(
    path: str, data: bytes, codes: tuple[str, ...], own: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """What the Python rules find in a notebook, at its lines, all for a person. `own` are the project's packages."""
    cells = notebook_cells(data)
    if cells is None:
        return (not_looked_at(path, "no notebook that can be read"),) if data.strip() else ()
    text, places = python_text(cells)
    if not text.strip():
        return ()
    src = SourceFile(path, text, "python", own)
    found = run_rules(rules_for("python", codes), src)
    return tuple(
        _placed(finding, places[finding.line - 1]) for finding in sorted(found, key=lambda one: (one.line, one.col))
    )


def _placed(finding: Finding, place: NotebookLine) -> Finding:
    message = f"{finding.message} (code cell {place.cell}; notebooks are not rewritten)"
    return Finding(finding.code, finding.path, place.number, finding.col, message, Safety.MANUAL)
