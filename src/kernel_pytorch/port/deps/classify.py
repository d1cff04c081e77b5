"""Decide what happens to each requirement and each index line on ROCm."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from fnmatch import fnmatchcase

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from kernel_pytorch.port.deps.marker import may_apply_on_rocm
from kernel_pytorch.port.deps.model import Decision, Declared, IndexOption
from kernel_pytorch.port.deps.packages import PackageRow, classify, normalize
from kernel_pytorch.port.deps.requirement_text import is_cuda_build, render, without_cuda_tag

_CUDA_INDEX = re.compile(
    r"[/+_-]cu\d{2,3}\b|%2Bcu\d|pypi\.(ngc\.)?nvidia\.com|developer\.download\.nvidia|/cuda[/-]?\d", re.IGNORECASE
)
_TORCH_INDEX = re.compile(r"download\.pytorch\.org/(whl|libtorch)", re.I)
_STANDARD = frozenset(sys.stdlib_module_names) - {"test", "this", "idlelib", "antigravity"}
_ELSEWHERE = "its marker leaves out Linux and Windows: never installed where ROCm is"
_ORDINARY = "not a GPU package as far as the table knows; installs as it is"


def decide(requirement: Declared, *, torch_used: bool) -> Decision:
    """The decision for one requirement. `torch_used` selects the PyTorch-only path for the JAX stack."""
    row = classify(requirement.name, requirement.extras, requirement.ecosystem)
    if not may_apply_on_rocm(requirement.marker) and (row is None or row.action != "protected"):
        line, _ = _line(requirement)
        return Decision(requirement, "keep", _ELSEWHERE, line)
    if row is None:
        return _ordinary(requirement)
    if "jax" in row.tags and not torch_used:
        return _jax_alone(requirement)
    if row.action == "protected":
        return _protected(requirement, row)
    if row.action == "keep":
        return _keep(requirement, row)
    if row.action == "substitute":
        return _substitute(requirement, row)
    return Decision(
        requirement, row.action, row.reason, "", row.how, row.source, row.confidence, row.requires_torch, True
    )


def _ordinary(requirement: Declared) -> Decision:
    if requirement.ecosystem == "pip" and requirement.name in _STANDARD and not (requirement.local or requirement.url):
        reason = "a module of Python itself; a package of that name shadows it or does not exist"
        return Decision(requirement, "drop", reason, is_finding=True)
    if requirement.local:
        return Decision(requirement, "keep", "a project of this repository", how=_local_command(requirement))
    if is_cuda_build(requirement.url):
        reason = "a file built for CUDA, given by its address"
        how = "find or build the same version for ROCm"
        return Decision(requirement, "person", reason, how=how, is_finding=True)
    line, notes = _line(requirement)
    return Decision(requirement, "keep", _ORDINARY, line, notes=notes, is_finding=bool(notes))


def _local_command(requirement: Declared) -> str:
    flag = "-e " if requirement.editable else ""
    return f"pip install --no-deps --no-build-isolation --ignore-requires-python {flag}{requirement.local}"


def _line(requirement: Declared, *, extras: tuple[str, ...] | None = None) -> tuple[str, tuple[str, ...]]:
    """The requirement for the ROCm list, and notes on what had to change in it."""
    specifier = _ordered(without_cuda_tag(requirement.specifier))
    notes = ("the CUDA tag of the pinned version is left out",) if is_cuda_build(requirement.specifier) else ()
    text = render(
        requirement.name,
        extras=requirement.extras if extras is None else extras,
        specifier=specifier,
        marker=requirement.marker,
        url=requirement.url,
    )
    return text, notes


def _ordered(specifier: str) -> str:
    """The limits in one fixed order, so that the same ones from two files are seen to be the same."""
    try:
        return str(SpecifierSet(specifier))
    except InvalidSpecifier:
        return specifier


def _keep(requirement: Declared, row: PackageRow) -> Decision:
    if requirement.local:
        return replace(_ordinary(requirement), requires_torch=row.requires_torch)
    if is_cuda_build(requirement.url):
        return _ordinary(requirement)
    line, notes = _line(requirement)
    return Decision(
        requirement, "keep", row.reason, line, row.how, row.source, row.confidence, row.requires_torch,
        bool(notes), notes,
    )  # fmt: skip


def _protected(requirement: Declared, row: PackageRow) -> Decision:
    notes = []
    pinned = "==" in requirement.specifier or bool(requirement.url)
    if is_cuda_build(requirement.specifier) or is_cuda_build(requirement.url):
        notes.append(f"asks for a CUDA build: {requirement.written}")
    elif requirement.specifier:
        asked = f"the code asks for {requirement.name}{requirement.specifier}"
        tied = "triton" in requirement.name
        notes.append(f"{asked}: {'the one that came with torch is used' if tied else 'pick a ROCm build to match'}")
    if requirement.role == "build":
        pinned = True
        notes.append("a build requirement: pip's isolated build would download a CUDA torch; --no-build-isolation")
    if requirement.ecosystem == "conda":
        pinned = True
        notes.append("conda has CUDA and CPU builds only: install the ROCm wheel with pip instead")
    return Decision(
        requirement, "protected", row.reason, "", row.how, row.source, row.confidence, False, pinned, tuple(notes)
    )


def _substitute(requirement: Declared, row: PackageRow) -> Decision:
    line, notes = "", []
    if row.replacement:
        name, specifier = _split(row.replacement)
        same = normalize(name) == requirement.name
        _, _, offending = row.pattern.partition("[")
        extras = tuple(one for one in requirement.extras if same and not _matches(one, offending))
        if same:
            specifier, dropped = _combined(without_cuda_tag(requirement.specifier), specifier)
            if dropped:
                notes.append(f"the pin {dropped} has no ROCm build: raised to {row.replacement}")
        elif requirement.specifier:
            notes.append(f"version {requirement.specifier} of {requirement.name} says nothing about {name}: not kept")
        line = render(name, extras=extras, specifier=specifier, marker=requirement.marker)
    return Decision(
        requirement, "substitute", row.reason, line, row.how, row.source, row.confidence, row.requires_torch, True,
        tuple(notes),
    )  # fmt: skip


def _split(replacement: str) -> tuple[str, str]:
    name = re.split(r"[<>=!~]", replacement, maxsplit=1)[0]
    return name, replacement[len(name) :]


def _matches(extra: str, pattern: str) -> bool:
    return bool(pattern) and fnmatchcase(normalize(extra), pattern.rstrip("]"))


def _combined(asked: str, needed: str) -> tuple[str, str]:
    """Both specifiers as one, or the needed one and the pin that had to go."""
    if not needed or not asked:
        return asked or needed, ""
    try:
        limits = SpecifierSet(needed)
        pins = [one.version for one in SpecifierSet(asked) if one.operator in {"==", "==="}]
        ceilings = [one.version for one in SpecifierSet(asked) if one.operator in {"<", "<="}]
    except InvalidSpecifier:
        return needed, asked
    for version in (*pins, *ceilings):
        if "*" in version or not limits.contains(version, prereleases=True):
            return needed, asked
    floor = Version(needed.removeprefix(">=")) if re.fullmatch(r">=[\d.]+", needed) else None
    kept = [str(one) for one in SpecifierSet(asked) if one.operator != ">=" or floor is None]
    higher = [
        str(one) for one in SpecifierSet(asked) if one.operator == ">=" and floor and Version(one.version) > floor
    ]
    return str(SpecifierSet(",".join([*kept, *(higher or [needed])]))), ""


def _jax_alone(requirement: Declared) -> Decision:
    cuda = [extra for extra in requirement.extras if "cuda" in extra]
    if not cuda and not requirement.name.startswith("jax-cuda"):
        line, notes = _line(requirement)
        return Decision(requirement, "keep", "JAX is what this repository runs on, not torch", line, notes=notes)
    return Decision(
        requirement,
        "person",
        "a CUDA build of JAX in a repository that runs on JAX: AMD's JAX plugin is another stack",
        how="see https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/jax-install.html",
        is_finding=True,
    )


def decide_option(option: IndexOption) -> IndexOption:
    """Keep or drop one index line, channel or pip option."""
    if option.kind == "conda-channel":
        if option.value in {"nvidia", "pytorch", "pytorch-nightly", "rapidsai"} or option.value.startswith("nvidia/"):
            return replace(option, action="drop", reason="a channel of CUDA builds")
        return option
    if option.kind in {"require-hashes"}:
        return replace(option, action="drop", reason="the ROCm list has other files, so other hashes")
    if "rocm" in option.value.lower() or "amd.com" in option.value.lower() or "radeon.com" in option.value.lower():
        return option
    if _CUDA_INDEX.search(option.value):
        return replace(option, action="drop", reason="an index of CUDA builds: pip would take torch from there")
    if _TORCH_INDEX.search(option.value):
        return replace(option, action="drop", reason="PyTorch's index of CPU or CUDA builds: torch is protected")
    return option
