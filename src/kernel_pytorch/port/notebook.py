"""What the Python rules find in a notebook.

Notebooks are read, never rewritten: their cells are JSON strings, and a person runs them one by one.
"""

from __future__ import annotations

from dataclasses import replace

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.file_failure import not_looked_at
from kernel_pytorch.port.kernel_text import kernel_string_findings, kernel_text_findings
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.python.notebook import NotebookLine, cuda_cells, notebook_cells, python_text
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
    found = [_placed(one, places[one.line - 1]) for one in _of_python(path, text, codes, own)] if text.strip() else []
    for cell in cuda_cells(cells):
        shown = "\n".join(line.text for line in cell)
        at = tuple(line.number for line in cell)
        found += [
            replace(one, message=f"{one.message} (code cell {cell[0].cell})")
            for one in (kernel_text_findings(path, shown, at, frozenset(codes), False, "a cell") if cell else ())
        ]
    return tuple(sorted(found, key=lambda one: (one.line, one.col)))


def _of_python(path: str, text: bytes, codes: tuple[str, ...], own: frozenset[str]) -> list[Finding]:
    src = SourceFile(path, text, "python", own)
    found = list(run_rules(rules_for("python", codes), src))
    module = python_module(src)
    return found + list(kernel_string_findings(module, codes) if module is not None else ())


def _placed(finding: Finding, place: NotebookLine) -> Finding:
    said = finding.message.replace(", which kpt does not rewrite", "")  # of a kernel in a string
    message = f"{said} (code cell {place.cell}; notebooks are not rewritten)"
    return Finding(finding.code, finding.path, place.number, finding.col, message, Safety.MANUAL)
