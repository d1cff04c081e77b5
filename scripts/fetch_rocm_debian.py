#!/usr/bin/env python3
"""Unpack Debian's clang 22 and ROCm 7.2 packages into a directory, without installing anything.

    python scripts/fetch_rocm_debian.py .rocm                # compiler, tools, headers, device libraries
    python scripts/fetch_rocm_debian.py .rocm --set tools    # clang, lld, llvm-objdump, llvm-readelf only
    KPT_ROCM_ROOT=.rocm kpt build kernel.hip --arch gfx942

Needs apt and dpkg set up for a Debian archive, but no root: apt runs with a configuration of its own, so the
system's package lists, cache and installed packages are neither read nor changed. The unpacked programs need a
newer C library than most machines have; DEST/bin holds small scripts that start them with the unpacked one.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

LLVM = "22"
TOOLS = (
    f"clang-{LLVM}", f"clang-tools-{LLVM}", f"libclang-cpp{LLVM}", f"libllvm{LLVM}", f"libclang-common-{LLVM}-dev",
    f"lld-{LLVM}", f"llvm-{LLVM}",
)  # fmt: skip
ROCM_TOOLS = ("hipcc", "hipify-perl", "libhiprtc7", "libhiprtc-builtins7", "libamd-comgr3")
ROCM_HEADERS = (
    "libamdhip64-dev", "libamd-comgr-dev", "libhsa-runtime-dev", f"rocm-device-libs-{LLVM}", "librocm-core-dev",
    "libhipblas-common-dev", "libhipblas-dev", "libhipblaslt-dev", "libhipcub-dev", "libhipfft-dev", "libhiprand-dev",
    "libhipsolver-dev", "libhipsparse-dev", "libhipsparselt-dev", "libmiopen-dev", "librccl-dev", "librocblas-dev",
    "librocfft-dev", "librocprim-dev", "librocrand-dev", "librocsolver-dev", "librocsparse-dev", "librocthrust-dev",
    "libroctx-dev", "librocwmma-dev", "librocm-smi-dev",
)  # fmt: skip
SETS = {"tools": TOOLS, "headers": ROCM_HEADERS, "all": TOOLS + ROCM_TOOLS + ROCM_HEADERS}
#: Programs whose shared libraries must be unpacked too.
NEEDS_LIBRARIES = (*TOOLS, *ROCM_TOOLS)
DEBIAN_SUITES = re.compile(
    r"^(stable|oldstable|testing|unstable|sid|bullseye|bookworm|trixie|forky|duke)(-updates|-backports)?$"
)
STAMP = ".kpt-unpacked.json"

WRAPPER = """#!/bin/sh
# Starts {program} with the C library unpacked beside it.
root="${{0%/*}}"
[ -e "$root/../{loader}" ] && root="$root/.." || root="$root/../../.."
{setup}exec "$root/{loader}" --argv0 "$0" --library-path "$root/{libraries}" "$root/{program}" "$@"
"""
# Clang finds its headers and its helper programs next to the path it was started as; /proc/self/exe would name
# the C library's loader instead. As "clang -cc1" that option is not accepted.
CLANG_SETUP = 'case "$1" in -cc1*) ;; *) set -- -no-canonical-prefixes "$@" ;; esac\n'
# It starts clang as it finds it beside its own program file or on PATH; the former is the loader here.
LINKER_SETUP = 'export PATH="${0%/*}:$PATH"\n'
HIPCC_SETUP = 'export HIP_CLANG_PATH="${0%/*}" HIP_PATH="$root" ROCM_PATH="$root"\n'


class FetchError(Exception):
    """A problem the person at the terminal can act on."""


@dataclass(frozen=True)
class ArchiveSource:
    """The machine's own Debian archive entry."""

    uris: str
    signed_by: str | None

    def stanza(self) -> str:
        """The deb822 text that asks the same archive for sid and experimental."""
        lines = ["Types: deb", f"URIs: {self.uris}", "Suites: sid experimental", "Components: main"]
        if self.signed_by:
            lines.append(f"Signed-By: {self.signed_by}")
        return "\n".join(lines) + "\n"


