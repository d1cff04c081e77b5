"""Machines to diagnose, as fixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.core.probe import Probe
from kernel_pytorch.core.stand_in import recorded, stand_in
from tests.doctor.machines import Site, with_site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site-packages")


@pytest.fixture
def amd(site: Site, tmp_path: Path) -> Callable[..., Probe]:
    """An AMD machine (one MI300X) with the site's packages; keywords change it."""

    def build(alias: str = "mi300x", count: int = 1, **fields: Any) -> Probe:
        fields.setdefault("gids", frozenset({44, 109}))
        fields.setdefault("user", "ada")
        fields.setdefault("uid", 1000)
        return with_site(stand_in(alias, count, torch=False, **fields), site, tmp_path)

    return build


@pytest.fixture
def machine_with(site: Site, tmp_path: Path) -> Callable[..., Probe]:
    """Any machine: the keywords of `recorded`."""

    def build(**fields: Any) -> Probe:
        return with_site(recorded(**fields), site, tmp_path)

    return build
