"""Reading a TOML file with an error that names it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(path: Path) -> dict[str, Any]:
    """The document, or a UsageError that names the file and what is wrong with it."""
    try:
        return tomllib.loads(read_text(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text, which TOML requires (byte {error.start})") from error
    except RecursionError as error:
        raise UsageError(f"{path}: nested too deeply to be read") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
