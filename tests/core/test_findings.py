from __future__ import annotations

import json

import pytest

from kernel_pytorch.core import findings
from kernel_pytorch.core.findings import (
    CheckResult,
    Edit,
    Finding,
    Held,
    Measurement,
    Patch,
    Plan,
    Report,
    Safety,
    Span,
    Status,
    from_json,
    to_json,
)

FINDING = Finding("KP302", "a.cu", 3, 7, "drops lanes", Safety.SAFE, (Edit(Span(10, 14), b"\xff\x00ll"),))
REPORT = Report(
    target="gfx942",
    environment={"torch": "2.13.0"},
    findings=(FINDING,),
    patches=(Patch("a.cu", None, b"new"), Patch("b.cu", b"old\r\n", b"\xfe", ("KP302",))),
    checks=(CheckResult("isolation", Status.NOT_RUN, "no nvcc", "KP801", ("install it",)),),
    measurements=(Measurement("copy", "ms", 1.0, 0.1, 10, "cpu"),),
)


@pytest.mark.parametrize(
    "value", [FINDING, REPORT, Plan("gfx942", (FINDING,), (Held(FINDING, "asked"),)), Report("gfx1100")]
)
def test_json_round_trip(value: object) -> None:
    assert from_json(type(value), to_json(value)) == value


def test_report_carries_its_schema() -> None:
    assert json.loads(to_json(REPORT))["schema"] == findings.SCHEMA_VERSION
    newer = {**json.loads(to_json(REPORT)), "schema": findings.SCHEMA_VERSION + 1}
    with pytest.raises(ValueError, match="another version"):
        from_json(Report, json.dumps(newer))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"target": 3}', r"Report\.target: 3 is not str"),
        ('{"target": "gfx942", "colour": "red"}', "unknown field colour"),
        ('{"environment": {}}', "target"),
        ("[]", "not an object"),
        ('{"target": "x", "findings": [{"code": "KP1"}]}', r"Report\.findings\[0\]"),
        ('{"target": "x", "checks": [{"check": "a", "status": "maybe", "detail": ""}]}', "maybe"),
        ("{", "Expecting"),
    ],
)
def test_bad_json_says_where(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(Report, text)


def test_span_must_be_a_range() -> None:
    with pytest.raises(ValueError, match="not a range"):
        Span(5, 4)
    with pytest.raises(ValueError, match="not a range"):
        Span(-1, 4)


def test_finding_prints_as_one_line() -> None:
    assert str(FINDING) == "a.cu:3:7: KP302 drops lanes"