def parse_deb822(text: str) -> list[dict[str, str]]:
    """The stanzas of a .sources file; field names in lower case, comments dropped."""
    stanzas: list[dict[str, str]] = [{}]
    field = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            stanzas.append({})
        elif line[0] in " \t" and field:
            stanzas[-1][field] += "\n" + line
        elif ":" in line:
            name, _, value = line.partition(":")
            field = name.strip().lower()
            stanzas[-1][field] = value.strip()
    return [stanza for stanza in stanzas if stanza]


def sources_in(path: Path) -> Iterable[tuple[ArchiveSource, Sequence[str]]]:
    """Archive entries of one apt source file with the suites each names."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".sources":
        for stanza in parse_deb822(text):
            if "deb" in stanza.get("types", "").split() and stanza.get("enabled", "yes").lower() != "no":
                yield (
                    ArchiveSource(stanza.get("uris", ""), stanza.get("signed-by")),
                    stanza.get("suites", "").split(),
                )
        return
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)", line)
        if match:
            signed = re.search(r"signed-by=(\S+)", match["options"] or "")
            yield ArchiveSource(match["uri"], signed[1] if signed else None), [match["suite"]]


def machine_source(etc_apt: Path = Path("/etc/apt")) -> ArchiveSource:
    """The first Debian archive entry this machine's apt is set up for."""
    parts = etc_apt / "sources.list.d"
    files = [etc_apt / "sources.list"]
    if parts.is_dir():
        files += sorted(p for p in parts.iterdir() if p.suffix in (".list", ".sources"))
    for path in files:
        if not path.is_file():
            continue
        for source, suites in sources_in(path):
            if source.uris and any(DEBIAN_SUITES.match(suite) for suite in suites):
                return source
    raise FetchError(
        f"no Debian archive entry in {etc_apt}/sources.list or {parts}. This script needs a Debian machine or "
        "container; elsewhere install ROCm, or use the pip-only toolchain: pip install '.[toolchain]'"
    )


class PrivateApt:
    """apt with lists, cache and sources of its own under one directory."""

    def __init__(self, directory: Path, source: ArchiveSource) -> None:
        self.directory = directory
        for sub in ("sources", "preferences", "lists/partial", "cache/archives/partial"):
            (directory / sub).mkdir(parents=True, exist_ok=True)
        (directory / "status").touch()
        (directory / "sources" / "debian.sources").write_text(source.stanza(), encoding="utf-8")
        # Experimental is never picked on its own; ROCm 7.2 is only complete there. The rest stays with sid.
        pinned = " ".join(ROCM_HEADERS + ROCM_TOOLS)
        (directory / "preferences" / "rocm.pref").write_text(
            f"Package: {pinned}\nPin: release a=experimental\nPin-Priority: 990\n", encoding="utf-8"
        )
        settings = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": directory / "sources",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": directory / "preferences",
            "Dir::State": directory,
            "Dir::State::lists": directory / "lists",
            "Dir::State::status": directory / "status",
            "Dir::Cache": directory / "cache",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            "APT::Sandbox::User": getpass.getuser(),
        }
        self.config = directory / "apt.conf"
        self.config.write_text("".join(f'{k} "{v}";\n' for k, v in settings.items()), encoding="utf-8")

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        """Run apt-get or apt-cache with the private configuration and return what it printed."""
        command = [program, "-c", str(self.config), *arguments]
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )
        if done.returncode != 0:
            words = "\n".join(line for line in done.stderr.splitlines() if line.strip())
            raise FetchError(f"{program} {arguments[0]} failed (exit {done.returncode}):\n{words}")
        return done.stdout

    def update(self) -> None:
        """Fetch the package lists of sid and experimental."""
        self.run("apt-get", "update", "-q")

    def versions(self, packages: Sequence[str]) -> dict[str, str]:
        """The version apt would pick for each package; missing ones raise."""
        found: dict[str, str] = {}
        name = ""
        for line in self.run("apt-cache", "policy", *packages).splitlines():
            if line and not line.startswith(" "):
                name = line.rstrip(":")
            elif line.strip().startswith("Candidate:") and "(none)" not in line:
                found[name] = line.split(":", 1)[1].strip()
        missing = [package for package in packages if package not in found]
        if missing:
            raise FetchError(
                f"the archive has no package {', '.join(missing)}. Debian may have moved to another LLVM or ROCm "
                "version: change the package names at the top of this script"
            )
        return found

    def libraries_of(self, packages: Sequence[str]) -> list[str]:
        """Shared-library packages the given programs need, transitively (no -dev, no data)."""
        flags = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
        listed = self.run("apt-cache", "depends", *flags, *packages)
        todo, seen = _dependency_names(listed), set(packages)
        while todo:
            fresh = sorted(name for name in set(todo) if name not in seen and _is_library(name))
            seen.update(fresh)
            todo = _dependency_names(self.run("apt-cache", "depends", *flags, *fresh)) if fresh else []
        return sorted(seen - set(packages))


