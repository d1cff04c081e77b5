"""`kpt hipify`: where output goes, exit status, and that nothing is half-written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main

GOOD = "#include <cuda_runtime.h>\nint main() { return cudaDeviceSynchronize(); }\n"
GOOD_HIP = "#include <hip/hip_runtime.h>\nint main() { return hipDeviceSynchronize(); }\n"
UNKNOWN = "#include <cuda_runtime.h>\nint x = f(cudaGraphConditionalHandleCreate);\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_one_file_goes_to_standard_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, {"a.cu": GOOD}) / "a.cu"
    assert main(["hipify", str(path)]) == 0
    out, err = capfd.readouterr()
    assert out == GOOD_HIP
    assert err == ""
    assert path.read_text() == GOOD


def test_what_is_left_is_listed_and_exits_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, {"a.cu": UNKNOWN}) / "a.cu"
    assert main(["hipify", str(path)]) == 1
    out, err = capfd.readouterr()
    assert "cudaGraphConditionalHandleCreate" in out
    assert f"{path.as_posix()}:2:11: KP202" in err


def test_one_file_to_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.cu": GOOD}) / "a.cu"
    assert main(["hipify", str(path), "-o", str(tmp_path / "b.hip")]) == 0
    assert (tmp_path / "b.hip").read_text() == GOOD_HIP


def test_a_folder_goes_below_the_output_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {
        "in/src/main.cu": '#include "../inc/k.cuh"\n#include "part.cu"\n' + GOOD,
        "in/src/part.cu": "__global__ void p() {}\n",
        "in/inc/k.cuh": "inline void check() { cudaGetLastError(); }\n",
        "in/host.cpp": "int twice(int a) { return 2 * a; }\n",
        "in/third_party/x.cu": GOOD,
        "in/notes.txt": "cudaMalloc",
    }
    root = write(tmp_path, files) / "in"
    assert main(["hipify", str(root), "-o", str(tmp_path / "out"), "--stats"]) == 0
    written = sorted(
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert written == ["host.cpp", "inc/k.cuh", "src/main.hip", "src/part.hip"]
    assert "hipGetLastError" in (tmp_path / "out/inc/k.cuh").read_text()
    assert '#include "part.hip"' in (tmp_path / "out/src/main.hip").read_text()
    assert (tmp_path / "out/host.cpp").read_text() == files["in/host.cpp"]
    assert "files: 4, changed: 3" in capfd.readouterr().err
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_folder_into_an_existing_folder_keeps_what_is_there(tmp_path: Path) -> None:
    root = write(tmp_path, {"in/a.cu": GOOD, "out/keep.txt": "x"}) / "in"
    assert main(["hipify", str(root), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/keep.txt").read_text() == "x"
    assert (tmp_path / "out/a.hip").read_text() == GOOD_HIP


def test_examine_writes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, {"in/a.cu": GOOD, "in/b.cu": UNKNOWN}) / "in"
    assert main(["hipify", str(root), "--examine", "--json"]) == 1
    data = json.loads(capfd.readouterr().out)
    assert data["totals"]["files"] == 2
    assert data["totals"]["references_left"] == 1
    assert data["totals"]["findings"] == {"KP202": 1}
    assert sorted(path.name for path in root.iterdir()) == ["a.cu", "b.cu"]


def test_single_source_writes_the_header_beside(tmp_path: Path) -> None:
    root = write(tmp_path, {"in/a.cu": GOOD}) / "in"
    assert main(["hipify", str(root), "-o", str(tmp_path / "out"), "--layout", "single-source"]) == 0
    assert "#define cudaDeviceSynchronize hipDeviceSynchronize" in (tmp_path / "out/kpt_hip_compat.h").read_text()
    assert "cudaDeviceSynchronize" in (tmp_path / "out/a.cu").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.cu"], "no such file"),
        (["in"], "-o OUT"),
        (["in/a.cu", "in/b.cu"], "-o OUT"),
        (["in", "in", "-o", "out"], "one folder at a time"),
        (["in", "-o", "in"], "is the input"),
        (["in/a.cu", "-o", "in/a.cu"], "is the input"),
        (["in/a.cu", "--json"], "--json goes with"),
        (["in", "-o", "out", "-j", "0"], "-j 0"),
        (["in/a.cu", "-o", "nowhere/b.hip"], "cannot be written"),
    ],
)
def test_bad_usage_exits_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    write(tmp_path, {"in/a.cu": GOOD, "in/b.cu": GOOD})
    monkeypatch.chdir(tmp_path)
    assert main(["hipify", *arguments]) == 2
    assert message in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernel_pytorch.port.hipify import run

    root = write(tmp_path, {"in/a.cu": GOOD, "in/b.cu": GOOD}) / "in"
    calls = []

    def failing(task: run.Task, options: object, target: Path | None) -> list[run.Done]:
        calls.append(task)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "disk full")
        return original(task, options, target)  # type: ignore[arg-type]

    original = run.run_task
    monkeypatch.setattr(run, "run_task", failing)
    assert main(["hipify", str(root), "-o", str(tmp_path / "out"), "-j", "1"]) == 74
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_heavy_modules_are_not_imported_for_help() -> None:
    heavy = "('tree_sitter', 'torch', 'rich')"
    code = f"import sys; from kernel_pytorch.cli import hipify; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"


def test_what_is_said_and_written_does_not_depend_on_the_processes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        write(tmp_path, {f"in/{number}.cu": UNKNOWN + "int x;\n" * number})
    seen = set()
    for jobs in ("1", "3", "3"):
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        assert main(["hipify", str(tmp_path / "in"), "-o", str(out), "--layout", "single-source", "-j", jobs]) == 1
        seen.add((capfd.readouterr().err, (out / "kpt_hip_compat.h").read_text()))
    assert len(seen) == 1


def test_a_file_too_large_to_read_is_bad_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.cu"
    with path.open("wb") as file:
        file.truncate(50_000_001)
    assert main(["hipify", str(path)]) == 2
    assert "table.cu: cannot be read (larger than 50 MB)" in capfd.readouterr().err
