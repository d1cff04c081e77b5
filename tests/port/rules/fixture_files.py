"""The fixture folders of the rules: what is in them and what their generated files must say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files.makefile import derive_makefile
from kernel_pytorch.port.cxx.source import CxxFile, cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.rules import LoadedRule, all_rules
from kernel_pytorch.port.source import SourceFile, source_file

FOLDER = Path(__file__).parent
COMPILED = (".cu", ".cuh", ".cpp", ".h")


@dataclass(frozen=True)
class Fixture:
    """One rule's folder. `in` and `ok` are written by hand, `out` and `findings.txt` are made."""

    loaded: LoadedRule
    folder: Path

    @property
    def source(self) -> Path:
        """The file the rule is tried on."""
        (found,) = self.folder.glob("in.*")
        return found

    @property
    def ok(self) -> Path:
        """Code that looks alike and must not be reported."""
        (found,) = self.folder.glob("ok.*")
        return found

    @property
    def out(self) -> Path:
        """What `in` becomes."""
        suffix = self.source.suffix
        return self.folder / (f"out.hip{suffix}" if suffix in COMPILED else f"out{suffix}")

    @property
    def is_compiled_source(self) -> bool:
        """Whether the fixture is C++."""
        return self.source.suffix in COMPILED

    @property
    def is_compiled(self) -> bool:
        """Whether `out` has to compile; a file not_compiled.txt says why it does not."""
        return self.is_compiled_source and not (self.folder / "not_compiled.txt").exists()

    @property
    def needs_other_rules(self) -> bool:
        """Whether other rules have to do their part before it compiles; a file compiled_with_all.txt says which."""
        return (self.folder / "compiled_with_all.txt").exists()

    @property
    def code(self) -> str:
        """The rule's code."""
        return self.loaded.rule.code


def fixtures() -> list[Fixture]:
    """Every rule's fixture. A rule without one is caught by test_registry.py."""
    every = [Fixture(loaded, FOLDER / loaded.rule.file_stem) for loaded in all_rules()]
    return [fixture for fixture in every if list(fixture.folder.glob("in.*"))]


def read(path: Path, name: str | None = None) -> SourceFile:
    """A fixture's file as the port sees it, under its own short name."""
    make = cxx_file if path.suffix in COMPILED else source_file
    return make(name or path.name, path.read_bytes())


def findings_of(fixture: Fixture, src: SourceFile) -> tuple[Finding, ...]:
    """What the fixture's rule finds."""
    return fixture.loaded.run(src)


def result_of(fixture: Fixture, src: SourceFile, layout: str = "copy", unsafe: bool = False) -> bytes:
    """The file with the rule's safe edits: by the translator for C++, by the project's own pass otherwise.

    `unsafe`: with those that need a review too.
    """
    if isinstance(src, CxxFile):
        options = HipifyOptions(layout=layout, rules=(fixture.code,), unsafe=unsafe)
        return hipify_file(src, unit_of(src), options).after
    if src.language == "make":
        return (derive_makefile(src.data.decode(), src.path).text or "").encode()
    # A CMake rule whose every edit needs a review is shown with its edits made.
    unsafe = unsafe or (src.language == "cmake" and fixture.loaded.rule.safety is Safety.REVIEW)
    patch = port_plain_file(src, PortOptions(select=(fixture.code,), unsafe=unsafe)).patch
    return patch.after if patch is not None else src.data


def compiled_text(fixture: Fixture) -> bytes:
    """The text that has to compile: `out`, or what all rules together make of `in`."""
    src = read(fixture.source)
    if not fixture.needs_other_rules:
        return result_of(fixture, src)
    assert isinstance(src, CxxFile)
    return hipify_file(src, unit_of(src), HipifyOptions()).after


def findings_text(findings: tuple[Finding, ...]) -> str:
    """The lines of findings.txt."""
    return "".join(f"{one.line}:{one.col}: {one.code} {one.safety.value}: {one.message}\n" for one in findings)


def generated(fixture: Fixture) -> dict[Path, bytes]:
    """The generated files with the bytes they must have. A rule without edits has no `out`."""
    src = read(fixture.source)
    findings = findings_of(fixture, src)
    files = {fixture.folder / "findings.txt": findings_text(findings).encode()}
    if src.language == "make" or any(finding.edits for finding in findings):
        files[fixture.out] = result_of(fixture, src)
    return files
