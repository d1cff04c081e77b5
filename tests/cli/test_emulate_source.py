"""`kpt emulate --source`: exit codes, JSON, and the comparison with machine code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main

RACE = """#include <cstdio>
__global__ void k(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];
}
int main(int argc, char **argv) {
    int *out;
    cudaMalloc(&out, 256);
    k<<<1, 64>>>(out);
    printf("%s\\n", argv[1]);
    return cudaDeviceSynchronize();
}
"""
LOCKSTEP = """#include <cstdio>
__global__ void k(int *out) {
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = 1;
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
    }
    if (t == 0) *out = s[0];
}
int main() {
    int *out, sum;
    cudaMalloc(&out, 4);
    k<<<1, 64>>>(out);
    cudaMemcpy(&sum, out, 4, cudaMemcpyDeviceToHost);
    return sum != 64;
}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "program.cu"
    path.write_text(text)
    return str(path)


def test_a_fault_is_exit_1_and_its_lines_are_in_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = written(tmp_path, RACE)
    assert main(["emulate", program, "--source", "--check", "races", "--json", "--", "word"]) == 1
    report = json.loads(capsys.readouterr().out)
    (run,) = report["runs"]
    assert run["stdout"] == "word\n" and run["exit_code"] == 0 and not run["ok"]
    races = [fault for fault in run["events"]["faults"] if fault["kind"] == "race"]
    assert {fault["line"] for fault in races} <= {4, 5} and {fault["file"] for fault in races} == {program}
    assert main(["emulate", program, "--source", "--json", "--", "word"]) == 0


@pytest.mark.slow
def test_a_program_that_depends_on_lockstep_is_called_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = written(tmp_path, LOCKSTEP)
    assert main(["emulate", program, "--source", "--compare", "mi300x"]) == 1
    said = capsys.readouterr().out
    assert "depends on lockstep: fails at source level" in said
    assert f"    {program}:9: race: " in said
    assert main(["emulate", program, "--source", "--compare", "mi300x", "--json"]) == 1
    (verdict,) = json.loads(capsys.readouterr().out)["lockstep"]
    assert verdict["depends_on_lockstep"] is True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile"], "--profile has no meaning with --source"),
        (["--whole-pages"], "--whole-pages has no meaning with --source"),
        (["--gpu", "mi300x"], "--gpu has no meaning with --source"),
        (["-l", "hipblas"], "-l has no meaning with --source"),
        (["--untranslated"], "--untranslated has no meaning with --source alone"),
    ],
)
def test_what_has_no_meaning_is_an_error(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emulate", written(tmp_path, RACE), "--source", *words]) == 2
    assert said in capsys.readouterr().err


def test_an_executable_is_not_a_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "a.out"
    program.write_bytes(b"\x7fELF")
    assert main(["emulate", str(program), "--source"]) == 2
    assert "--source needs sources" in capsys.readouterr().err
