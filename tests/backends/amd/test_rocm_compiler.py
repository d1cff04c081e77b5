"""ROCmCompiler: real code objects, a real cache, and errors with the compiler's words."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import kernel_pytorch
from kernel_pytorch.backends.amd import CompiledKernel, ROCmCompiler, hiprtc
from kernel_pytorch.backends.amd.amd_exceptions import AMDConfigurationError, HIPCompilationError
from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.hardware import UnknownTargetError
from kernel_pytorch.toolchain import find
from kernel_pytorch.toolchain.cache import KernelCacheWarning
from kernel_pytorch.toolchain.code_object import read_code_object

from .conftest import ADD, MakeCompiler

Compile = Callable[..., CompiledKernel]
STATS = {
    "total_compilations", "cache_hits", "cache_misses", "compilation_errors", "cache_size", "cache_hit_rate_percent",
}  # fmt: skip


def kernel_source(number: int) -> str:
    return f"__global__ void k{number}(int* out) {{ out[threadIdx.x] = {number}; }}"


def test_a_kernel_of_the_seed_without_an_include(make_compiler: MakeCompiler) -> None:
    compiler = make_compiler()
    kernel = compiler.compile_kernel(ADD, "add_kernel")
    assert kernel.name == "add_kernel"
    assert kernel.architecture == "gfx942"
    assert kernel.architecture_reason
    assert kernel.optimization_flags == ("-O3",)
    assert kernel.compile_time_ms > 0
    assert not kernel.cache_hit
    assert kernel.toolchain
    code_object = read_code_object(kernel.binary)
    assert code_object.target == "gfx942"
    assert [one.symbol for one in kernel.resources] == ["_Z3addPKfS0_Pfi"]
    assert kernel.kernel().vgprs > 0
    assert [arg.size for arg in kernel.kernel("add").explicit_args] == [8, 8, 8, 4]
    stats = compiler.get_compilation_stats()
    assert set(stats) == STATS
    assert stats["total_compilations"] == stats["cache_misses"] == stats["cache_size"] == 1


def test_a_second_call_is_a_hit_with_the_same_bytes(make_compiler: MakeCompiler) -> None:
    compiler = make_compiler()
    assert compiler.get_compilation_stats()["cache_hit_rate_percent"] == 0.0
    first = compiler.compile_kernel(ADD, "add")
    second = compiler.compile_kernel(ADD, "add")
    assert second.cache_hit
    assert (second.binary, second.source_hash) == (first.binary, first.source_hash)
    stats = compiler.get_compilation_stats()
    assert (stats["cache_hits"], stats["cache_misses"], stats["total_compilations"]) == (1, 1, 1)
    assert stats["cache_hit_rate_percent"] == 50.0


def test_a_hit_comes_from_disk_in_another_compiler(make_compiler: MakeCompiler) -> None:
    first = make_compiler().compile_kernel(ADD, "add")
    other = make_compiler()
    again = other.compile_kernel(ADD, "add")
    assert again.cache_hit
    assert again.binary == first.binary
    assert again.compile_time_ms == first.compile_time_ms
    assert other.get_compilation_stats()["total_compilations"] == 0


def test_the_cache_can_be_switched_off(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    compiler = make_compiler(hip_kernel_cache_enabled=False)
    assert not compiler.compile_kernel(ADD, "add").cache_hit
    assert not compiler.compile_kernel(ADD, "add").cache_hit
    stats = compiler.get_compilation_stats()
    assert (stats["total_compilations"], stats["cache_hits"], stats["cache_size"]) == (2, 0, 0)
    assert not (tmp_path / "cache").exists()


def test_the_cache_size_bounds_memory_and_disk(make_compiler: MakeCompiler) -> None:
    compiler = make_compiler(hip_compiler_cache_size=2)
    for number in range(3):
        compiler.compile_kernel(kernel_source(number), "k")
    assert compiler.get_compilation_stats()["cache_size"] == 2
    assert compiler.cache is not None
    assert compiler.cache.stats().entries == 2
    assert compiler.compile_kernel(kernel_source(2), "k").cache_hit
    assert not compiler.compile_kernel(kernel_source(0), "k").cache_hit, "the least recently used went"


def test_the_cache_directory_is_the_one_configured(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    make_compiler(hip_compiler_cache_dir=str(elsewhere)).compile_kernel(ADD, "add")
    assert len(list(elsewhere.glob("kpt-kernels-*/*.kpt"))) == 1
    assert not (tmp_path / "cache").exists()


def test_clear_cache_forgets_memory_and_disk_and_leaves_foreign_files(
    make_compiler: MakeCompiler, tmp_path: Path
) -> None:
    compiler = make_compiler()
    compiler.compile_kernel(ADD, "add")
    foreign = tmp_path / "cache" / "thesis.tex"
    foreign.write_text("mine")
    compiler.clear_cache()
    assert compiler.get_compilation_stats()["cache_size"] == 0
    assert [path.name for path in (tmp_path / "cache").rglob("*")] == ["thesis.tex"]
    assert not compiler.compile_kernel(ADD, "add").cache_hit


def test_a_damaged_entry_is_rebuilt(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    first = make_compiler().compile_kernel(ADD, "add")
    (entry,) = (tmp_path / "cache").glob("kpt-kernels-*/*.kpt")
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    entry.write_bytes(content)
    rebuilt = make_compiler().compile_kernel(ADD, "add")
    assert not rebuilt.cache_hit
    assert rebuilt.binary == first.binary
    assert make_compiler().compile_kernel(ADD, "add").cache_hit


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("add", {}), ("add2", {})),
        (("add", {"optimization_level": "O1"}), ("add", {"optimization_level": "O2"})),
        (("add", {"target": "gfx1100"}), ("add", {"target": "gfx90a"})),
    ],
    ids=["name", "flags", "target"],
)
def test_what_changes_the_binary_changes_the_key(
    make_compiler: MakeCompiler, first: tuple[str, dict[str, str]], second: tuple[str, dict[str, str]]
) -> None:
    compiler = make_compiler()
    compiler.compile_kernel(ADD, first[0], **first[1])
    assert not compiler.compile_kernel(ADD, second[0], **second[1]).cache_hit
    assert compiler.compile_kernel(ADD, first[0], **first[1]).cache_hit


def test_a_changed_header_is_a_miss(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    header = tmp_path / "value.h"
    header.write_text("#define VALUE 1\n")
    source = f'#include "{header}"\n__global__ void k(int* out) {{ out[0] = VALUE; }}'
    first = make_compiler().compile_kernel(source, "k")
    unchanged = make_compiler()
    assert unchanged.compile_kernel(source, "k").cache_hit
    header.write_text("#define VALUE 12345\n")
    assert not unchanged.compile_kernel(source, "k").cache_hit, "also for a kernel held in memory"
    changed = make_compiler().compile_kernel(source, "k")
    assert changed.cache_hit
    assert changed.binary != first.binary


def test_a_compiler_variable_is_part_of_the_key(make_compiler: MakeCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = make_compiler()
    compiler.compile_kernel(ADD, "add")
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", "/nonexistent")
    assert not compiler.compile_kernel(ADD, "add").cache_hit


def test_another_toolchain_is_another_key(
    make_compiler: MakeCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_compiler().compile_kernel(ADD, "add")
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    again = make_compiler()
    assert again.compile_kernel(ADD, "add").cache_hit, "looked for again, found the same"
    monkeypatch.setattr(find.Toolchain, "fingerprint", lambda self: "an upgraded compiler")
    (tools / "new-tool").write_text("")  # changes the directory, so that the search is not taken from memory
    assert not make_compiler().compile_kernel(ADD, "add").cache_hit


@pytest.mark.parametrize(
    ("level", "flags"),
    [
        ("conservative", ("-O2", "-ffp-contract=off")),
        ("balanced", ("-O3",)),
        ("aggressive", ("-O3", "-fno-hip-fp32-correctly-rounded-divide-sqrt")),
        ("O0", ("-O0",)),
        ("-O1", ("-O1",)),
    ],
)
def test_optimization_levels_reach_the_compiler(compile_once: Compile, level: str, flags: tuple[str, ...]) -> None:
    source = "__global__ void k(float* a, const float* b) { a[0] = a[0] * b[0] + b[1]; a[1] = b[2] / b[3]; }"
    kernel = compile_once(source, "k", level)
    assert kernel.optimization_flags == flags
    if level != "balanced":
        assert kernel.binary != compile_once(source, "k", "balanced").binary


def test_the_configured_level_is_the_default(make_compiler: MakeCompiler) -> None:
    kernel = make_compiler(optimization_level="conservative").compile_kernel(ADD, "add")
    assert kernel.optimization_flags == ("-O2", "-ffp-contract=off")


def test_an_unknown_level_is_refused(compile_once: Compile) -> None:
    with pytest.raises(AMDConfigurationError, match="optimization_level='fastest' is not allowed"):
        compile_once(ADD, "add", "fastest")


@pytest.mark.parametrize(
    ("architecture", "target"),
    [
        ("GCN5", "gfx906"),
        ("CDNA", "gfx908"),
        ("CDNA2", "gfx90a"),
        ("CDNA3", "gfx942"),
        ("CDNA4", "gfx950"),
        ("RDNA2", "gfx1030"),
        ("RDNA3", "gfx1100"),
        ("RDNA4", "gfx1201"),
    ],
)
def test_the_configured_architecture_decides_the_target(architecture: str, target: str) -> None:
    choice = ROCmCompiler(AMDConfig(architecture=AMDArchitecture[architecture])).target()
    assert choice.target == target
    assert architecture in choice.reason


def test_the_configured_architecture_is_what_is_built(make_compiler: MakeCompiler) -> None:
    kernel = make_compiler(architecture=AMDArchitecture.RDNA3).compile_kernel(ADD, "add")
    assert read_code_object(kernel.binary).target == kernel.architecture == "gfx1100"


def test_a_named_target_wins(toolchain: None, tmp_path: Path) -> None:
    config = AMDConfig(architecture=AMDArchitecture.CDNA3, hip_compiler_cache_dir=str(tmp_path))
    compiler = ROCmCompiler(config, target="gfx1030")
    assert compiler.compile_kernel(ADD, "add").architecture == "gfx1030"
    assert compiler.compile_kernel(ADD, "add", target="gfx90a").architecture == "gfx90a"
    with pytest.raises(UnknownTargetError, match="gfx999"):
        compiler.compile_kernel(ADD, "add", target="gfx999")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "the source is empty"),
        (" \n\t ", "the source is empty"),
        ("garbage", "unknown type name 'garbage'"),
        ("\x00\x01\xff binary", "error:"),
        ("__global__ void add(float* a, float* b, float* c) { ... }", "expected expression"),
        (
            "__global__ void k(int* a) {\n  a[0] = missing;\n}",
            "k.hip:2:10: error: use of undeclared identifier 'missing'",
        ),
        ("__device__ int f() { return 1; }", "holds no kernel"),
        ("template <class T> __global__ void k(T* a) { a[0] = 1; }", "only templates that nothing instantiates"),
        ("__device__ int outside(); __global__ void k(int* a) { a[0] = outside(); }", "undefined in device code"),
        ("#error stop here", "stop here"),
        ('#include "not_there.h"', "'not_there.h' file not found"),
        ("__global__ void k() { \udcff }", "error:"),
        ("__global__ void k() { \ud800 }", "the source is not valid text"),
    ],
)
def test_what_does_not_compile_raises_with_the_facts(compile_once: Compile, source: str, words: str) -> None:
    with pytest.raises(HIPCompilationError) as caught:
        compile_once(source, "k")
    assert caught.value.kernel_name == "k"
    assert words in caught.value.error_message
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.kernel_name, again.error_message) == (caught.value.kernel_name, caught.value.error_message)


def test_errors_are_counted_and_not_cached(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    compiler = make_compiler()
    for _ in range(2):
        with pytest.raises(HIPCompilationError):
            compiler.compile_kernel("garbage", "k")
    with pytest.raises(HIPCompilationError):
        compiler.compile_kernel("", "k")
    stats = compiler.get_compilation_stats()
    assert (stats["compilation_errors"], stats["total_compilations"], stats["cache_size"]) == (3, 2, 0)
    assert list((tmp_path / "cache").glob("kpt-kernels-*/*")) == []


def test_lines_are_the_users_with_and_without_the_include(compile_once: Compile) -> None:
    broken = "__global__ void k(int* a) {\n  a[0] = missing;\n}\n"
    for source, line in ((broken, 2), (f"#include <hip/hip_runtime.h>\n{broken}", 3)):
        with pytest.raises(HIPCompilationError, match=rf"k\.hip:{line}:10: error"):
            compile_once(source, "k")


@pytest.mark.parametrize("name", ["ns::add<float>", "../../escape", "-o", "@ü"])
def test_any_label_will_do(compile_once: Compile, name: str) -> None:
    assert compile_once(ADD, name).name == name


def test_a_label_must_be_there_and_be_text(compile_once: Compile) -> None:
    with pytest.raises(HIPCompilationError, match="no name"):
        compile_once(ADD, " ")
    with pytest.raises(TypeError, match="both are text"):
        compile_once(ADD.encode(), "add")


def test_without_a_toolchain_the_error_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "_candidates", lambda *_: iter(()))
    monkeypatch.setattr(hiprtc, "hiprtc_candidates", lambda: iter(()))
    monkeypatch.setattr(hiprtc, "unpacked_root", lambda: None)
    compiler = ROCmCompiler(AMDConfig(hip_compiler_cache_dir=str(tmp_path)))
    with pytest.raises(HIPCompilationError, match=r"pip install .*ziglang") as caught:
        compiler.compile_kernel(ADD, "add")
    assert isinstance(caught.value.__cause__, find.ToolchainNotFoundError)
    assert compiler.get_compilation_stats()["compilation_errors"] == 1


def test_an_unusable_cache_directory_warns_once_and_compiles(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a directory")
    compiler = make_compiler(hip_compiler_cache_dir=str(blocked))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert compiler.compile_kernel(ADD, "add").binary
        assert compiler.compile_kernel(ADD, "add").cache_hit, "memory still serves"
        compiler.clear_cache()
    assert [warning.category for warning in caught] == [KernelCacheWarning]


def test_threads_that_want_one_kernel_wait_for_one_compile(make_compiler: MakeCompiler) -> None:
    compiler = make_compiler()
    kernels: list[CompiledKernel] = []
    threads = [threading.Thread(target=lambda: kernels.append(compiler.compile_kernel(ADD, "add"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({kernel.binary for kernel in kernels}) == 1
    stats = compiler.get_compilation_stats()
    assert (stats["total_compilations"], stats["cache_hits"]) == (1, 7)


def test_a_kernel_pickles(compile_once: Compile) -> None:
    kernel = compile_once(ADD, "add")
    assert kernel.resources
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    assert again.resources == kernel.resources


NEW_PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
from kernel_pytorch.backends.amd import ROCmCompiler, hiprtc
from kernel_pytorch.core.config import AMDConfig
compiler = ROCmCompiler(AMDConfig(hip_compiler_cache_dir=sys.argv[2]))
kernel = compiler.compile_kernel(sys.argv[3], "add")
heavy = {"torch", "numpy", "subprocess", "kernel_pytorch.toolchain.find", "kernel_pytorch.core.hardware"}
print(kernel.cache_hit, sorted(heavy & set(sys.modules)), sep="\\n")
"""


