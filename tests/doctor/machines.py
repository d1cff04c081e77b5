"""Machines to diagnose: a site-packages folder laid out by hand, and a probe that stands in for the rest."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.probe import CommandResult, Probe
from kernel_pytorch.doctor.machine import Machine, examine
from kernel_pytorch.doctor.run import all_checks, run_checks
from kernel_pytorch.doctor.torch_probe import MARK

PYTHON = "python-stand-in"
STOCK_SETTINGS = {
    "inductor.max_autotune": False,
    "inductor.max_autotune_pointwise": False,
    "inductor.max_autotune_gemm": False,
    "inductor.max_autotune_gemm_backends": "ATEN,TRITON,CPP",
    "inductor.coordinate_descent_tuning": False,
    "inductor.epilogue_fusion": True,
    "inductor.pattern_matcher": True,
    "inductor.aggressive_fusion": False,
    "inductor.triton.cudagraphs": False,
    "inductor.triton.cudagraph_trees": True,
    "inductor.memory_planning": False,
    "inductor.reorder_for_locality": True,
    "dynamo.recompile_limit": 8,
    "dynamo.cache_size_limit": 8,
}
NOON = 1_760_000_000.0


class Site:
    """A site-packages folder as pip leaves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(
        self,
        name: str,
        version: str,
        *,
        requires: tuple[str, ...] = (),
        requested: bool = False,
        at: float = NOON,
        python: str = "",
        tag: str = "py3-none-any",
        files: Mapping[str, bytes] | None = None,
    ) -> Path:
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Python: {python}"] if python else []
        lines += [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text("\n".join([*lines, "", "Requires-Dist: not-a-header"]) + "\n")
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag}\n")
        record = []
        for path, content in (files or {}).items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)
            record.append(f"{path},,")
        (info / "RECORD").write_text("\n".join(record) + "\n")
        (info / "INSTALLER").write_text("pip\n")
        if requested:
            (info / "REQUESTED").write_text("")
        for entry in info.iterdir():
            os.utime(entry, (at, at))
        return info

    def torch(
        self,
        version: str,
        *,
        hip: str | None = None,
        cuda: str | None = None,
        record_version: str | None = None,
        requires: tuple[str, ...] = (),
        requested: bool = False,
        at: float = NOON,
        tag: str = "cp311-cp311-manylinux_2_28_x86_64",
        python: str = ">=3.10",
        leftovers: tuple[str, ...] = (),
    ) -> None:
        text = f"__version__ = {version!r}\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = {hip!r}\n"
        files = {"torch/version.py": text.encode(), "torch/__init__.py": b""}
        self.add(
            "torch", record_version or version, requires=requires, requested=requested, at=at, tag=tag, python=python,
            files={**files, **{f"torch/{name}": b"" for name in leftovers}},
        )  # fmt: skip

    def rocm_torch(self, version: str = "2.10.0+rocm7.1", hip: str = "7.1.52802", **more: Any) -> None:
        self.torch(version, hip=hip, **more)


def torch_answer(
    settings: Mapping[str, Any] | None = None, arch_list: tuple[str, ...] = ("gfx90a", "gfx942", "gfx1100")
) -> CommandResult:
    """What the child process prints when torch imports."""
    facts = {"version": "stand-in", "arch_list": list(arch_list), "settings": {**STOCK_SETTINGS, **(settings or {})}}
    return CommandResult((PYTHON,), "ran", 0, "a warning\n" + MARK + json.dumps(facts) + "\n")


def with_site(probe: Probe, site: Site, tmp_path: Path) -> Probe:
    return replace(probe, python=PYTHON, python_path=(str(site.folder),), home=str(tmp_path / "home"))


def diagnose(probe: Probe, code: str, *, torch: CommandResult | None = None) -> list[CheckResult]:
    """The results of one check on one machine."""
    return list(run_checks(look(probe, torch), [item for item in all_checks() if item.check.code == code]))


def look(probe: Probe, torch: CommandResult | None = None) -> Machine:
    answer = torch or torch_answer()
    inner = probe.run
    return examine(replace(probe, run=lambda argv, timeout: answer if argv[0] == PYTHON else inner(argv, timeout)))


def statuses(results: list[CheckResult]) -> list[Status]:
    return [result.status for result in results]
