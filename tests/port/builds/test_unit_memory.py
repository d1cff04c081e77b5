"""An outcome is remembered for as long as nothing it depends on changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.port.builds.hipified_tree import column_before
from kernel_pytorch.port.builds.missing_header import missing_header
from kernel_pytorch.port.builds.unit_memory import UnitMemory
from kernel_pytorch.toolchain.cache import KernelCache
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.find import Toolchain


def toolchain(version: str = "1") -> Toolchain:
    return Toolchain(
        kind="clang",
        compiler=("/nowhere/clang",),
        linker=None,
        version=version,
        headers="none",
        include_dirs=(),
        device_libs=(),
        device_lib_dir=None,
        host_flags=(),
        wrapper=None,
        rocm_path=None,
        notes=(),
        reason="",
    )


class Runs:
    """Counts how often a pass really ran."""

    def __init__(self, failure: CompileFailed | None = None) -> None:
        self.count = 0
        self.failure = failure

    def __call__(self) -> bytes:
        self.count += 1
        if self.failure is not None:
            raise self.failure
        return b"code"


def project(top: Path) -> tuple[Path, CompileOptions]:
    top.mkdir()
    (top / "a.cu").write_text('#include "a.h"\n')
    (top / "a.h").write_text("int a;\n")
    return top / "a.cu", CompileOptions(include_dirs=(top,))


def test_the_same_source_elsewhere_is_the_same(tmp_path: Path) -> None:
    cache, runs = KernelCache(tmp_path / "cache"), Runs()
    for name in ("one", "two"):
        source, options = project(tmp_path / name)
        assert UnitMemory(toolchain(), tmp_path / name, cache).run(source, options, "host", runs) == b"code"
    assert runs.count == 1


@pytest.mark.parametrize("change", ["header", "define", "step", "compiler"])
def test_what_changes_is_built_again(tmp_path: Path, change: str) -> None:
    cache, runs = KernelCache(tmp_path / "cache"), Runs()
    source, options = project(tmp_path / "one")
    UnitMemory(toolchain(), tmp_path / "one", cache).run(source, options, "host", runs)
    if change == "header":
        (tmp_path / "one/a.h").write_text("int b;\n")
    changed = CompileOptions(include_dirs=options.include_dirs, defines=("B",)) if change == "define" else options
    step = "code for gfx942" if change == "step" else "host"
    memory = UnitMemory(toolchain("2" if change == "compiler" else "1"), tmp_path / "one", cache)
    memory.run(source, changed, step, runs)
    assert runs.count == 2


def test_a_failure_comes_back_on_the_new_paths(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache")
    source, options = project(tmp_path / "one")
    said = f"{tmp_path}/one/a.cu:1:10: error: no\n"
    first = Runs(CompileFailed((), said, ()))
    UnitMemory(toolchain(), tmp_path / "one", cache).run(source, options, "host", first)
    source, options = project(tmp_path / "two")
    again = UnitMemory(toolchain(), tmp_path / "two", cache).run(source, options, "host", first)
    assert isinstance(again, CompileFailed)
    assert again.stderr == said.replace("/one/", "/two/")
    assert first.count == 1


def test_a_compiler_that_was_stopped_is_asked_again(tmp_path: Path) -> None:
    cache, runs = KernelCache(tmp_path / "cache"), Runs(CompileFailed((), "killed", ()))
    source, options = project(tmp_path / "one")
    for _ in range(2):
        UnitMemory(toolchain(), tmp_path / "one", cache).run(source, options, "host", runs)
    assert runs.count == 2


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("glm/glm.hpp", Status.NOT_RUN),
        ("hipcub/hipcub.hpp", Status.NOT_RUN),
        ("cutlass/cutlass.h", Status.FAIL),
        ("mma.h", None),
        ("cuda_runtime.h", None),
        ("cooperative_groups/memcpy_async.h", None),
        ("THC/THC.h", None),
    ],
)
def test_a_missing_header(header: str, status: Status | None) -> None:
    meaning = missing_header(f"'{header}' file not found", "a.cu:1")
    assert (meaning[0] if meaning else None) is status


def test_a_column_before_its_line_was_renamed() -> None:
    old, new = b"x = cudaMalloc(p) + f(q);\n", b"x = hipMalloc(p) + f(q);\n"
    assert old[column_before(old, 1, new, 1, new.index(b"f(q") + 1) - 1 :].startswith(b"f(q)")
    assert column_before(old, 1, old, 1, 7) == 7


def test_a_settled_folder_counts_by_its_version(tmp_path: Path) -> None:
    cache, runs = KernelCache(tmp_path / "cache"), Runs()
    source, options = project(tmp_path / "one")
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "b.h").write_text("int b;\n")
    source.write_text('#include "a.h"\n#include "b.h"\n')
    options = replace(options, include_dirs=(*options.include_dirs, torch))

    def run(version: str) -> int:
        UnitMemory(toolchain(), tmp_path / "one", cache, {torch: version}).run(source, options, "host", runs)
        return runs.count

    assert run("1") == 1
    (torch / "b.h").write_text("int b = 2;\n")
    assert run("1") == 1
    assert run("2") == 2
