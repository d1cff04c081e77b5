"""Every rule against its fixture folder: findings, result, silence, idempotence, isolation, compilation."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Safety
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.toolchain.compile import CompileOptions, check_unit
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain
from kernel_pytorch.verify.isolation import Isolation, compare_file
from tests.port.rules import fixture_files
from tests.port.rules.fixture_files import Fixture

FIXTURES = fixture_files.fixtures()
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
LAYOUTS = ("copy", "single-source", "torch-extension")
GATE = b"#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)"

each_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.folder.name)
each_compiled = pytest.mark.parametrize(
    "fixture", [one for one in FIXTURES if one.is_compiled_source], ids=lambda fixture: fixture.folder.name
)


@each_fixture
def test_generated_files_are_up_to_date(fixture: Fixture) -> None:
    for path, data in fixture_files.generated(fixture).items():
        assert path.exists(), f"{path.name} is missing: make fixtures"
        assert path.read_bytes() == data, f"{path.name} differs: make fixtures, then read the diff"


@each_fixture
def test_the_rule_finds_something(fixture: Fixture) -> None:
    assert fixture_files.findings_of(fixture, fixture_files.read(fixture.source))


@each_fixture
def test_ok_is_silent(fixture: Fixture) -> None:
    ok = fixture_files.read(fixture.ok, f"in{fixture.ok.suffix}")
    assert ok.data.strip(), "ok holds code that looks alike"
    assert fixture_files.findings_text(fixture_files.findings_of(fixture, ok)) == ""


@each_fixture
def test_a_second_run_changes_nothing(fixture: Fixture) -> None:
    if not fixture.out.exists() or fixture.out.suffix == ".mk":
        return  # nothing is rewritten, or a new file is written beside the old one
    out = fixture_files.read(fixture.out, f"in{fixture.out.suffix}")
    findings = fixture_files.findings_of(fixture, out)
    assert not [finding for finding in findings if finding.edits and finding.safety is Safety.SAFE]
    assert fixture_files.result_of(fixture, out) == out.data


@each_compiled
def test_a_second_port_changes_nothing(fixture: Fixture) -> None:
    """With all rules, in every layout: what one rule writes must not be news to another, or to itself."""
    for path in (fixture.source, fixture.ok):
        for layout in LAYOUTS:
            options = HipifyOptions(layout)
            once = hipify_file(cxx_file(f"in{path.suffix}", path.read_bytes()), None, options).after
            name = "in.hip" if layout == "copy" and path.suffix == ".cu" else f"in{path.suffix}"
            assert hipify_file(cxx_file(name, once), None, options).after == once, f"{path.name} in layout {layout}"


@pytest.mark.parametrize(
    "fixture", [one for one in FIXTURES if not one.is_compiled_source], ids=lambda fixture: fixture.folder.name
)
def test_isolation_of_scripts(fixture: Fixture) -> None:
    src = fixture_files.read(fixture.source)
    after = fixture_files.result_of(fixture, src)
    if after != src.data and src.language in ("python", "cmake"):
        name = "CMakeLists.txt" if src.language == "cmake" else src.path
        verdict = compare_file(name, src.data, after)
        assert verdict.verdict is Isolation.PROVEN, verdict


@each_compiled
def test_isolation(fixture: Fixture) -> None:
    src = fixture_files.read(fixture.source)
    gated = fixture_files.result_of(fixture, src, layout="torch-extension")
    findings = fixture_files.findings_of(fixture, src)
    applied = any(finding.edits and finding.safety.value == "safe" for finding in findings)
    # Without an edit of the rule a file may still change: names and headers that torch's own hipify does not know.
    assert gated != src.data or not applied
    if gated != src.data:
        verdict = compare_file(src.path, src.data, gated)
        assert verdict.verdict is Isolation.PROVEN, verdict
    # Byte for byte, but for conditions: those ask both questions in one line, which the verdict above covers.
    assert without_conditions(fold(gated)) == without_conditions(src.data)


def without_conditions(text: bytes) -> list[bytes]:
    """The lines that are no #if, #ifdef, #ifndef or #elif, continuations joined."""
    lines = re.sub(rb"\\\r?\n", b" ", text).splitlines(keepends=True)
    return [line for line in lines if not re.match(rb"[ \t]*#[ \t]*(?:el)?if", line)]


def fold(text: bytes) -> bytes:
    """The gate's macros undefined: a few lines that share nothing with the renderer."""
    kept: list[bytes] = []
    depth = 0  # of conditionals inside a gate's branch
    state = "outside"
    for line in text.splitlines(keepends=True):
        word = line.strip()
        if state == "outside":
            if word == GATE:
                state, depth = "rocm", 0
            else:
                kept.append(line)
        elif depth == 0 and word == b"#else":
            state = "cuda"
        elif depth == 0 and word == b"#endif":
            state = "outside"
        else:
            depth += word.startswith(b"#if") - word.startswith(b"#endif")
            if state == "cuda":
                kept.append(line)
    return b"".join(kept)


@functools.cache
def toolchain() -> Toolchain:
    """A compiler with ROCm's headers, or a skip that says what is missing."""
    try:
        found = find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error).splitlines()[0])
    return found


def compiled(fixture: Fixture, target: str) -> None:
    found = toolchain()
    if found.headers == "triton":
        pytest.skip("the headers inside triton lack hip_fp16.h and the libraries': make rocm-debian")
    check_text(fixture_files.compiled_text(fixture), target, found)


def check_text(text: bytes, target: str, found: Toolchain) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fixture.hip"
        path.write_bytes(text)
        check_unit(path, target, found, CompileOptions(optimization="-O1"))


@each_compiled
@pytest.mark.rocm_headers
def test_out_compiles(fixture: Fixture) -> None:
    if not fixture.is_compiled:
        pytest.skip((fixture.folder / "not_compiled.txt").read_text().strip())
    compiled(fixture, "gfx942")


@each_compiled
@pytest.mark.rocm_headers
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_out_compiles_for_every_family(fixture: Fixture, target: str) -> None:
    if not fixture.is_compiled:
        pytest.skip((fixture.folder / "not_compiled.txt").read_text().strip())
    compiled(fixture, target)
