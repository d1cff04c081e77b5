"""pyproject.toml on both sides: this tool's own table is read by nothing on the NVIDIA path."""

from __future__ import annotations

import sys
from typing import Any

from kernel_pytorch.verify.isolation.verdict import FileVerdict, Isolation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def compare_pyproject(path: str, old: bytes, new: bytes) -> FileVerdict:
    """Proven where the values are the same, [tool.kernel_pytorch] aside."""
    try:
        before, after = _without_own_table(old), _without_own_table(new)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return FileVerdict(path, Isolation.NOT_PROVEN, f"not valid TOML on one side: {error}")
    # As text: 1, 1.0 and True are equal in Python and three values in a file.
    if repr(before) == repr(after):
        return FileVerdict(
            path, Isolation.PROVEN, "the same values; only [tool.kernel_pytorch] may differ, which kpt reads"
        )
    where = next((key for key in {**before, **after} if repr(before.get(key)) != repr(after.get(key))), "its order")
    return FileVerdict(path, Isolation.CHANGED, f"other values than before, in {where}")


def _without_own_table(data: bytes) -> dict[str, Any]:
    document = tomllib.loads(data.decode("utf-8-sig"))
    tools = document.get("tool")
    if isinstance(tools, dict) and "kernel_pytorch" in tools:
        left = {key: value for key, value in tools.items() if key != "kernel_pytorch"}
        document = {key: left if key == "tool" else value for key, value in document.items()}
        if not left:
            del document["tool"]
    return document