def _dependency_names(listing: str) -> list[str]:
    return re.findall(r"^\s+\|?(?:Pre)?Depends: ([a-z0-9.+-]+)$", listing, re.MULTILINE)


def _is_library(name: str) -> bool:
    if name.endswith("-dev") or name.startswith(("libclang1-", "libobjc", "libasan", "libtsan")):
        return False
    return name.startswith("lib") or name == "zlib1g"


def require_programs() -> None:
    """Stop with a clear message where apt or dpkg are missing."""
    missing = [name for name in ("apt-get", "apt-cache", "dpkg") if shutil.which(name) is None]
    if missing:
        raise FetchError(
            f"{', '.join(missing)} not found. This script needs a Debian machine or container (no root); "
            "elsewhere install ROCm, or use the pip-only toolchain: pip install '.[toolchain]'"
        )


def read_stamp(destination: Path) -> dict[str, str]:
    """Packages already unpacked, with their versions; a damaged stamp counts as nothing unpacked."""
    try:
        loaded = json.loads((destination / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in loaded.items()} if isinstance(loaded, dict) else {}


def write_stamp(destination: Path, unpacked: dict[str, str]) -> None:
    """Record what is unpacked, atomically, so that an interrupted run can go on."""
    part = destination / f"{STAMP}.part"
    part.write_text(json.dumps(unpacked, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(destination / STAMP)


def is_elf(path: Path) -> bool:
    """Whether the file is an ELF program."""
    with path.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def link(path: Path, to: Path) -> None:
    """Make `path` a relative symbolic link to `to`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    path.symlink_to(os.path.relpath(to, path.parent), target_is_directory=to.is_dir())


def write_programs(root: Path) -> int:
    """Fill DEST/bin with a script per unpacked program; returns how many."""
    loaders = sorted((root / "usr").glob("lib*/ld-linux*.so*")) + sorted((root / "usr/lib").glob("*/ld-linux*.so*"))
    sources = sorted((root / f"usr/lib/llvm-{LLVM}/bin").glob("*"))
    sources += [p for name in ("hipcc", "hipconfig", "hipify-perl") if (p := root / "usr/bin" / name).exists()]
    if not sources:
        return 0
    if not loaders:
        raise FetchError(
            f"no C library loader under {root}/usr: the libc6 package was not unpacked; run again with --update"
        )
    loader = loaders[0].relative_to(root)
    triple = next((root / "usr/lib").glob("*-linux-gnu")).relative_to(root)
    bin_dir = root / "bin"
    bin_dir.mkdir(exist_ok=True)
    for source in sources:
        place = bin_dir / source.name
        place.unlink(missing_ok=True)
        if not source.exists():
            continue
        if not is_elf(source):
            link(place, source)
            continue
        clang_like = re.match(r"clang(\+\+|-cpp|-cl|-\d+)?$", source.name)
        setup = CLANG_SETUP if clang_like else HIPCC_SETUP if source.name.startswith("hip") else ""
        if source.name == "clang-linker-wrapper":
            setup = LINKER_SETUP
        place.write_text(
            WRAPPER.format(program=source.relative_to(root), loader=loader, libraries=triple, setup=setup),
            encoding="utf-8",
        )
        place.chmod(0o755)
    return len(sources)


def lay_out(root: Path) -> None:
    """Give the unpacked tree the shape of a ROCm root: bin, include, lib, amdgcn/bitcode, lib/llvm."""
    write_programs(root)
    if (root / "usr/include").is_dir():
        link(root / "include", root / "usr/include")
    llvm = root / f"usr/lib/llvm-{LLVM}"
    if llvm.is_dir():
        link(root / "lib/clang", llvm / "lib/clang")
        link(root / "lib/llvm/lib", llvm / "lib")
        link(root / "lib/llvm/bin", root / "bin")
    ocml = sorted((root / "usr").rglob("ocml.bc"))
    if ocml:
        link(root / "amdgcn/bitcode", ocml[0].parent)
    versions = sorted((root / "usr").rglob("share/hip/version"))
    if versions:
        link(root / "share/hip/version", versions[0])


def check(root: Path, wanted: Iterable[str]) -> list[str]:
    """What the unpacked tree cannot do although it should; empty when all is well."""
    faults: list[str] = []
    names = set(wanted)
    if f"clang-{LLVM}" in names:
        for tool in ("clang++", "ld.lld", "llvm-objdump", "llvm-readelf"):
            try:
                subprocess.run([str(root / "bin" / tool), "--version"], capture_output=True, text=True, check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                faults.append(f"bin/{tool} does not start: {getattr(error, 'stderr', None) or error}")
    for package, file in (
        ("libamdhip64-dev", "include/hip/hip_runtime.h"),
        (f"rocm-device-libs-{LLVM}", "amdgcn/bitcode/ocml.bc"),
    ):
        if package in names and not (root / file).exists():
            faults.append(f"{file} is missing")
    return faults


def fetch(destination: Path, packages: Sequence[str], *, update: bool, keep_debs: bool) -> None:
    """Download and unpack the packages that are not there yet."""
    unpacked = read_stamp(destination)
    if not update and all(package in unpacked for package in packages) and not check(destination, packages):
        say(f"{destination}: {len(unpacked)} packages are there already (use --update to look for newer ones)")
        return
    require_programs()
    destination.mkdir(parents=True, exist_ok=True)
    work = destination / ".fetch"
    apt = PrivateApt(work, machine_source())
    say("reading the package lists of sid and experimental")
    apt.update()
    programs = [package for package in packages if package in NEEDS_LIBRARIES]
    wanted = apt.versions([*packages, *(apt.libraries_of(programs) if programs else [])])
    missing = {name: version for name, version in wanted.items() if unpacked.get(name) != version}
    debs = work / "debs"
    debs.mkdir(exist_ok=True)
    say(f"downloading {len(missing)} of {len(wanted)} packages")
    if missing:
        apt.run("apt-get", "download", "-q", *(f"{name}={version}" for name, version in missing.items()), cwd=debs)
    for name, version in missing.items():
        escaped = version.replace(":", "%3a")
        deb = next((p for p in debs.glob(f"{name}_*.deb") if escaped in p.name), None)
        if deb is None:
            raise FetchError(f"apt-get download left no file for {name} {version} in {debs}")
        done = subprocess.run(["dpkg", "-x", str(deb), str(destination)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            deb.unlink()
            raise FetchError(f"dpkg -x {deb.name} failed: {done.stderr.strip()}; run again to download it anew")
        unpacked[name] = version
        write_stamp(destination, unpacked)
    lay_out(destination)
    faults = check(destination, packages)
    if faults:
        raise FetchError("unpacked, but: " + "; ".join(faults))
    if not keep_debs:
        shutil.rmtree(work)
    say(f"{destination}: {len(unpacked)} packages unpacked; use it with KPT_ROCM_ROOT={destination}")


def say(text: str) -> None:
    """Progress goes to standard error."""
    print(text, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line entry; 0 when the tree is complete, 2 when it cannot be made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "destination", type=Path, nargs="?", default=Path(".rocm"), help="directory to fill (default .rocm)"
    )
    parser.add_argument(
        "--set", dest="chosen", choices=sorted(SETS), default="all", help="which packages (default all)"
    )
    parser.add_argument("--update", action="store_true", help="look for newer packages even when all are there")
    parser.add_argument("--keep-debs", action="store_true", help="keep the downloaded packages in DEST/.fetch")
    args = parser.parse_args(argv)
    try:
        fetch(args.destination.absolute(), SETS[args.chosen], update=args.update, keep_debs=args.keep_debs)
    except (FetchError, OSError) as error:
        print(f"fetch_rocm_debian: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fetch_rocm_debian: interrupted; run it again to go on", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