def new_process(directory: Path) -> subprocess.Popen[str]:
    root = str(Path(kernel_pytorch.__file__).parents[1])
    command = [sys.executable, "-c", NEW_PROCESS, root, str(directory), ADD]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_hit_in_a_new_process_loads_no_compiler_machinery(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    make_compiler().compile_kernel(ADD, "add")
    output, errors = new_process(tmp_path / "cache").communicate(timeout=60)
    assert output.splitlines() == ["True", "[]"], errors


def test_eight_processes_on_one_directory_compile_once_and_lose_nothing(toolchain: None, tmp_path: Path) -> None:
    processes = [new_process(tmp_path) for _ in range(8)]
    outputs = []
    for process in processes:
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        outputs.append(output.splitlines()[0])
    assert sorted(outputs) == ["False"] + ["True"] * 7
    output, errors = new_process(tmp_path).communicate(timeout=60)
    assert output.splitlines()[0] == "True", errors


def test_a_hit_touches_the_entry(make_compiler: MakeCompiler, tmp_path: Path) -> None:
    make_compiler().compile_kernel(ADD, "add")
    (entry,) = (tmp_path / "cache").glob("kpt-kernels-*/*.kpt")
    os.utime(entry, (1, 1))
    make_compiler().compile_kernel(ADD, "add")
    assert entry.stat().st_mtime > time.time() - 3600
