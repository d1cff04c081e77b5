"""Which torch gets an emulated GPU."""

from __future__ import annotations

import pytest

from kernel_pytorch.emulate.torch_device.build import TRIED, UNTRIED, TorchDeviceError, require_tried


def test_a_version_that_was_tried_is_taken() -> None:
    for version in TRIED:
        require_tried(f"{version}.0+cpu")


@pytest.mark.parametrize("version", ["2.8.0", "2.1.2+cpu", "2.14.0a0+git1234", "2.15.0+cu132", "2.130.0", "3.0.0"])
def test_another_one_is_refused_by_name_unless_it_is_asked_for(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(UNTRIED, raising=False)
    with pytest.raises(
        TorchDeviceError, match=rf"torch {version.replace('+', '.')} was never tried.*torch=={TRIED[-1]}"
    ):
        require_tried(version)
    monkeypatch.setenv(UNTRIED, "1")
    require_tried(version)
