"""Findings are objects of one shape in the `--json` of every verb that has findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.cli.main import main

KEYS = ["code", "path", "line", "col", "message", "safety", "action"]
KERNEL = "#include <cuda_runtime.h>\nint x = f(cudaGraphConditionalHandleCreate);\n"
MODEL = "import torch\n\n\ndef build(model):\n    return torch.compile(model, mode=model.mode)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.cu").write_text(KERNEL)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    main([*words, "--json"])
    document = json.loads(capsys.readouterr().out)
    found = [*document.get("findings", []), *document.get("left", [])]
    found += [item["finding"] for item in document.get("held", [])]
    found += [one for item in document.get("files", []) if isinstance(item, dict) for one in item["findings"]]
    return document, found


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (1, ("scan", ".")),
        (2, ("port", ".", "--no-build")),
        (2, ("hipify", ".", "--examine")),
        (2, ("verify", ".", "--level", "static")),
    ],
)
def test_one_shape(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    schema: int,
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(project)
    document, found = findings(capsys, *words)
    assert document["schema"] == schema
    assert all(list(one) == KEYS for one in found)
    by_code = {one["code"]: one for one in found}
    unknown = by_code["KP202"]
    assert (unknown["path"], unknown["line"], unknown["col"]) == ("a.cu", 2, 11)
    assert (unknown["safety"], unknown["action"]) == ("manual", "a person")
    if words[0] != "hipify":
        assert (by_code["KP602"]["path"], by_code["KP602"]["action"]) == ("model.py", "review")


def test_what_is_held_says_why(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, _ = findings(capsys, "port", str(project), "--no-build")
    (held,) = document["held"]
    assert held["finding"]["code"] == "KP602"
    assert "review" in held["reason"]
