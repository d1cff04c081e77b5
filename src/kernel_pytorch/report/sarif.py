"""Findings as SARIF 2.1.0, the form code-scanning services and editors read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from kernel_pytorch.core.findings import Finding, Safety

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

# What the tool rewrites is a note; what a person must decide is a warning.
_LEVEL = {Safety.SAFE: "note", Safety.REVIEW: "warning", Safety.MANUAL: "warning"}


def to_sarif(findings: Sequence[Finding], titles: Mapping[str, str], version: str) -> str:
    """The log of one run. `titles` gives the one-line title of every code that occurs."""
    codes = sorted({finding.code for finding in findings})
    run = {
        "tool": {
            "driver": {
                "name": "kpt",
                "version": version,
                "rules": [{"id": code, "shortDescription": {"text": titles.get(code, code)}} for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    region = {"startLine": finding.line, "startColumn": finding.col}
    location = {"artifactLocation": {"uri": quote(finding.path)}, "region": region}
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVEL[finding.safety],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    }
