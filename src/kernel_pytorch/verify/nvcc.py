"""The NVIDIA path as nvcc itself sees it: preprocessed source and PTX of both sides of a change.

Stronger than folding where it runs, because it is the compiler that decides; narrower, because it sees one version of
CUDA, one target and one set of flags. A file that nvcc does not take on the old side was not compared, and is reported
so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.port.cxx.includes import USUAL
from kernel_pytorch.verify.isolation.cxx import SUFFIXES
from kernel_pytorch.verify.isolation.cxx_tokens import CxxToken, read_items
from kernel_pytorch.verify.isolation.trees import Tree

NAME = "nvcc"
TIMEOUT_S = 600
_MARKER = re.compile(rb'^[ \t]*#[ \t]*(?:line[ \t]+)?\d+[ \t]+"[^\n]*\n', re.MULTILINE)
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
# Names of what is local to a file hold a hash of its path and text: `_GLOBAL__N__64210ce6_4_a_cu_...`.
_FILE_HASH = re.compile(rb"(?<=_)[0-9a-f]{8}(?=_\d+_\w*?_cu_)|(?<=_cu_)[0-9a-f]{8}(?![0-9a-f])")
_PTX_NOISE = re.compile(rb"//[^\n]*|^\s*\.(?:file|loc)\b[^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class _Side:
    root: Path
    nvcc: str
    flags: tuple[str, ...]

    def run(self, path: str, *mode: str) -> tuple[bytes | None, str]:
        """What nvcc prints for a file, or None and the compiler's own first words."""
        # The same relative name on both sides: __FILE__ and error texts must not tell them apart.
        command = [self.nvcc, *mode, *self.flags, path, "-o", "-"]
        if "-ptx" in mode:
            command[-1] = f"{path}.kpt.{'-'.join(mode).strip('-')}"
        try:
            done = subprocess.run(command, cwd=self.root, capture_output=True, check=False, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return None, f"nvcc took longer than {TIMEOUT_S} s"
        except OSError as error:
            return None, f"{self.nvcc} cannot be started ({error.strerror})"
        if done.returncode:
            return None, _first_error(done.stderr)
        return ((self.root / command[-1]).read_bytes() if "-ptx" in mode else done.stdout), ""


def compare_with_nvcc(old: Tree, new: Tree, nvcc: str | None = None, flags: Sequence[str] = ()) -> list[CheckResult]:
    """Preprocessed source and PTX of every .cu file that changed, itself or through what it includes."""
    found = nvcc or shutil.which("nvcc")
    if found is None:
        return [CheckResult(NAME, Status.NOT_RUN, "there is no nvcc on the PATH: nothing was compared with it")]
    paths = changed_units(old, new)
    if not paths:
        return [CheckResult(NAME, Status.NOT_RUN, "no .cu file of both sides changed: there is nothing to compare")]
    with tempfile.TemporaryDirectory(prefix="kpt-nvcc-") as scratch:
        sides = []
        for name, tree in (("old", old), ("new", new)):
            root = Path(scratch) / name
            _lay_out(tree, root)
            folders = [folder for folder in USUAL if (root / folder).is_dir()]
            sides.append(_Side(root, found, (*(f"-I{folder}" for folder in folders), *flags)))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            done = pool.map(lambda path: (_preprocessed(path, *sides), _ptx(path, *sides)), paths)
            return [check for pair in done for check in pair]


def changed_units(old: Tree, new: Tree) -> list[str]:
    """The .cu files on both sides that differ, or that include, at any depth, a file that does."""
    before, after = _sources(old), _sources(new)
    changed = {path for path in before & after if old.identity(path) != new.identity(path)} | (before ^ after)
    if not changed:
        return []
    included: dict[str, set[str]] = {}
    for tree, paths in ((old, before), (new, after)):
        for path in paths:
            names = {PurePosixPath(name.decode("utf-8", "replace")).name for name in _INCLUDE.findall(tree.read(path))}
            included.setdefault(path, set()).update(names)
    touched, grown = changed, True
    while grown:
        names = {PurePosixPath(path).name for path in touched}
        more = {path for path, uses in included.items() if uses & names} - touched
        touched, grown = touched | more, bool(more)
    return sorted(path for path in touched & before & after if path.endswith(".cu"))


def _sources(tree: Tree) -> frozenset[str]:
    return frozenset(path for path in tree.paths() if PurePosixPath(path).suffix in SUFFIXES)


def _lay_out(tree: Tree, root: Path) -> None:
    for path in _sources(tree):
        destination = root / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_bytes(tree.read(path))


def _preprocessed(path: str, old: _Side, new: _Side) -> CheckResult:
    check = f"{NAME} -E {path}"
    for name, undefined in (("device", ()), ("host", ("-U__CUDA_ARCH__",))):
        # A gate above a line shifts it; what __LINE__ says is not what the program does.
        mode = ("-E", "-D__LINE__=0", *undefined)
        (before, why_old), (after, why_new) = old.run(path, *mode), new.run(path, *mode)
        if before is None:
            return CheckResult(check, Status.NOT_RUN, f"nvcc does not take the old file: {why_old}")
        if after is None:
            return CheckResult(check, Status.FAIL, f"nvcc took the old file and does not take the new one: {why_new}")
        place = _difference(before, after)
        if place is not None:
            return CheckResult(check, Status.FAIL, f"the preprocessed source of the {name} pass differs: {place}")
    return CheckResult(check, Status.PASS, "the preprocessed source is the same, device and host pass")


def _ptx(path: str, old: _Side, new: _Side) -> CheckResult:
    check = f"{NAME} -ptx {path}"
    (before, why_old), (after, why_new) = old.run(path, "-ptx"), new.run(path, "-ptx")
    if before is None:
        return CheckResult(check, Status.NOT_RUN, f"nvcc does not take the old file: {why_old}")
    if after is None:
        return CheckResult(check, Status.FAIL, f"nvcc took the old file and does not take the new one: {why_new}")
    place = _first_difference(_ptx_lines(before), _ptx_lines(after))
    if place is None:
        return CheckResult(check, Status.PASS, "the PTX is the same")
    # assert() writes its line number into the code, and a gate above it shifts that.
    quiet = [side.run(path, "-ptx", "-DNDEBUG")[0] for side in (old, new)]
    if quiet[0] is not None and quiet[1] is not None and _ptx_lines(quiet[0]) == _ptx_lines(quiet[1]):
        detail = f"the PTX is the same with NDEBUG only: asserts differ, as their line numbers do ({place})"
        return CheckResult(check, Status.WARN, detail)
    return CheckResult(check, Status.FAIL, f"the PTX differs: {place}")


def _difference(before: bytes, after: bytes) -> str | None:
    """The first difference in tokens. Lines that are equal at both ends are not taken apart: they are a megabyte."""
    old, new = (
        [line for line in _MARKER.sub(b"", text).splitlines(keepends=True) if line.strip()] for text in (before, after)
    )
    if old == new:
        return None
    # A raw string may span lines, and white space in it counts: a cut inside one would hide that.
    if b'R"' not in before and b'R"' not in after:
        same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        old, new = old[same:], new[same:]
        while old and new and old[-1] == new[-1]:
            old.pop()
            new.pop()
    return _first_difference(_tokens(b"".join(old)), _tokens(b"".join(new)))


def _tokens(source: bytes) -> list[bytes]:
    words: list[bytes] = []
    for item in read_items(source):
        if isinstance(item, CxxToken):
            words.append(item.text)
        else:
            words.append(b" ".join((b"#" + item.name, *(token.text for token in item.tokens))))
    return words


def _ptx_lines(ptx: bytes) -> list[bytes]:
    lines = _FILE_HASH.sub(b"00000000", _PTX_NOISE.sub(b"", ptx)).splitlines()
    return [line.strip() for line in lines if line.strip()]


def _first_difference(before: Sequence[bytes], after: Sequence[bytes]) -> str | None:
    at = next((i for i, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), None)
    if at is None:
        if len(before) == len(after):
            return None
        at = min(len(before), len(after))
    return f"`{_shown(before[at : at + 8])}` became `{_shown(after[at : at + 8])}`"


def _shown(pieces: Iterable[bytes]) -> str:
    text = b" ".join(pieces).decode("utf-8", "replace")
    return (text if len(text) <= 80 else text[:77] + "...") or "(nothing)"


def _first_error(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "it gave no reason")
