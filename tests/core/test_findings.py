from __future__ import annotations

import pytest

from kernel_pytorch.core.findings import (
    CheckResult,
    Edit,
    Finding,
    Held,
    Patch,
    Safety,
    Span,
    Status,
    from_json,
    to_json,
)

FINDING = Finding("KP302", "a.cu", 3, 7, "drops lanes", Safety.SAFE, (Edit(Span(10, 14), b"\xff\x00ll"),))
PATCHES = (Patch("a.cu", None, b"new"), Patch("b.cu", b"old\r\n", b"\xfe", ("KP302",)))
CHECK = CheckResult("isolation", Status.NOT_RUN, "no nvcc", "KP801", ("install it",))


@pytest.mark.parametrize("value", [FINDING, *PATCHES, CHECK, Held(FINDING, "asked")])
def test_json_round_trip(value: object) -> None:
    assert from_json(type(value), to_json(value)) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"finding": {}, "reason": 3}', r"Held\.finding"),
        ('{"reason": 3}', r"Held\.reason: 3 is not str"),
        ('{"reason": "asked", "colour": "red"}', "unknown field colour"),
        ('{"reason": "asked"}', "finding"),
        ("[]", "not an object"),
        ('{"finding": {"code": "KP1"}, "reason": ""}', r"Held\.finding"),
        ('{"finding": {"safety": "maybe"}, "reason": ""}', "maybe"),
        ("{", "Expecting"),
    ],
)
def test_bad_json_says_where(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(Held, text)


def test_span_must_be_a_range() -> None:
    with pytest.raises(ValueError, match="not a range"):
        Span(5, 4)
    with pytest.raises(ValueError, match="not a range"):
        Span(-1, 4)


def test_finding_prints_as_one_line() -> None:
    assert str(FINDING) == "a.cu:3:7: KP302 drops lanes"
