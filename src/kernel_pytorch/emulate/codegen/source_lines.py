"""#line directives in generated C: a debugger stops in a kernel at the lines its author wrote."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.emulate.assembly.instruction import OperandPlace


class SourceLines:
    """Marks the C of one instruction after the other with the source line it came from."""

    def __init__(self) -> None:
        self._last: OperandPlace | None = None
        self._names: dict[str, str] = {}

    def mark(self, lines: list[str], begun: int, place: OperandPlace | None) -> None:
        """Put what was written from `begun` on into one line, at `place`; without one, at the place before it."""
        if place is not None and place.line and place.file:
            self._last = place
        if self._last is None or begun == len(lines):
            return
        text = " ".join(lines[begun:]).replace("\n", " ")
        lines[begun:] = [f'#line {self._last.line} "{self._name(self._last.file)}"', text]

    def _name(self, file: str) -> str:
        """The whole path where the file is there, since a debugger may be started elsewhere."""
        if file not in self._names:
            path = Path(file)
            self._names[file] = str(path.resolve() if path.is_file() else path).replace("\\", "/").replace('"', "")
        return self._names[file]
