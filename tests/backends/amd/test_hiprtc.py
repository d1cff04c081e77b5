"""hiprtc through ctypes: against a double of its ABI everywhere, and for real where an unpacked ROCm has it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.backends.amd import CompiledKernel, ROCmCompiler, hiprtc
from kernel_pytorch.backends.amd.hiprtc import Hiprtc, HiprtcFailed, HiprtcNotFoundError, find_hiprtc, open_hiprtc
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.errors import AMDConfigurationError, HIPCompilationError
from kernel_pytorch.toolchain import find
from kernel_pytorch.toolchain.code_object import read_code_object

from .conftest import ADD

ROOT = Path(__file__).parents[3]


class FakeHiprtc:
    def __init__(self, library: Path, log: Path) -> None:
        self.library, self.log = library, log

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) to build the stand-in for libhiprtc")
    # Not under its true name: a libhiprtc that this process has loaded is found before any other.
    library = tmp_path_factory.mktemp("fake-hiprtc") / "double-of-hiprtc.so"
    source = Path(__file__).with_name("fake_hiprtc.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


@pytest.fixture
def fake(
    fake_library: Path,
    compile_once: Callable[..., CompiledKernel],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> FakeHiprtc:
    code = tmp_path / "add.hsaco"
    code.write_bytes(compile_once(ADD, "add").binary)
    log = tmp_path / "calls"
    monkeypatch.setenv("FAKE_HIPRTC_LOG", str(log))
    monkeypatch.setenv("FAKE_HIPRTC_CODE", str(code))
    monkeypatch.setattr(hiprtc, "hiprtc_candidates", lambda: iter([str(fake_library)]))
    return FakeHiprtc(fake_library, log)


def make_compiler(tmp_path: Path, **options: object) -> ROCmCompiler:
    config = AMDConfig(hip_compiler_cache_dir=str(tmp_path / "cache"))
    return ROCmCompiler(config, target="gfx90a", **{"compiler": "hiprtc", **options})  # type: ignore[arg-type]


def test_every_argument_arrives(fake: FakeHiprtc) -> None:
    found = find_hiprtc()
    assert (found.path, found.version, found.loader) == (str(fake.library), "7.2", ())
    made = found.compile("kernel text", "k.hip", ["-O3", "-g"], headers={"mine.h": "int x;"}, expressions=["f<int>"])
    assert fake.calls() == [
        "create k.hip 11 mine.h=int x;",
        "kernel text",
        "expression 1 f<int>",
        "compile 1 -O3 -g",
        "destroy",
    ]
    assert made.symbols == {"f<int>": "_Z_1_f<int>"} and read_code_object(made.binary).kernels


def test_the_compilers_words_come_back_under_the_callers_name(
    fake: FakeHiprtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_HIPRTC_FAILS", "1")
    monkeypatch.setenv("FAKE_HIPRTC_LOG_TEXT", "/tmp/comgr-1-0-c5/input/bad.hip:1:49: error: undeclared 'y'\n")
    with pytest.raises(HIPCompilationError) as caught:
        make_compiler(tmp_path).compile_kernel("y", "bad")
    assert caught.value.error_message == "bad.hip:1:49: error: undeclared 'y'"
    assert caught.value.details["target"] == "gfx90a" and fake.calls()[-1] == "destroy"
    monkeypatch.delenv("FAKE_HIPRTC_LOG_TEXT")
    with pytest.raises(HIPCompilationError, match="HIPRTC_ERROR_COMPILATION \\(6\\)"):
        make_compiler(tmp_path).compile_kernel("y", "bad")
    monkeypatch.setenv("FAKE_HIPRTC_NO_PROGRAM", "1")
    with pytest.raises(HIPCompilationError, match="HIPRTC_ERROR_OTHER \\(1\\)"):
        make_compiler(tmp_path).compile_kernel("y", "bad")
    with pytest.raises(HiprtcFailed, match="NUL"):
        find_hiprtc().compile("a\0b", "k", [])


def test_a_kernel_through_the_compiler_and_its_cache(fake: FakeHiprtc, tmp_path: Path) -> None:
    compiler = make_compiler(tmp_path)
    kernel = compiler.compile_kernel("#include <hip/hip_runtime.h>\n" + ADD, "add", "conservative")
    assert kernel.binary and not kernel.cache_hit and kernel.toolchain == f"hiprtc 7.2: {fake.library}"
    calls = fake.calls()
    assert "compile 1 --offload-arch=gfx90a -std=c++17 -O2 -ffp-contract=off" in calls
    assert "// #include <hip/hip_runtime.h>" in calls, "the runtime is built in, and lines keep their numbers"
    assert (
        make_compiler(tmp_path).compile_kernel("#include <hip/hip_runtime.h>\n" + ADD, "add", "conservative").cache_hit
    )
    assert compiler.get_compilation_stats()["total_compilations"] == 1


def test_it_is_used_where_there_is_no_toolchain(
    fake: FakeHiprtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*args: object, **options: object) -> None:
        raise find.ToolchainNotFoundError("no compiler")

    monkeypatch.setattr(find, "find_toolchain", nothing)
    assert make_compiler(tmp_path, compiler="auto").compile_kernel(ADD, "add").toolchain.startswith("hiprtc")
    with pytest.raises(HIPCompilationError, match="no compiler"):
        make_compiler(tmp_path / "other", compiler="toolchain").compile_kernel(ADD, "add")
    monkeypatch.setattr(hiprtc, "hiprtc_candidates", lambda: iter(()))
    monkeypatch.setattr(hiprtc, "unpacked_root", lambda: None)
    with pytest.raises(HIPCompilationError, match="no compiler"):
        make_compiler(tmp_path / "third", compiler="auto").compile_kernel(ADD, "add")
    with pytest.raises(HIPCompilationError, match=r"libhiprtc.so was not found: it comes with ROCm"):
        make_compiler(tmp_path / "fourth").compile_kernel(ADD, "add")
    with pytest.raises(AMDConfigurationError, match="compiler='gcc' is not allowed"):
        ROCmCompiler(compiler="gcc")


def test_a_library_that_is_none_is_passed_over(
    fake: FakeHiprtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "libhiprtc.so"
    broken.write_bytes(b"\x7fELF")
    monkeypatch.setattr(hiprtc, "hiprtc_candidates", lambda: iter([str(broken), str(fake.library)]))
    assert find_hiprtc().path == str(fake.library)
    monkeypatch.setattr(hiprtc, "hiprtc_candidates", lambda: iter([str(broken)]))
    monkeypatch.setattr(hiprtc, "unpacked_root", lambda: None)
    with pytest.raises(HiprtcNotFoundError, match=r"libhiprtc\.so: "):
        find_hiprtc()
    with pytest.raises(OSError, match="lacks hiprtcVersion"):
        open_hiprtc(shutil.which("libm.so.6") or "libm.so.6")


def test_a_process_of_its_own_that_does_not_answer(fake: FakeHiprtc) -> None:
    with pytest.raises(OSError, match="without an answer"):
        Hiprtc(str(fake.library), "7.2", ("true",)).compile("x", "k", [])
    with pytest.raises(OSError, match="hiprtc in a process of its own"):
        Hiprtc(str(fake.library), "7.2", ("/no/such/loader",)).compile("x", "k", [])


def test_a_process_of_its_own(fake: FakeHiprtc, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = Hiprtc(str(fake.library), "7.2", ("env",))
    assert apart.compile("x", "k", ["-O1"], expressions=["g"]).symbols == {"g": "_Z_1_g"}
    monkeypatch.setenv("FAKE_HIPRTC_FAILS", "1")
    with pytest.raises(HiprtcFailed, match="HIPRTC_ERROR_COMPILATION"):
        apart.compile("x", "k", [])
    with pytest.raises(OSError, match="no-such-library"):
        Hiprtc("/no-such-library.so", "7.2", ("env",)).compile("x", "k", [])


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Hiprtc:
    if (ROOT / ".rocm").is_dir():
        monkeypatch.setenv("KPT_ROCM_ROOT", str(ROOT / ".rocm"))
    try:
        return find_hiprtc()
    except HiprtcNotFoundError as error:
        pytest.skip(f"{error} (make rocm-debian unpacks one)")


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_the_real_hiprtc_builds_without_a_gpu(real: Hiprtc, target: str, tmp_path: Path) -> None:
    source = "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n" + ADD.replace(
        "a[i]", "__half2float(__half(a[i]))"
    )
    config = AMDConfig(hip_compiler_cache_dir=str(tmp_path))
    kernel = ROCmCompiler(config, target=target, compiler="hiprtc").compile_kernel(source, "add")
    code = read_code_object(kernel.binary)
    assert code.target == target and [item.name.split("(")[0] for item in code.kernels] == ["add"]
    assert kernel.kernel().vgprs > 0
    with pytest.raises(HIPCompilationError, match=r"bad.hip:1:\d+: error: use of undeclared identifier 'y'"):
        ROCmCompiler(config, target=target, compiler="hiprtc").compile_kernel(
            "__global__ void f(int* x) { x[0] = y; }", "bad"
        )
