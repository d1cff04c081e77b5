"""Damaged files, endless kernels, too much of everything: the emulator ends, soon, with a message and no traceback."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import RunSettings, emulation_environment, run_program
from kernel_pytorch.emulate.translate import translate_to_c
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.program import DeviceCode, build_device_code_text
from kernel_pytorch.toolchain.stages import assemble_device

VICTIM = r"""
#include <hip/hip_runtime.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
__global__ void spin(volatile int *flag) { while (*flag == 0) {} }
__global__ void count_forever(volatile int *at, int stop) { while (*at != stop) *at += 2; }
__global__ void turn(int *x, int turns) {
  int v = 0;
  for (int i = 0; i < turns; i++) v = v * 3 + i;
  if (v == 12345) *x = v;
}
__global__ void shared(int *out) {
  extern __shared__ int s[];
  s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x];
}
static int said(const char *what, hipError_t error) {
  printf("%s %s\n", what, hipGetErrorName(error));
  return error != hipSuccess;
}
static void leave_soon() {
  std::thread([] {
    sleep(1);
    long pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    printf("resident %ld\n", resident * sysconf(_SC_PAGESIZE) >> 20);
    fflush(stdout);
    exit(7);
  }).detach();
}
static int load(char **files) {
  for (; *files; files++) {
    hipModule_t module = nullptr;
    hipFunction_t function = nullptr;
    hipError_t error = hipModuleLoad(&module, *files);
    if (!error) error = hipModuleGetFunction(&function, module, "_Z4turnPii");
    if (module) (void)hipModuleUnload(module);
    (void)hipGetLastError();
    printf("%s\n", hipGetErrorName(error));
  }
  return 0;
}
int main(int, char **argv) {
  std::string mode = argv[1];
  int *x = nullptr;
  if (mode == "memory") {
    size_t got = 0;
    while (hipMalloc((void **)&x, 16 << 20) == hipSuccess) got += 16;
    printf("%zu MB, ", got);
    return said("then", hipGetLastError());
  }
  if (hipMalloc((void **)&x, 8192) || hipMemset(x, 0, 8192)) return 9;
  if (mode == "load") return load(argv + 2);
  if (mode == "spin") spin<<<1, 64>>>(x);
  if (mode == "count") count_forever<<<1, 1>>>(x, 7);
  if (mode == "turn") turn<<<4, 64>>>(x, 10);
  if (mode == "leave") leave_soon();
  if (mode == "leave" || mode == "huge") turn<<<3906250, 256>>>(x, 1000000);
  if (mode == "exit")
    for (int i = 0; i < 20; i++) {
      turn<<<4, 64>>>(x, 10);
      if (i == 10) exit(5);
    }
  if (mode == "segv") {
    turn<<<4, 64>>>(x, 10);
    *(volatile int *)8 = 1;
  }
  if (mode == "threads") turn<<<1, 2048>>>(x, 10);
  if (mode == "lds") shared<<<1, 64, 200 * 1024>>>(x);
  return said("launch", hipGetLastError()) | said("end", hipDeviceSynchronize());
}
"""
GPU = gpu_by_alias("mi300x")
ALLOWED_STATUS = {"hipSuccess", "hipErrorInvalidImage", "hipErrorNoBinaryForGpu", "hipErrorInvalidKernelFile",
                  "hipErrorNotFound", "hipErrorOutOfMemory", "hipErrorInvalidValue", "hipErrorFileNotFound",
                  "hipErrorSharedObjectInitFailed", "hipErrorInvalidDeviceFunction"}  # fmt: skip


@dataclass(frozen=True)
class Victim:
    """A program that misbehaves as its first argument says, with its device code."""

    path: Path
    code: DeviceCode


@dataclass(frozen=True)
class Said:
    """What a command printed and returned."""

    status: int
    out: str
    err: str


Kpt = Callable[..., Said]


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    folder = tmp_path_factory.mktemp("hostile")
    source = folder / "victim.hip"
    source.write_text(VICTIM)
    toolchain = find_toolchain(prefer="zig", headers="triton")
    program = build_emulated([source], GPU.target.name, toolchain, folder / "victim", CompileOptions("-O1"))
    return Victim(program.executable, program.device[0])


@pytest.fixture
def kpt(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kpt:
    """`kpt emulate` with the pip toolchain; an exception that gets out of it fails the test."""
    monkeypatch.setenv("KPT_TOOLCHAIN", "zig")
    monkeypatch.setenv("KPT_HEADERS", "triton")

    def call(*words: str | Path) -> Said:
        status = main(["emulate", *map(str, words)])
        out, err = capfd.readouterr()
        assert "Traceback" not in err + out
        return Said(status, out, err)

    return call


@pytest.mark.parametrize(("mode", "code"), [("spin", "hipErrorLaunchFailure"), ("count", "hipErrorLaunchTimeOut")])
def test_a_kernel_that_never_ends_is_stopped_with_its_place(victim: Victim, kpt: Kpt, mode: str, code: str) -> None:
    said = kpt(victim.path, "--watchdog", "1", "--timeout", "120", "--", mode)
    assert said.status == 1 and f"end {code}" in said.out
    line = next(n for n, text in enumerate(VICTIM.splitlines(), 1) if mode in text and "__global__" in text)
    assert any(text.startswith("watchdog in ") and f"victim.hip:{line}:" in text for text in said.out.splitlines())


def test_a_grid_of_a_thousand_million_threads_needs_little_memory_and_can_be_left(victim: Victim) -> None:
    outcome = run_program(victim.path, ["leave"], GPU, RunSettings(timeout_s=120))
    assert outcome.exit_code == 7, outcome.stderr
    assert int(outcome.stdout.removeprefix("resident ")) < 500


def test_a_program_that_takes_too_long_is_stopped_and_leaves_no_process(victim: Victim, kpt: Kpt) -> None:
    said = kpt(victim.path, "--timeout", "1", "--", "huge")
    assert said.status == 1 and "was stopped: --timeout is over" in said.err
    assert victim.path not in _running_programs()


def test_exit_in_the_middle_of_launches(victim: Victim, kpt: Kpt) -> None:
    said = kpt(victim.path, "--timeout", "60", "--", "exit")
    assert said.status == 1 and "ended with status 5" in said.err and "11 launches" in said.err


def test_a_crash_of_the_host_side_is_told_from_a_fault_of_a_kernel(victim: Victim, kpt: Kpt) -> None:
    said = kpt(victim.path, "--timeout", "60", "--", "segv")
    assert said.status == 1 and "was ended by SIGSEGV on the host" in said.err and not said.out


def test_device_memory_ends(victim: Victim) -> None:
    outcome = run_program(victim.path, ["memory"], GPU, RunSettings(memory_gb=0.25, timeout_s=60))
    assert outcome.stdout == "256 MB, then hipErrorOutOfMemory\n"


@pytest.mark.parametrize(
    ("mode", "code", "why"),
    [("threads", "InvalidConfiguration", "2048 threads"), ("lds", "InvalidValue", "204800 bytes of LDS")],
)
def test_more_than_the_gpu_has_is_refused_as_hip_does(victim: Victim, mode: str, code: str, why: str) -> None:
    outcome = run_program(victim.path, [mode], GPU, RunSettings(timeout_s=60))
    assert outcome.stdout == f"launch hipError{code}\nend hipSuccess\n" and outcome.exit_code == 1
    assert why in outcome.stderr and not outcome.events.launches


def test_damaged_code_objects_end_in_the_errors_that_are_declared(victim: Victim) -> None:
    for content in _damaged(victim.code.code_object, 300):
        try:
            translate_to_c(content, victim.code.assembly)
        except ValueError as error:
            assert str(error)


def test_the_runtime_refuses_damaged_code_objects(victim: Victim, tmp_path: Path) -> None:
    files = []
    for number, content in enumerate(_damaged(victim.code.code_object, 150)):
        files.append(tmp_path / f"{number}.hsaco")
        files[-1].write_bytes(content)
    # Without a translator: what is tested is the loader, which must not believe a damaged file's offsets.
    environment = {**emulation_environment(GPU, RunSettings(), tmp_path, None), "KPT_EMULATE_TRANSLATE": "false"}
    done = subprocess.run(
        [victim.path, "load", *files], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    words = done.stdout.split()
    assert len(words) == len(files) and set(words) <= ALLOWED_STATUS
    assert "hipSuccess" not in words[:8]  # the truncated ones


def test_kpt_names_a_damaged_file(victim: Victim, kpt: Kpt, tmp_path: Path) -> None:
    whole = victim.code.code_object
    for number, content in enumerate((b"", b"\x7fELF", b"text\n" * 50, whole[:64], whole[: len(whole) // 2])):
        path = tmp_path / f"{number}.hsaco"
        path.write_bytes(content)
        said = kpt(path)
        assert said.status == 2 and said.err.startswith(f"kpt: {path}: no code object"), said.err


def test_what_is_no_program_is_refused(victim: Victim, kpt: Kpt, tmp_path: Path) -> None:
    text, half = tmp_path / "notes.txt", tmp_path / "half"
    text.write_text("not a program")
    half.write_bytes(victim.path.read_bytes()[:2000])
    half.chmod(0o755)
    assert kpt(text).status == 2
    said = kpt(half)
    assert said.status in (1, 2) and len(said.err.splitlines()) <= 3
    assert kpt(tmp_path).status == 2


def test_an_instruction_that_is_not_in_the_table_is_named_before_anything_runs(kpt: Kpt, tmp_path: Path) -> None:
    source = tmp_path / "odd.hip"
    odd = 'asm volatile("s_rfe_b64 s[0:1]");'
    source.write_text(
        f"#include <hip/hip_runtime.h>\n#include <cstdio>\n__global__ void odd() {{ {odd} }}\n"
        'int main() { puts("started"); odd<<<1, 64>>>(); return 0; }\n'
    )
    said = kpt(source)
    assert said.status == 2 and "s_rfe_b64" in said.err and "odd" in said.err and "started" not in said.out


def test_a_label_that_leads_nowhere_is_an_error_of_translation(victim: Victim) -> None:
    toolchain = find_toolchain(prefer="zig", headers="triton")
    code = build_device_code_text("__global__ void k(int *x) { *x = 1; }", "gfx942", toolchain)
    text = code.assembly.replace("s_endpgm", "s_branch 100\n\ts_endpgm", 1)
    with pytest.raises(ValueError, match="s_branch"):
        translate_to_c(assemble_device(text, "gfx942", toolchain), text)


def test_a_cache_that_cannot_be_used(victim: Victim, kpt: Kpt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("KPT_CACHE_DIR", str(occupied))
    said = kpt(victim.path, "--", "turn")
    assert said.status == 2 and str(occupied) in said.err and "KPT_CACHE_DIR" in said.err


def test_a_damaged_translation_in_the_cache_is_an_error_for_the_program(victim: Victim, tmp_path: Path) -> None:
    from kernel_pytorch.emulate.translate import module_name

    (tmp_path / module_name(victim.code.code_object, "gfx942")).write_bytes(b"\x7fELF damaged")
    environment = {**emulation_environment(GPU, RunSettings(), tmp_path, None), "KPT_EMULATE_CACHE": str(tmp_path)}
    done = subprocess.run(
        [victim.path, "turn"], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1 and "cannot be loaded" in done.stderr


def _damaged(whole: bytes, count: int) -> list[bytes]:
    """Cut short, with single bits of headers and tables changed, and with whole fields of the ELF header replaced."""
    chosen = random.Random(1)
    found = [whole[: len(whole) * part // 8] for part in range(8)]
    for _ in range(count - 40):
        content = bytearray(whole)
        for _ in range(chosen.choice((1, 1, 4, 32))):
            at = chosen.randrange(64, len(whole)) if chosen.random() < 0.6 else chosen.randrange(len(whole) // 4)
            content[at] ^= 1 << chosen.randrange(8)
        found.append(bytes(content))
    for at in (32, 40, 48, 54, 56, 58, 60, 62):
        for value in (1, 0x7FFF, 0xFFFF, 0xFFF8):
            content = bytearray(whole)
            struct.pack_into("<H", content, at, value)
            found.append(bytes(content))
    return found


def _running_programs() -> set[Path]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add((process / "exe").readlink())
        except OSError:
            continue
    return found
