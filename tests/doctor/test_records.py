"""Version numbers and pip's records."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.doctor.distributions import (
    read_distributions,
    requirement_name,
    requirement_path,
    requirement_specifier,
    same_run,
)
from kernel_pytorch.doctor.torch_install import find_torch
from kernel_pytorch.doctor.versions import local_part, minor, release, satisfies
from tests.doctor.machines import NOON, Site


@pytest.mark.parametrize(
    ("version", "specifier", "expected"),
    [
        ("3.11.7", ">=3.10", True),
        ("3.11.7", ">=3.12", False),
        ("3.14.0", ">=3.10,!=3.14.0", False),
        ("3.10", "<3.11,>=3.10.0", True),
        ("3.5.1", "==3.5.1", True),
        ("3.5.1+gitabc", "==3.5.1", True),
        ("3.5.1+gitabc", "==3.5.1+gitabc", True),
        ("3.5.1", "==3.5.1+gitabc", False),
        ("3.5.0", "==3.5.*", True),
        ("3.6.0", "==3.5.*", False),
        ("3.6.0rc1", "==3.6.0", False),
        ("3.5.4", "~=3.5.1", True),
        ("3.6.0", "~=3.5.1", False),
        ("1.0", "", True),
        ("1.0", "@ file:///x", None),
    ],
)
def test_specifiers(version: str, specifier: str, expected: bool | None) -> None:
    assert satisfies(version, specifier) is expected


def test_specifiers_agree_with_packaging() -> None:
    packaging = pytest.importorskip("packaging.specifiers")
    versions = ["2.9", "2.9.0", "2.9.1", "2.10.0", "2.10.0+rocm7.1", "3.0"]
    specifiers = [">=2.9.1", "<2.10", "==2.10.0", "!=2.9", "~=2.9.0", ">2.9,<=2.10.0", "==2.9.*"]
    for version in versions:
        for specifier in specifiers:
            if "+" in version and (">" in specifier or "<" in specifier):
                continue  # PEP 440's order of local versions is not needed here
            assert satisfies(version, specifier) is packaging.SpecifierSet(specifier).contains(version)


def test_parts_of_versions() -> None:
    assert release("2.10.0+rocm7.1") == (2, 10, 0)
    assert release("none") == ()
    assert release(None) == ()
    assert minor("7.1.52802-abc") == "7.1"
    assert minor("7") == ""
    assert local_part("2.10.0+rocm7.1") == "rocm7.1"


def test_requirement_lines() -> None:
    line = 'PyTorch_Triton.ROCm (==3.5.1) ; platform_system == "Linux"'
    assert requirement_name(line) == "pytorch-triton-rocm"
    assert requirement_specifier(line) == "==3.5.1"
    assert requirement_specifier("jax[cuda12]>=0.4 ; extra == 'x'") == ">=0.4"


def test_distributions_are_read_from_their_headers_only(site: Site) -> None:
    site.add("Some_Pkg", "1.0", requires=("torch>=2", 'pytest; extra == "dev"'), requested=True, python=">=3.9")
    (item,) = read_distributions([str(site.folder), str(site.folder / "missing")])
    assert (item.name, item.version, item.requested, item.installer) == ("some-pkg", "1.0", True, "pip")
    assert item.required_names == ("torch",)
    assert item.requires_python == ">=3.9"
    assert item.installed_at == NOON


def test_first_folder_on_the_path_wins(site: Site, tmp_path: Path) -> None:
    site.add("numpy", "2.1.0")
    other = Site(tmp_path / "other")
    other.add("numpy", "1.26.0")
    other.add("scipy", "1.15.0")
    names = {item.name: item.version for item in read_distributions([str(site.folder), str(other.folder)])}
    assert names == {"numpy": "2.1.0", "scipy": "1.15.0"}


def test_broken_records_are_skipped(site: Site) -> None:
    (site.folder / "empty-1.0.dist-info").mkdir()
    (site.folder / "binary-1.0.dist-info").mkdir()
    (site.folder / "binary-1.0.dist-info" / "METADATA").write_bytes(b"\xff\xfe\x00")
    assert read_distributions([str(site.folder)]) == ()


def test_one_installation_run_ends_at_a_pause(site: Site) -> None:
    for name, at in (("a", 0.0), ("b", 100.0), ("c", 200.0), ("d", 400.0)):
        site.add(name, "1", at=NOON + at)
    everything = read_distributions([str(site.folder)])
    by_name = {item.name: item for item in everything}
    assert [item.name for item in same_run(everything, by_name["b"])] == ["a", "b", "c"]
    assert [item.name for item in same_run(everything, by_name["d"])] == ["d"]


def test_requirement_chains_may_be_circular(site: Site) -> None:
    site.add("a", "1", requires=("b", "c"))
    site.add("b", "1", requires=("a",))
    site.add("c", "1", requires=("torch",))
    by_name = {item.name: item for item in read_distributions([str(site.folder)])}
    assert requirement_path("a", "torch", by_name) == ("a", "c", "torch")
    assert requirement_path("missing", "torch", by_name) == ()


@pytest.mark.parametrize("text", ["", "__version__ = ", "not python (", "__version__ = f()"])
def test_unreadable_version_file_is_no_torch(site: Site, text: str) -> None:
    (site.folder / "torch").mkdir()
    (site.folder / "torch" / "version.py").write_text(text)
    assert find_torch([str(site.folder)], ()) is None
