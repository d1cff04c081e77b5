"""A pytest plugin that writes a line of JSON when a test begins and when it ends, so that a run that is stopped leaves
what it found. The folder of this file is in PYTHONPATH; only the standard library may be imported.

KPT_TEST_LINES: the file. KPT_TEST_PATHS: folders of the project that its modules are imported from.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

# file:line:column: error, or program: error
_COMPILER = re.compile(r":\d+: (fatal )?error: |^[\w.+-]+: (fatal )?error: ")


def _write(**line: Any) -> None:
    with Path(os.environ["KPT_TEST_LINES"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    """A test begins."""
    _write(test=nodeid, result="running")


def pytest_runtest_logreport(report: Any) -> None:
    """A test's set-up, call or end has ended. A failure of any of them is one of the test."""
    if report.failed:
        _write(test=report.nodeid, result="failed", **_why(report))
    elif report.skipped or report.when == "call":
        _write(test=report.nodeid, result="skipped" if report.skipped else "passed")


def pytest_collectreport(report: Any) -> None:
    """A file could not be imported."""
    if report.failed:
        _write(test=report.nodeid, result="failed", collected=False, **_why(report))


def _why(report: Any) -> dict[str, str]:
    """pytest's own words, and what a compiler said that the test had started."""
    text = str(report.longrepr or "")
    reasons = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
    everything = "\n".join([*(content for _, content in report.sections), text])
    errors = [line.strip() for line in everything.splitlines() if _COMPILER.search(line)]
    return {
        "message": _inner(crash) or (reasons[-1] if reasons else text[-400:]),
        "compiler": errors[0] if errors else "",
    }


def _inner(message: str) -> str:
    """Some errors carry the traceback of another one (of TorchScript, of a process): its last line is the reason."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[-1] if any("Traceback " in line for line in lines) else message


def _project_first() -> None:
    """Before what is installed: an installed copy of the project is another state of it."""
    paths = [path for path in os.environ.get("KPT_TEST_PATHS", "").split(os.pathsep) if path]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])


if __name__ == "kpt_test_lines":  # as pytest's plugin
    _project_first()
