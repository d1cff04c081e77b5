from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.core.pages import Page, all_pages
from kernel_pytorch.report.problem_lines import problem_line, seen_from_here
from kernel_pytorch.report.sarif import to_sarif

SAMPLE = Path(__file__).parents[2] / "examples" / "fused_norm"
PAGE = Page("KP302", "mask-reader", "popc of a mask", {"What": "a reader of half a mask"})

FINDINGS = [
    Finding("KP302", "src/a b.cu", 3, 7, "drops lanes", Safety.SAFE),
    Finding("KP201", "b.cu", 1, 1, "no counterpart"),
    Finding("KP302", "c.cu", 9, 2, "drops lanes", Safety.REVIEW),
]


def test_log() -> None:
    log = json.loads(to_sarif(FINDINGS, {"KP302": PAGE}, "1.2"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("kpt", "1.2")
    assert [rule["id"] for rule in driver["rules"]] == ["KP201", "KP302"]
    assert driver["rules"][1]["shortDescription"]["text"] == "popc of a mask"
    first = run["results"][0]
    assert first["ruleId"] == driver["rules"][first["ruleIndex"]]["id"] == "KP302"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/a%20b.cu"
    assert place["region"] == {"startLine": 3, "startColumn": 7}
    assert [result["level"] for result in run["results"]] == ["note", "warning", "warning"]


def test_every_code_is_described_by_its_page() -> None:
    """Codes of the tool itself too. What scanning services show must not cite notes that no user has."""
    pages = all_pages()
    log = json.loads(to_sarif([Finding(code, "a.cu", 1, 1, code) for code in pages], pages, "1"))
    check_for_code_scanning(log)
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert rules.keys() == pages.keys()
    assert all(rule["name"] and rule["shortDescription"]["text"] == pages[code].title for code, rule in rules.items())
    assert not re.search(r"catalogue|seed 0", json.dumps(log))
    safeties = {code: rule.get("properties", {}).get("safety") for code, rule in rules.items()}
    assert (safeties["KP001"], safeties["KP301"], safeties["KP590"]) == ("manual", "automatic", "review")
    assert "properties" not in rules["KP101"], "a check of doctor edits nothing"
    assert rules["KP301"]["fullDescription"]["text"].startswith("A shuffle or vote")


def test_no_findings_is_a_valid_log() -> None:
    log = json.loads(to_sarif([], {}, "1.2"))
    assert log["runs"][0]["results"] == []


def check_for_code_scanning(log: dict[str, Any]) -> None:
    """What the standard requires and what GitHub's page on SARIF support calls required."""
    assert log["version"] == "2.1.0"
    assert urlsplit(log["$schema"]).path.endswith("sarif-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        rules = driver["rules"]
        assert len({rule["id"] for rule in rules}) == len(rules)
        for rule in rules:
            assert 0 < len(rule["shortDescription"]["text"]) <= 1024
            assert 0 < len(rule["fullDescription"]["text"]) <= 1024
            assert rule["help"]["text"]
        assert len(run["results"]) <= 25_000
        prints = [tuple(result["partialFingerprints"].items()) for result in run["results"]]
        assert len(set(prints)) == len(prints)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["message"]["text"]
            (location,) = result["locations"]
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            parts = urlsplit(uri)
            assert not parts.scheme
            assert not uri.startswith("/")
            assert ".." not in parts.path.split("/")
            region = location["physicalLocation"]["region"]
            assert region["startLine"] >= 1
            assert region["startColumn"] >= 1


def test_a_project_as_code_scanning_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scanned from the repository's root, every path leads to a file from there."""
    project = tmp_path / "a b" / "näme"
    project.mkdir(parents=True)
    for path in SAMPLE.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".cu", ".cuh"):
            copy = project / path.relative_to(SAMPLE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    logs = []
    for scanned in ("a b", str(project), "a b/näme/fused_norm/model.py"):
        assert main(["scan", scanned, "--sarif"]) == 1
        logs.append(json.loads(capsys.readouterr().out))
        check_for_code_scanning(logs[-1])
        for result in logs[-1]["runs"][0]["results"]:
            uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert (tmp_path / unquote(uri)).is_file()
    assert logs[0]["runs"][0]["results"] == logs[1]["runs"][0]["results"]


def test_fingerprints_stay_when_lines_move() -> None:
    def prints(findings: list[Finding]) -> list[str]:
        log = json.loads(to_sarif(findings, {}, "1"))
        check_for_code_scanning(log)
        return [result["partialFingerprints"]["kptFinding/v1"] for result in log["runs"][0]["results"]]

    twice = [Finding("KP302", "a.cu", 3, 7, "drops lanes"), Finding("KP302", "a.cu", 9, 7, "drops lanes")]
    moved = [Finding("KP302", "a.cu", 5, 1, "drops lanes"), Finding("KP302", "a.cu", 90, 2, "drops lanes")]
    assert prints(twice) == prints(moved)
    assert prints(twice) != prints([Finding("KP302", "b.cu", 3, 7, "drops lanes"), twice[1]])


def test_problem_lines_are_what_the_shipped_matcher_reads() -> None:
    (matcher,) = json.loads((SAMPLE.parents[1] / "problem-matcher.json").read_text())["problemMatcher"]
    (pattern,) = matcher["pattern"]
    lines = {
        problem_line(Finding("KP302", "src/a b.cu", 3, 7, "drops\nlanes [x]")): (
            "src/a b.cu",
            "warning",
            "drops lanes [x]",
            "KP302",
        ),
        problem_line(Finding("U101", "x.py", 1, 1, "house rule")): ("x.py", "warning", "house rule", "U101"),
        "k.cu:4:10: error: 'cuda_runtime.h' file not found [KP201]": (
            "k.cu",
            "error",
            "'cuda_runtime.h' file not found",
            "KP201",
        ),
        "k.cu:4:10: error: expected ';'": ("k.cu", "error", "expected ';'", None),
    }
    for line, expected in lines.items():
        found = re.match(pattern["regexp"], line)
        assert found is not None, line
        assert tuple(found[pattern[key]] for key in ("file", "severity", "message", "code")) == expected
    # The pattern of VS Code's $gcc, and of every editor that knows gcc.
    assert all(re.match(r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)$", line) for line in lines)


def test_paths_are_seen_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path)
    finding = Finding("KP302", "src/a.cu", 1, 1, "x")
    for scanned, expected in (
        ("project", "project/src/a.cu"),
        (".", "src/a.cu"),
        (str(tmp_path / "project"), "project/src/a.cu"),
    ):
        assert next(seen_from_here([finding], Path(scanned))).path == expected
    monkeypatch.chdir(tmp_path / "project")
    assert next(seen_from_here([finding], tmp_path)).path == "src/a.cu"  # elsewhere: the project's own names
