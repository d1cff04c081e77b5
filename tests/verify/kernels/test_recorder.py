"""The recorder in a program that is linked to a stand-in runtime: what it sees of each launch, under both spellings."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.verify.kernels.record import KernelArchive
from kernel_pytorch.verify.kernels.record_comparison import KernelComparison, compare_records
from kernel_pytorch.verify.kernels.recorder import gpu_runtime
from kernel_pytorch.verify.kernels.run import ProgramRun, record_executable

HERE = Path(__file__).parent
CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program twice: linked to a stand-in of CUDA's runtime, and, as its port would be, of HIP's."""
    made = {}
    for prefix, soname, defines in (("cuda", "libcudart.so.13", []), ("hip", "libamdhip64.so.7", ["-DHIP_NAMES"])):
        folder = tmp_path_factory.mktemp(prefix)
        library = folder / soname
        flags = [f"-DP={prefix}", *defines, "-g"]
        cc(*flags, "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", library, HERE / "standin_runtime.c")
        made[prefix] = folder / "program"
        rpath = f"-Wl,-rpath,{folder}"
        cc(*flags, "-o", made[prefix], HERE / "standin_program.c", library, rpath)
    return made


def cc(*words: object) -> None:
    assert CC is not None
    done = subprocess.run([CC, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def recorded(program: Path, out: Path, *words: str) -> KernelArchive:
    record_executable(ProgramRun(program, words), out)
    return KernelArchive(out)


def compared(programs: dict[str, Path], tmp_path: Path, *words: str) -> KernelComparison:
    reference = recorded(programs["cuda"], tmp_path / "cuda")
    return compare_records(reference, recorded(programs["hip"], tmp_path / "hip", *words))


@pytest.mark.parametrize("prefix", ["cuda", "hip"])
def test_every_launch_is_written_down(programs: dict[str, Path], prefix: str, tmp_path: Path) -> None:
    archive = recorded(programs[prefix], tmp_path)
    first, second = archive.record.launches
    assert archive.record.exit_code == 0 and archive.record.launches_in_all == 2
    assert (first.grid, first.block) == ((2, 1, 1), (256, 1, 1)) and first.finished
    # Which argument leads to which buffer, also from inside a structure.
    assert [(one.argument, one.offset, one.buffer) for one in first.arguments] == [(0, 0, "#1")]
    changed = {state.buffer for state in first.buffers if state.changed}
    assert changed == {"#1", "counter"}
    if prefix == "cuda":  # HIP tells no sizes of arguments, and this program carries no AMD code that would
        assert [(one.argument, one.offset, one.buffer) for one in second.arguments] == [(0, 0, "#1"), (0, 8, "#2")]
    (out,) = (state for state in second.buffers if state.changed)
    assert out.buffer == "#2" and out.bytes == 128
    # Half of the buffer is never written: it must not hold what the allocator left there.
    assert archive.content(out.before) == bytes(128) and archive.content(out.after)[64:] == bytes(64)
    if prefix == "cuda":
        after = {state.buffer: state.after for state in first.buffers}
        before = {state.buffer: state.before for state in second.buffers}
        assert after["#1"] == before["#1"]  # one content, kept once


def test_the_port_is_the_same_kernel_by_kernel(programs: dict[str, Path], tmp_path: Path) -> None:
    result = compared(programs, tmp_path)
    assert result.ok, result
    assert [(one.kernel, one.matched_by) for one in result.launches] == [("scale", "base name"), ("cuda_sums", "name")]


@pytest.mark.parametrize(
    ("fault", "launch", "status", "kind"),
    [
        ("stale-lanes", 0, "differs", "stale lanes"),
        ("wave-64", 1, "differs", ""),
        ("other-input", 0, "inputs", ""),
        ("no-count", 0, "differs", "stale"),
        ("die", 0, "stopped", ""),
    ],
)
def test_the_first_kernel_that_differs_is_named(
    programs: dict[str, Path], tmp_path: Path, fault: str, launch: int, status: str, kind: str
) -> None:
    result = compared(programs, tmp_path, fault)
    first = result.first_fault
    assert not result.ok and first is not None
    assert (first.number, first.status) == (launch, status)
    wrong = [one for one in first.buffers if not one.ok]
    assert not kind or kind in {one.kind for one in wrong}
    if fault == "stale-lanes":
        assert "lanes 32 to 63 of every 64" in wrong[0].text and wrong[0].equal < wrong[0].elements


def test_what_follows_a_wrong_kernel_is_not_blamed(programs: dict[str, Path], tmp_path: Path) -> None:
    cuda = recorded(programs["cuda"], tmp_path / "a")
    result = compare_records(cuda, recorded(programs["cuda"], tmp_path / "b", "stale-lanes"))
    assert [one.status for one in result.launches] == ["differs", "follows"]


def test_a_graph_is_one_launch(programs: dict[str, Path], tmp_path: Path) -> None:
    launches = recorded(programs["cuda"], tmp_path, "graph").record.launches
    assert [(one.symbol, one.captured) for one in launches[2:]] == [("_Z5scalePffi", True), ("(graph)", False)]
    assert {state.buffer for state in launches[3].buffers if state.changed} == {"#1", "counter"}


def test_a_refused_launch_keeps_its_error(programs: dict[str, Path], tmp_path: Path) -> None:
    record = recorded(programs["cuda"], tmp_path, "refused").record
    assert record.exit_code == 0 and record.launches[2].error == 9


def test_limits_are_kept_and_said(programs: dict[str, Path], tmp_path: Path) -> None:
    record_executable(ProgramRun(programs["cuda"], max_launches=1), tmp_path / "one")
    one = KernelArchive(tmp_path / "one")
    assert (len(one.record.launches), one.record.launches_in_all) == (1, 2)
    whole = recorded(programs["cuda"], tmp_path / "whole")
    assert "1 of 2" in compare_records(whole, one).note
    record_executable(ProgramRun(programs["cuda"], max_mb=1e-6), tmp_path / "none")
    states = [state for launch in KernelArchive(tmp_path / "none").record.launches for state in launch.buffers]
    assert states and not any(state.has_after and state.bytes > 1 for state in states)
    assert compare_records(whole, KernelArchive(tmp_path / "none")).ok  # by the hashes
    record_executable(ProgramRun(programs["cuda"], max_buffer_mb=64 / 2**20), tmp_path / "short")
    kept = {state.kept for launch in KernelArchive(tmp_path / "short").record.launches for state in launch.buffers}
    assert kept == {64, 4}


def test_a_runtime_that_is_linked_in_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "a.out"
    source = tmp_path / "a.c"
    source.write_text(
        '__attribute__((section(".nv_fatbin"), used)) static const char code[16] = {1};\nint main(void) { return 0; }\n'
    )
    cc("-o", program, source)
    with pytest.raises(UsageError, match="nvcc -cudart shared"):
        gpu_runtime(program)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["record", "--out", "x", "--program", "nowhere"], "not an executable file"),
        (["record", "--out", "x", "--program", "a.cu"], "--gpu NAME"),
        (["record", "--out", "x", "--program", "a.cu", "--gpu", "h200"], "not an AMD GPU"),
        (["record", "--out", "x", "--program", "a", "--repeats", "0"], "--repeats"),
        (["check", "nowhere", "--program", "a"], "golden record"),
        (["compare", "nowhere", "nowhere"], "golden record"),
        (["show", "nowhere", "--", "word"], "need --program"),
    ],
)
def test_bad_words_are_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["golden", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_the_verb(programs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden, cuda, hip = str(tmp_path / "golden"), str(programs["cuda"]), str(programs["hip"])
    assert main(["golden", "record", "--program", cuda, "--out", golden, "--repeats", "2", "--", "word"]) == 0
    assert "2 of 2 launches of 2 kernels" in capsys.readouterr().err
    assert main(["golden", "show", golden]) == 0
    assert "scale: grid 2x1x1, block 256x1x1: changed" in capsys.readouterr().out
    assert main(["golden", "check", "--program", hip, golden, "--repeats", "1"]) == 0
    assert "same: 2 launches" in capsys.readouterr().out
    assert main(["golden", "check", golden, "--program", hip, "--repeats", "1", "--", "stale-lanes"]) == 1
    assert "the first kernel that differs: scale (launch 0)" in capsys.readouterr().out
    assert main(["golden", "check", golden, "--program", hip, "--repeats", "1", "--json", "--", "wave-64"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["status"] for one in found["launches"]] == ["same", "differs"]
    assert main(["golden", "record", "--program", cuda, "--out", golden, "--", "no-launch"]) == 2
    assert "launched no kernel that could be seen" in capsys.readouterr().err
    assert main(["golden", "check", "model.py:make", golden]) == 2
    assert "a record of a program's kernels" in capsys.readouterr().err
