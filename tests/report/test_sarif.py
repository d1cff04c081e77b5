from __future__ import annotations

import json

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.report.sarif import to_sarif

FINDINGS = [
    Finding("KP302", "src/a b.cu", 3, 7, "drops lanes", Safety.SAFE),
    Finding("KP201", "b.cu", 1, 1, "no counterpart"),
    Finding("KP302", "c.cu", 9, 2, "drops lanes", Safety.REVIEW),
]


def test_log() -> None:
    log = json.loads(to_sarif(FINDINGS, {"KP302": "popc of a mask"}, "1.2"))
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


def test_no_findings_is_a_valid_log() -> None:
    log = json.loads(to_sarif([], {}, "1.2"))
    assert log["runs"][0]["results"] == []
