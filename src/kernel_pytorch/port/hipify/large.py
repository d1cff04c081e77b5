"""Files too large to analyse: machine-made tables. Names and headers only, in pieces, so that memory stays flat."""

from __future__ import annotations

from dataclasses import replace

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile, pieces
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.names.rename import IsLocal, Naming, name_file

MOST_FINDINGS = 1000


def rename_large(src: CxxFile, own: frozenset[bytes], is_local: IsLocal) -> tuple[bytes, Naming]:
    """The file with its names and headers mapped, and what there is to say about them."""
    parts: list[bytes] = []
    whole = Naming()
    more = 0
    line = col = 0  # of the piece's first byte, from 0
    for piece in pieces(src):
        naming = name_file(piece, own, is_local)
        edits = EditSet()
        for _, group in naming.groups:
            edits.add(group)
        parts.append(edits.apply(piece.data))
        for finding in naming.findings:
            if len(whole.findings) < MOST_FINDINGS:
                shift = col if finding.line == 1 else 0
                whole.findings.append(replace(finding, line=finding.line + line, col=finding.col + shift))
            else:
                more += 1
        whole.used.update(naming.used)
        whole.headers += naming.headers
        whole.translated += naming.translated
        whole.untranslated += naming.untranslated
        newlines = piece.data.count(b"\n")
        line += newlines
        col = len(piece.data) - piece.data.rfind(b"\n") - 1 if newlines else col + len(piece.data)
    if more:
        message = f"{more} more names in this file have no counterpart"
        whole.findings.append(Finding("KP202", src.path, 1, 1, message, Safety.MANUAL))
    return b"".join(parts), whole
