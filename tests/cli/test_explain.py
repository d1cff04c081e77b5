"""`kpt explain`: pages of ours and of the user's own rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main

RULES = """\
rules:
  - code: U101
    kind: replace-call
    from: house.attention
    to: house_rocm.attention
    keywords: {causal: is_causal, dropout: null}
    why: the fused one is built for sm_80
    safety: review
  - {code: U102, kind: guard, import: house.nvtools}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "house.yaml").write_text(RULES)
    (tmp_path / "pyproject.toml").write_text('[tool.kernel_pytorch]\nrules = ["house.yaml"]\n')
    return tmp_path


def test_a_rule_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(["explain", "u101", "KP601"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("U101 replace-call\nhouse.attention is house_rocm.attention on ROCm\n")
    for part in ("built for sm_80", "causal is is_causal, dropout is left out", "--unsafe", "house.yaml", "KP601"):
        assert part in out


def test_by_folder_by_file_and_as_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "U102", "--project", str(project), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["title"] == "house.nvtools is not imported on ROCm"
    assert main(["explain", "--rules", str(project / "house.yaml")]) == 0
    assert "U102  guard-import" in capsys.readouterr().out


def test_an_unknown_one_says_where_they_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "U105"]) == 2
    assert "--rules FILE" in capsys.readouterr().err


def test_a_broken_project_does_not_hide_our_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.kernel_pytorch]\nnonsense = 1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "KP601"]) == 0
    assert capsys.readouterr().out.startswith("KP601")


def test_a_code_that_the_translator_emits_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "KP202"]) == 0
    assert capsys.readouterr().out.startswith("KP202 name-without-counterpart\nA CUDA name without a HIP counterpart\n")


@pytest.mark.parametrize("given", ["KP7", "kp7xx", "KP70"])
def test_a_family(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", given]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["KP701", "KP702", "KP703", "KP704", "KP705"]
    assert main(["explain", given, "KP601", "--json"]) == 0
    pages = json.loads(capsys.readouterr().out)
    assert [page["code"] for page in pages] == ["KP701", "KP702", "KP703", "KP704", "KP705", "KP601"]
    assert pages[-1]["Safety"] == "automatic"
    assert "reduce-overhead" in pages[-1]["Before"]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("KP399", "KP3xx (wave width, lane masks, warp collectives) has 26 codes, KP301 to KP331; `kpt explain KP3`"),
        ("KP950", "codes begin with KP0, KP1"),
        ("mask", "no page for 'mask': codes begin with KP0, KP1"),
    ],
)
def test_an_unknown_code_names_its_family(
    given: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explain", given]) == 2
    assert hint in capsys.readouterr().err
