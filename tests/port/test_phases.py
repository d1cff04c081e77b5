from __future__ import annotations

from pathlib import Path

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.phases import phases


def test_a_setup_py_with_findings_counts_as_a_build_file(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text("__global__ void nothing() {}\n")
    (tmp_path / "setup.py").write_text("import torch\n")
    found = Finding("KP420", "setup.py", 1, 1, "a flag of nvcc", Safety.SAFE)
    build = phases(discover(tmp_path), [found])[3]
    assert build.applies
    assert build.reason == "1 build files, 1 places in build, CI or deploy files"
    assert not phases(discover(tmp_path), [])[3].applies
