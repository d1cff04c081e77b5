"""The parts of the fetch script that need no network."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fetch_rocm_debian.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_rocm_debian", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fetch_rocm_debian"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


DEB822 = """\
Types: deb
URIs: http://vendor.invalid/gpu
Suites: nodistro
Components: main

# http://other.invalid
Types: deb deb-src
URIs: http://archive.invalid/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian.gpg
"""


def apt(tmp_path: Path, **files: str) -> Path:
    (tmp_path / "sources.list.d").mkdir(parents=True)
    for name, text in files.items():
        path = tmp_path / ("sources.list" if name == "list" else f"sources.list.d/x.{name}")
        path.write_text(text)
    return tmp_path


def test_the_machines_own_source_is_used(script: ModuleType, tmp_path: Path) -> None:
    source = script.machine_source(apt(tmp_path, sources=DEB822))
    assert source.stanza() == (
        "Types: deb\nURIs: http://archive.invalid/debian\nSuites: sid experimental\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian.gpg\n"
    )


def test_one_line_sources(script: ModuleType, tmp_path: Path) -> None:
    text = "# deb http://no.invalid/ sid main\ndeb [arch=amd64 signed-by=/k.gpg] http://a.invalid/debian trixie main\n"
    source = script.machine_source(apt(tmp_path, list=text))
    assert (source.uris, source.signed_by) == ("http://a.invalid/debian", "/k.gpg")


def test_disabled_and_foreign_sources_are_passed_over(script: ModuleType, tmp_path: Path) -> None:
    files = {
        "sources": DEB822.replace("Components: main\nSigned", "Enabled: no\nSigned"),
        "list": "deb http://u.invalid/ubuntu noble main",
    }
    with pytest.raises(script.FetchError, match="no Debian archive entry"):
        script.machine_source(apt(tmp_path, **files))


def run(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": path})


def test_without_apt(tmp_path: Path) -> None:
    done = run(str(tmp_path / "tree"), path=str(tmp_path))
    assert done.returncode == 2
    assert "apt-get, apt-cache, dpkg not found" in done.stderr
    assert "pip install" in done.stderr
    assert not (tmp_path / "tree").exists()


def test_unknown_set(tmp_path: Path) -> None:
    done = run(str(tmp_path), "--set", "everything", path="")
    assert done.returncode == 2
    assert "invalid choice" in done.stderr


def test_failed_archive_is_a_clear_error(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("apt-get", "apt-cache", "dpkg"):
        (programs / name).write_text("#!/bin/sh\necho 'E: no such suite' >&2\nexit 100\n")
        (programs / name).chmod(0o755)
    done = run(str(tmp_path / "tree"), path=str(programs))
    if "no Debian archive entry" in done.stderr:
        pytest.skip("this machine's apt is not set up for a Debian archive")
    assert done.returncode == 2
    assert "apt-get update failed (exit 100)" in done.stderr
    assert "E: no such suite" in done.stderr


def test_stamp_survives_damage(script: ModuleType, tmp_path: Path) -> None:
    script.write_stamp(tmp_path, {"clang-22": "1"})
    assert script.read_stamp(tmp_path) == {"clang-22": "1"}
    for damaged in ("{", "[1]", ""):
        (tmp_path / script.STAMP).write_text(damaged)
        assert script.read_stamp(tmp_path) == {}


def test_a_complete_tree_needs_no_network(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_stamp(tmp_path, dict.fromkeys(script.ROCM_HEADERS, "7.2"))
    for file in ("include/hip/hip_runtime.h", "amdgcn/bitcode/ocml.bc"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    assert script.main([str(tmp_path), "--set", "headers"]) == 0
    assert "are there already" in capsys.readouterr().err


def test_wrappers_start_programs_with_the_unpacked_loader(script: ModuleType, tmp_path: Path) -> None:
    root = tmp_path / "a tree"
    programs = root / "usr/lib/llvm-22/bin"
    programs.mkdir(parents=True)
    (root / "usr/lib/x86_64-linux-gnu").mkdir()
    loader = root / "usr/lib64/ld-linux-x86-64.so.2"
    loader.parent.mkdir()
    loader.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    loader.chmod(0o755)
    for name in ("clang", "clang++", "llvm-objdump"):
        (programs / name).write_bytes(b"\x7fELF")
    (programs / "script").write_text("#!/bin/sh\necho plain\n")
    (programs / "script").chmod(0o755)
    (root / "usr/lib/llvm-22/lib/clang").mkdir(parents=True)
    (root / "usr/include").mkdir()
    script.lay_out(root)
    script.lay_out(root)  # a second run must find its own links in order

    def said(program: str, *arguments: str) -> list[str]:
        return subprocess.run(
            [str(root / program), *arguments], capture_output=True, text=True, check=True
        ).stdout.splitlines()

    for place in ("bin", "lib/llvm/bin"):
        words = said(f"{place}/clang++", "-c", "a b.hip")
        assert words[:2] == ["--argv0", str(root / place / "clang++")]
        assert words[2] == "--library-path"
        assert Path(words[4]).resolve() == (programs / "clang++").resolve()
        assert words[5:] == ["-no-canonical-prefixes", "-c", "a b.hip"]
    assert said("bin/clang", "-cc1", "-x")[5:] == ["-cc1", "-x"]
    assert said("bin/llvm-objdump", "-d")[5:] == ["-d"]
    assert said("bin/script") == ["plain"]
    assert (root / "lib/clang").resolve() == (root / "usr/lib/llvm-22/lib/clang").resolve()


def test_only_libraries_are_followed(script: ModuleType) -> None:
    listing = "libllvm22\n  Depends: libc6\n  Depends: libz3-4\n |Depends: libedit2\n  PreDepends: <virtual>\n"
    assert script._dependency_names(listing) == ["libc6", "libz3-4", "libedit2"]
    kept = [name for name in ("libc6", "zlib1g", "libc6-dev", "binutils", "libclang1-22") if script._is_library(name)]
    assert kept == ["libc6", "zlib1g"]


def test_names_no_archive_host() -> None:
    text = SCRIPT.read_text()
    assert "http://" not in text
    assert "https://" not in text


def test_stamp_is_json(script: ModuleType, tmp_path: Path) -> None:
    script.write_stamp(tmp_path, {"b": "2", "a": "1"})
    assert list(json.loads((tmp_path / script.STAMP).read_text())) == ["a", "b"]
    assert not (tmp_path / f"{script.STAMP}.part").exists()


def test_a_tree_without_its_programs_is_not_complete(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ld.lld").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (tmp_path / "bin/ld.lld").chmod(0o755)
    faults = script.check(tmp_path, script.TOOLS)
    assert [fault.split()[0] for fault in faults] == [
        "bin/clang++",
        "bin/ld.lld",
        "bin/llvm-objdump",
        "bin/llvm-readelf",
    ]
    assert "broken" in faults[1]
