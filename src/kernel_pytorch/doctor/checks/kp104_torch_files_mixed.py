"""Torch's files and its record disagree

What: The version in torch/version.py is not the version in torch's dist-info record, or there are two records.
Why: Two torch versions were written over each other: an interrupted upgrade, a copied folder, or conda and pip
    together. The Python files of one build then load the libraries of another.
Fix: Uninstall until pip says "not installed", delete what is left of the torch folder, and install again.
Source: https://packaging.python.org/specifications/recording-installed-packages/ (one dist-info folder for each
    installed project).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.versions import local_part

CHECK = Check("KP104", "torch-files-mixed", "torch", Applies.TORCH)


def check(machine: Machine) -> Iterator[CheckResult]:
    torch = machine.torch
    assert torch is not None
    versions = [record.version for record in torch.records]
    python = machine.probe.python or "python3"
    repair = (
        f"{python} -m pip uninstall -y torch",
        f"ls -d {torch.location} {torch.location}-*.dist-info   # delete what is left, then install torch again",
    )
    if len(versions) > 1:
        yield CHECK.red(f"torch has {len(versions)} records: {', '.join(versions)}", *repair)
    elif versions and not _agree(torch.version, versions[0]):
        yield CHECK.red(f"torch/version.py says {torch.version}, its record says {versions[0]}", *repair)
    elif not versions:
        yield CHECK.note(f"torch {torch.version} at {torch.location} has no record: built from source or copied there")
    else:
        yield CHECK.ok("torch's files and record agree")


def _agree(of_files: str, of_record: str) -> bool:
    # Wheels on PyPI are renamed without their local part: files that say 2.11.0+cu130 have the record 2.11.0.
    return of_files == of_record or (not local_part(of_record) and of_files.partition("+")[0] == of_record)
