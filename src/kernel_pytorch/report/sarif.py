"""Findings as SARIF 2.1.0, the form code-scanning services and editors read."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.core.pages import Page

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_MOST_CHARACTERS = 1024

# What the tool rewrites is a note; what a person must decide is a warning.
_LEVEL = {Safety.SAFE: "note", Safety.REVIEW: "warning", Safety.MANUAL: "warning"}


def to_sarif(findings: Sequence[Finding], pages: Mapping[str, Page], version: str) -> str:
    """The log of one run. `pages` has the page of every code that occurs; a code without one is shown as it is."""
    codes = sorted({finding.code for finding in findings})
    seen: Counter[str] = Counter()
    run = {
        "tool": {
            "driver": {
                "name": "kpt",
                "version": version,
                "rules": [_rule(code, pages.get(code)) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code), seen) for finding in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: str, page: Page | None) -> dict[str, Any]:
    """What code scanning shows beside an alert: title, reason and the whole page."""
    if page is None:
        return {"id": code, **{part: {"text": code} for part in ("shortDescription", "fullDescription", "help")}}
    described = " ".join(page.sections[name] for name in ("What", "Why") if name in page.sections)
    rule: dict[str, Any] = {
        "id": code,
        "name": page.name,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": _shortened(described or page.title)},
        "help": {"text": page.text(), "markdown": page.markdown()},
    }
    if page.safety:
        rule["properties"] = {"safety": page.safety}
    return rule


def _shortened(text: str) -> str:
    """At most 1024 characters, as code scanning allows, ending with a sentence."""
    text = text.replace("\n", " ")
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS].rpartition(". ")[0] + "."


def _result(finding: Finding, rule_index: int, seen: Counter[str]) -> dict[str, Any]:
    region = {"startLine": finding.line, "startColumn": finding.col}
    location = {"artifactLocation": {"uri": quote(os.fsencode(finding.path))}, "region": region}
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVEL[finding.safety],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"kptFinding/v1": _fingerprint(finding, seen)},
    }


def _fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """The same for the same finding when lines move: code, file, message, and which of several alike it is."""
    what = "\0".join((finding.code, finding.path, finding.message))
    seen[what] += 1
    return hashlib.sha256(f"{what}\0{seen[what]}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
