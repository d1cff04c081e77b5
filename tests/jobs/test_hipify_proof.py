"""`kpt hipify` in the gated layouts: what cannot be proven is refused, reported, and not written as if it were fine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.jobs.hipify import hipify_file
from kernel_pytorch.port.hipify import file as rewriter
from kernel_pytorch.port.hipify.file import HipifyOptions

GATED = ("single-source", "torch-extension")
BAD = "#include <cuda_runtime.h>\nint wrong() { return cudaDeviceSynchronize(); }\n"
GOOD = "#include <cuda_runtime.h>\nint right() { return cudaGetLastError(); }\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, and a rewriter with a fault: it changes a line of every function called wrong outside any gate."""

    def faulty(*args: Any, **options: Any) -> rewriter.HipifiedFile:
        result = original(*args, **options)
        return replace(result, after=result.after.replace(b"int wrong() { return", b"int wrong() { return 1 +"))

    original = rewriter.hipify_file
    monkeypatch.setattr("kernel_pytorch.port.hipify.tree.hipify_or_say", faulty)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/bad.cu").write_text(BAD)
    (tmp_path / "in/good.cu").write_text(GOOD)
    return tmp_path / "in"


@pytest.mark.parametrize("layout", GATED)
def test_one_file_that_fails_is_not_written(
    sources: Path, layout: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bad = str(sources / "bad.cu")
    assert main(["hipify", bad, "--layout", layout]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert f"refused, not proven: {bad}:" in err and "changed: 'cudaDeviceSynchronize' became '1'" in err
    assert main(["hipify", bad, "--layout", layout, "-o", str(tmp_path / "out.cu")]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    assert main(["hipify", str(sources / "good.cu"), "--layout", layout]) == 0


@pytest.mark.parametrize("layout", GATED)
def test_a_file_of_a_folder_that_fails_stays_as_it_was(
    sources: Path, layout: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["hipify", str(sources), "--layout", layout, "-j", "1"]
    assert main([*words, "-o", str(tmp_path / "out"), "--stats"]) == 1
    err = capfd.readouterr().err
    assert "refused, not proven: bad.cu:" in err and "good.cu:" not in err.split("refused", 1)[1]
    assert (tmp_path / "out/bad.cu").read_text() == BAD
    if layout == "single-source":
        assert (tmp_path / "out/good.cu").read_text() != GOOD
        header = (tmp_path / "out/kpt_hip_compat.h").read_text()
        assert "cudaGetLastError" in header and "cudaDeviceSynchronize" not in header
    assert main([*words, "--examine", "--json"]) == 1
    document = json.loads(capfd.readouterr().out)
    (refused,) = document["refused"]
    assert (document["schema"], refused["path"], refused["verdict"]) == (2, "bad.cu", "changed")
    by_path = {one["path"]: one for one in document["files"]}
    assert (by_path["bad.cu"]["changed"], by_path["bad.cu"]["references_translated"]) == (False, 0)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_copy_needs_no_proof(sources: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["hipify", str(sources / "bad.cu")]) == 0
    assert "hipDeviceSynchronize" in capfd.readouterr().out


@pytest.mark.parametrize("layout", GATED)
def test_what_is_proven_is_the_translation(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "a.cu"
    path.write_text("__global__ void k(unsigned *x) { x[0] = __popc(__ballot_sync(0xffffffff, x[1])); }\n")
    result = hipify_file(path, HipifyOptions(layout))
    assert result.data is not None and b"#if defined(USE_ROCM)" in result.data
    assert (result.refused, result.header is not None) == ((), layout == "single-source")
