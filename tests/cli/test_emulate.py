"""`kpt emulate`: runs, comparisons of widths, checks, profiles, JSON, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.toolchain.code_object import code_object_images
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

# At 32 lanes lane 32 leads the second half; at 64 lanes lane 0 leads all.
LEADERS = r"""
#include <cstdio>
__global__ void leaders(const int *x, int *out) { out[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 0); }
int main(int argc, char **argv) {
  int x[64], *from, *to;
  for (int i = 0; i < 64; i++) x[i] = i;
  cudaMalloc(&from, sizeof x);
  cudaMalloc(&to, sizeof x);
  cudaMemcpy(from, x, sizeof x, cudaMemcpyHostToDevice);
  leaders<<<1, 64>>>(from, to);
  cudaMemcpy(x, to, sizeof x, cudaMemcpyDeviceToHost);
  printf("%d %d\n", x[0], x[32]);
  return 0;
}
"""
MODES = r"""
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
__global__ void twice(int *x) { x[threadIdx.x] *= 2; }
__global__ void unwritten(const int *y, int *x) {
  x[threadIdx.x] = y[threadIdx.x];  // LINE unwritten
}
__global__ void race(int *x) {
  __shared__ int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[255 - threadIdx.x];  // LINE race
}
__global__ void order(int *x) {
  if (threadIdx.x == 0) x[1 + atomicAdd(x, 1)] = blockIdx.x;
}
__global__ void waits(volatile int *x) {
  if (threadIdx.x < 64) {
    int turn = 0;
    while (x[0] == 0) turn = turn == 2 ? 0 : turn + 1;  // LINE waits
    x[2 + threadIdx.x] = turn;
  } else {
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < 200000; i++) sum = sum * 3 + x[1];  // LINE works
    x[100] = sum;
    x[0] = 1;
  }
}
int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "twice";
  int host[256] = {0}, *x, *y;
  if (hipMalloc(&x, sizeof host) || hipMalloc(&y, sizeof host)) return 9;
  if (hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice)) return 9;
  if (!strcmp(mode, "twice")) twice<<<1, 256>>>(x);
  if (!strcmp(mode, "unwritten")) unwritten<<<1, 64>>>(y, x);
  if (!strcmp(mode, "race")) race<<<1, 256>>>(x);
  if (!strcmp(mode, "past")) twice<<<1, 260>>>(x);
  if (!strcmp(mode, "waits")) waits<<<1, 128>>>(x);
  if (!strcmp(mode, "order")) order<<<32, 64>>>(x);
  if (hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost)) return 8;
  if (!strcmp(mode, "order"))
    for (int i = 1; i <= 32; i++) printf("%d ", host[i]);
  if (argc > 2) printf("%s\n", argv[2]);
  return !strcmp(mode, "fails") ? 3 : 0;
}
"""


@dataclass(frozen=True)
class Said:
    """What a command printed and returned."""

    status: int
    out: str
    err: str


Kpt = Callable[..., Said]


@pytest.fixture(autouse=True)
def pip_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The toolchain of the pip packages, whatever else the machine has."""
    monkeypatch.setenv("KPT_TOOLCHAIN", "zig")
    monkeypatch.setenv("KPT_HEADERS", "triton")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kpt(capfd: pytest.CaptureFixture[str]) -> Kpt:
    def call(*words: str | Path) -> Said:
        status = main(["emulate", *map(str, words)])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Said(status, out, err)

    return call


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An executable for gfx942 that does what its first argument says."""
    try:
        toolchain = find_toolchain(prefer="zig", headers="triton")
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("modes")
    (folder / "modes.hip").write_text(MODES)
    build_emulated([folder / "modes.hip"], "gfx942", toolchain, folder / "modes", CompileOptions("-O1"))
    return folder / "modes"


@pytest.fixture
def leaders(tmp_path: Path) -> Path:
    path = tmp_path / "leaders.cu"
    path.write_text(LEADERS)
    return path


def _line(mark: str) -> int:
    return next(n for n, text in enumerate(MODES.splitlines(), 1) if f"LINE {mark}" in text)


def test_lane_logic_as_written_differs_between_the_widths(leaders: Path, kpt: Kpt) -> None:
    said = kpt(leaders, "--untranslated", "--compare", "rx7900xtx,mi300x")
    assert said.status == 1
    assert "RX 7900 XTX and MI300X differ: output line 1: '0 32' and '0 0'" in said.out
    assert "differ: buffer allocation 2 (256 bytes)" in said.out
    place = next(n for n, text in enumerate(LEADERS.splitlines(), 1) if "__shfl_sync" in text)
    assert "lane logic that depends on the width" in said.out and f"leaders.cu:{place}:" in said.out
    assert "wave 32" in said.err and "wave 64" in said.err


def test_the_port_does_the_same_at_both_widths(leaders: Path, kpt: Kpt) -> None:
    said = kpt(leaders, "--compare", "rx7900xtx,mi300x", "--json")
    report = json.loads(said.out)
    assert said.status == 0 and report["schema"] == 1 and report["differences"] == {"MI300X": []}
    assert [(run["gpu"], run["stdout"], run["ok"]) for run in report["runs"]] == [
        ("RX 7900 XTX", "0 32\n", True), ("MI300X", "0 32\n", True)
    ]  # fmt: skip


def test_headers_of_include_folders_are_ported_too(tmp_path: Path, kpt: Kpt) -> None:
    for folder in ("src", "include"):
        (tmp_path / folder).mkdir()
    kernel = next(line for line in LEADERS.splitlines() if line.startswith("__global__"))
    (tmp_path / "include/leaders.cuh").write_text(f"#pragma once\n{kernel}\n")
    (tmp_path / "src/main.cu").write_text(LEADERS.replace(kernel, '#include "leaders.cuh"'))
    said = kpt(tmp_path / "src/main.cu", "-I", tmp_path / "include")
    assert (said.status, said.out) == (0, "0 32\n"), said.err


def test_words_after_the_dashes_go_to_the_program(modes: Path, kpt: Kpt) -> None:
    said = kpt(modes, "--", "twice", "--gpu")
    assert (said.status, said.out) == (0, "--gpu\n") and "1 launch," in said.err


def test_a_program_that_fails_fails_the_command(modes: Path, kpt: Kpt) -> None:
    said = kpt(modes, "--", "fails")
    assert said.status == 1 and "the program ended with status 3" in said.err


def test_a_program_without_code_for_the_gpu_is_refused(modes: Path, kpt: Kpt) -> None:
    said = kpt(modes, "--gpu", "rx7900xtx", "--", "twice")
    assert said.status == 2 and "has code for gfx942, not for RX 7900 XTX (gfx1100)" in said.err


def test_faults_the_hardware_hides_are_found_when_asked_for(modes: Path, kpt: Kpt) -> None:
    for mode, check in (("unwritten", "memory"), ("race", "races")):
        assert kpt(modes, "--", mode).status == 0
        said = kpt(modes, "--check", f"memory,{check}", "--", mode)
        assert said.status == 1
        assert any(f"{mode} " in text and f"modes.hip:{_line(mode)}" in text for text in said.out.splitlines()), (
            said.out
        )
        assert "fault:" not in said.err  # the report says it; the runtime need not
    clean = kpt(modes, "--check", "memory,races", "--", "twice")
    assert clean.status == 0 and not clean.out


def test_a_code_object_is_translated_and_its_kernels_listed(modes: Path, kpt: Kpt, tmp_path: Path) -> None:
    path = tmp_path / "modes.hsaco"
    path.write_bytes(code_object_images(modes.read_bytes())[0].content)
    said = kpt(path, "--json")
    (found,) = json.loads(said.out)["code_objects"]
    assert said.status == 0 and (found["file"], found["target"]) == (str(path), "gfx942")
    assert "twice(int*)" in found["kernels"]


def test_profile_counts_and_names_lines(modes: Path, kpt: Kpt) -> None:
    said = kpt(modes, "--profile", "--", "twice")
    kernel = next(n for n, text in enumerate(MODES.splitlines(), 1) if "void twice" in text)
    assert said.status == 0 and "twice(int*): 1 launch\n" in said.out
    assert "1024 bytes read, 1024 written; coalescing 100.0% of ideal" in said.out
    assert f"modes.hip:{kernel}" in said.out.split("hot lines")[1]
    report = json.loads(kpt(modes, "--profile", "--json", "--", "twice").out)
    assert report["runs"][0]["events"]["launches"][0]["counters"]["global_bytes_read"] == 1024
    assert report["runs"][0]["events"]["hot_lines"]


def test_blocks_run_in_order_unless_shuffled(modes: Path, kpt: Kpt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPT_EMULATE_SEED", "5")
    plain = kpt(modes, "--threads", "1", "--", "order").out.split()
    shuffled = kpt(modes, "--threads", "1", "--shuffle-blocks", "--", "order").out.split()
    assert plain == [str(n) for n in range(32)]
    assert shuffled != plain and sorted(shuffled) == sorted(plain)


def test_a_small_overrun_ends_the_program_unless_buffers_are_whole_pages(modes: Path, kpt: Kpt) -> None:
    stopped = kpt(modes, "--", "past")
    assert stopped.status == 1 and "0 bytes past the end of device buffer #1 of 1024 bytes" in stopped.out + stopped.err
    assert kpt(modes, "--whole-pages", "--", "past").status == 0
    both = kpt(modes, "--whole-pages", "--check", "memory", "--", "past")
    assert both.status == 2 and "leave one of the two out" in both.err


def test_a_wave_that_waits_leaves_the_time_to_the_one_it_waits_for(modes: Path, kpt: Kpt) -> None:
    """Its loop has three states, none of them twice in a row at its yields."""
    said = kpt(modes, "--profile", "--json", "--", "waits")
    rounds: dict[int, int] = {}
    for one in json.loads(said.out)["runs"][0]["events"]["hot_lines"]:
        rounds[one["line"]] = max(rounds.get(one["line"], 0), one["count"])
    assert rounds[_line("works")] == 200_000 and 0 < rounds[_line("waits")] < 50_000


def test_a_source_that_does_not_compile_or_has_no_main(tmp_path: Path, kpt: Kpt) -> None:
    source = tmp_path / "broken.hip"
    source.write_text("#include <hip/hip_runtime.h>\n__global__ void k() { nothing(); }\n")
    said = kpt(source)
    assert said.status == 2 and "broken.hip:2:" in said.err and "nothing" in said.err
    source.write_text("#include <hip/hip_runtime.h>\n__global__ void k() {}\n")
    said = kpt(source)
    assert said.status == 2 and "has no main()" in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--compare", "mi300x"], "--compare needs two GPUs"),
        (["--check", "everything"], "--check everything: not known; expected memory, races, waits"),
        (["--gpu", "h100"], "not an AMD GPU"),
        (["--gpu", "nonsense"], "nonsense"),
        (["--threads", "0"], "--threads 0: expected more than 0"),
        (["--timeout", "-1"], "--timeout -1: expected more than 0"),
        (["--memory", "nan"], "--memory nan: expected more than 0"),
        (["--libraries", "stand-ins"], "--libraries stand-ins: expected real:DIR"),
        (["--libraries", "real:nowhere"], "nowhere is not a folder"),
        (["--libraries", "real:."], "has no shared libraries"),
        (["missing.hip"], "missing.hip: no such file"),
        (["notes.txt"], "give one executable, or sources"),
        (["source.hip"], "not a source"),
    ],
)
def test_what_cannot_be_meant_is_refused(kpt: Kpt, tmp_path: Path, words: list[str], message: str) -> None:
    for name in ("program", "notes.txt", "source.hip"):
        (tmp_path / name).write_text("")
    said = kpt("program", *words)
    assert said.status == 2 and message in said.err and not said.out


def test_a_program_under_another_command(modes: Path, kpt: Kpt) -> None:
    said = kpt(modes, "--under", "env MARK=1 nice", "--", "twice", "seen")
    assert said.status == 0 and "seen" in said.out and "1 launch," in said.err


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_a_breakpoint_in_the_runtime(modes: Path, kpt: Kpt) -> None:
    said = kpt(modes, "--under", "gdb -q -nx -batch -ex 'break hipMalloc' -ex run -ex backtrace --args", "--", "twice")
    assert "hipMalloc" in said.out and "in main" in said.out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--under", "no-such-debugger"], "no such command"),
        (["--under", "gdb 'half"], "No closing quotation"),
        (["--under", "env", "--json"], "leave --compare and --json out"),
    ],
)
def test_what_under_refuses(modes: Path, kpt: Kpt, words: list[str], why: str) -> None:
    said = kpt(modes, *words)
    assert said.status == 2 and why in said.err


@pytest.mark.parametrize("verb", ["emulate", "build"])
def test_a_binary_called_a_source_is_one_line(tmp_path: Path, verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "picture.cu").write_bytes(b"\x89PNG\r\n\0\0\0\xff")
    assert main([verb, str(tmp_path / "picture.cu")]) == 2
    said = capfd.readouterr().err
    assert "picture.cu: not a text file" in said and said.count("\n") == 1
