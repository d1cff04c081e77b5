from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_findings_exit_one_and_print_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, **{"requirements.txt": "torch==2.1.0+cu121\npynvml\nnumpy\n"})
    assert main(["deps", str(root)]) == 1
    printed = capsys.readouterr()
    assert "drop             pynvml" in printed.out and "1 protected" in printed.out
    assert "would write" in printed.err and "requirements-rocm.txt" in printed.err
    assert not (root / "requirements-rocm.txt").exists()


def test_clean_repository_exits_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deps", str(write(tmp_path, **{"requirements.txt": "numpy\n"}))]) == 0
    assert "1 requirement: 1 keep" in capsys.readouterr().out


def test_empty_folder_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deps", str(tmp_path)]) == 0
    assert "no dependency files found" in capsys.readouterr().out


def test_json_holds_the_whole_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, **{"requirements.txt": "torch==2.1\nonnxruntime-gpu\n"})
    assert main(["deps", str(root), "--json", "--write"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1 and data["has_findings"]
    decisions = data["projects"][0]["decisions"]
    assert [one["action"] for one in decisions] == ["protected", "substitute"]
    assert decisions[1]["line"] == "onnxruntime-migraphx" and decisions[1]["source"].startswith("https://")
    assert (root / "requirements-rocm.txt").exists()


def test_out_leaves_the_repository_alone(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    write(root, **{"requirements.txt": "torch==2.1\n"})
    assert main(["deps", str(root), "--write", "--out", str(tmp_path / "out")]) == 1
    assert (tmp_path / "out" / "requirements-rocm.txt").exists()
    assert [path.name for path in root.iterdir()] == ["requirements.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "no such file"),
        ([".", "--yes"], "--yes only"),
        ([".", "--out", "x"], "--out only"),
        ([".", "--python", "/nonexistent/python"], "not a working Python"),
        ([".", "--group", "nope"], "no such group"),
    ],
)
def test_usage_errors_exit_two(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    write(tmp_path, **{"requirements.txt": "torch==2.1\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["deps", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_broken_file_is_named_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, **{"requirements.txt": "torch==2.1\n", "pyproject.toml": "[project]\nx = = 1\n"})
    assert main(["deps", str(root), "--write"]) == 2
    printed = capsys.readouterr()
    assert "pyproject.toml:2: not valid TOML" in printed.err
    assert "torch==2.1" in printed.out
    assert not (root / "requirements-rocm.txt").exists()
    (root / "pyproject.toml").write_bytes(b"\x00\x01binary")
    assert main(["deps", str(root)]) == 2
    assert "pyproject.toml:1: binary" in capsys.readouterr().err


def test_install_without_a_terminal_or_a_rocm_torch_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, **{"requirements.txt": "numpy\n"})
    assert main(["deps", str(root), "--install"]) == 2
    assert "torch" in capsys.readouterr().err
    (root / "requirements.txt").unlink()
    assert main(["deps", str(root), "--install", "--yes"]) == 2
    assert "no dependency files" in capsys.readouterr().err


def test_a_hand_made_list_needs_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, **{"requirements.txt": "torch==2.1\n", "requirements-rocm.txt": "mine\n"})
    assert main(["deps", str(root), "--write"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["deps", str(root), "--write", "--force"]) == 1
