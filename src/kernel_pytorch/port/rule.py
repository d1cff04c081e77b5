"""A rule's name, the languages it reads, and how far its edits may be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.source import SourceFile

# Lower number: less trust. A finding may lower its rule's safety, never raise it.
_TRUST = {Safety.MANUAL: 0, Safety.REVIEW: 1, Safety.SAFE: 2}


@dataclass(frozen=True)
class Rule:
    """What one rule is called, what it reads and how far its edits may be trusted.

    `triggers`: byte strings one of which must occur in a file for the rule to have anything to say. They spare a
    look at files the rule cannot concern; empty means every file is looked at.
    """

    code: str
    slug: str
    languages: tuple[str, ...]
    safety: Safety
    triggers: tuple[bytes, ...] = ()

    @property
    def file_stem(self) -> str:
        """The name of the rule's module, which is also the name of its fixture folder."""
        return f"{self.code.lower()}_{self.slug.replace('-', '_')}"

    def concerns(self, src: SourceFile) -> bool:
        """Whether the file can hold what the rule looks for. Cheap."""
        if src.language not in self.languages:
            return False
        return not self.triggers or any(map(src.holds, self.triggers))

    def finding(
        self,
        src: SourceFile,
        span: Span,
        message: str,
        edits: Iterable[Edit] = (),
        safety: Safety | None = None,
    ) -> Finding:
        """A finding of this rule. Without edits it is for a person, whatever the rule's own safety."""
        changes = tuple(edits)
        trust = safety if safety is not None else (self.safety if changes else Safety.MANUAL)
        if _TRUST[trust] > _TRUST[self.safety]:
            raise ValueError(f"{self.code} is {self.safety.value}: a finding of it cannot be {trust.value}")
        if changes and trust is Safety.MANUAL:
            raise ValueError(f"{self.code}: a manual finding cannot carry edits")
        line, col = src.line_col(span.start)
        return Finding(self.code, src.path, line, col, message, trust, changes)
