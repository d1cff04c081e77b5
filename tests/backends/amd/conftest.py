"""A HIP compiler, and a stand-in for the ABI of AMD's runtime."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_pytorch.backends.amd import CompiledKernel, ROCmCompiler, hip_build, hip_driver
from kernel_pytorch.backends.amd.stored_kernel import StoredKernel
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

ADD = """\
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""


@pytest.fixture(scope="session")
def toolchain() -> None:
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))


MakeCompiler = Callable[..., ROCmCompiler]


@pytest.fixture(scope="session")
def built_kernels() -> dict[object, StoredKernel]:
    """What the toolchain made of a text in this run."""
    return {}


@pytest.fixture
def make_compiler(
    toolchain: None, tmp_path: Path, built_kernels: dict[object, StoredKernel], monkeypatch: pytest.MonkeyPatch
) -> MakeCompiler:
    """A compiler with a cache of its own; options go to AMDConfig.

    Many tests compile one text into an empty cache. The toolchain builds it once in a run, below what counts and
    caches; a text with files of its own is built every time.
    """
    build = hip_build.build_kernel

    def built_once(source: str, *how: object) -> StoredKernel:
        if "#include" in source or (source, how) not in built_kernels:
            built_kernels[source, how] = build(source, *how)  # type: ignore[arg-type]
        return built_kernels[source, how]

    monkeypatch.setattr(hip_build, "build_kernel", built_once)

    def make(**options: object) -> ROCmCompiler:
        settings = {"hip_compiler_cache_dir": str(tmp_path / "cache"), **options}
        return ROCmCompiler(AMDConfig(**settings))  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def compile_once(toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., CompiledKernel]:
    """Compiles through one cache for the whole run: tests that need some kernel need not wait for it again."""
    config = AMDConfig(hip_compiler_cache_dir=str(tmp_path_factory.mktemp("shared-cache")))
    return ROCmCompiler(config, target="gfx942").compile_kernel


@dataclass(frozen=True)
class FakeHip:
    log: Path
    setenv: Callable[[str, str], None]

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def launches(self) -> list[str]:
        return [call for call in self.calls() if call.startswith("hipModuleLaunchKernel")]


@pytest.fixture(scope="session")
def fake_hip_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) to build the stand-in for libamdhip64")
    library = tmp_path_factory.mktemp("fake-hip") / "libamdhip64.so"
    source = Path(__file__).with_name("fake_hip.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


@pytest.fixture
def fake_hip(fake_hip_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHip:
    # A copy per test: a library stays open in the process, and with it what it knows.
    library = tmp_path / "libamdhip64.so"
    shutil.copy(fake_hip_library, library)
    log = tmp_path / "calls"
    monkeypatch.setenv("FAKE_HIP_LOG", str(log))
    monkeypatch.setattr(hip_driver, "hip_library_candidates", lambda: iter([str(library)]))
    monkeypatch.setattr(hip_driver, "_found", {})
    return FakeHip(log, monkeypatch.setenv)
