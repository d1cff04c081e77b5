"""Files of one JSON object a line, as a process writes them while it runs: it may have ended in the middle of one."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernel_pytorch.core.read_file import open_plain


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file in order; a line that is not one, such as a last one cut off, is left out."""
    with io.TextIOWrapper(open_plain(path), "utf-8", "replace") as lines:
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event
