"""The programs of these tests, each built once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.emulate.source.build import SourceProgram, build_source

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SourceProgram]:
    """Builds programs/NAME when it is first asked for."""
    folder = tmp_path_factory.mktemp("source-programs")
    done: dict[str, SourceProgram] = {}

    def build(name: str) -> SourceProgram:
        if name not in done:
            done[name] = build_source([PROGRAMS / name], folder / name.replace(".", "-"))
        return done[name]

    return build
