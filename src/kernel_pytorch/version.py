"""The one place that holds the version; pyproject.toml reads it from here."""

from __future__ import annotations

VERSION = "0.1.0"
