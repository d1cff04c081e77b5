"""Surgery on a copy of a module tree that shares the parameters: found by structure, proven by output."""

from __future__ import annotations
