"""Know whether the protected packages are still the same files, and put them back if not."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.port.deps.environment import Interpreter, find_torch
from kernel_pytorch.port.deps.model import TorchBuild
from kernel_pytorch.port.deps.packages import classify

_PREFIX = ".kpt-backup-"
# Files named so are copied: they are small, they say which build this is, and a copy survives even a write in place.
_COPIED = frozenset({"version.py", "METADATA", "RECORD", "INSTALLER", "WHEEL"})


@dataclass(frozen=True)
class Identity:
    """The protected packages at one moment: torch's build, and size and time of every protected file."""

    torch: TorchBuild | None
    versions: tuple[tuple[str, str], ...]
    files: dict[str, tuple[int, int]]

    def difference(self, other: Identity) -> str:
        """What is different in `other`, in words; "" if nothing is."""
        if self.torch != other.torch:
            return f"torch was {_build(self.torch)} and is now {_build(other.torch)}"
        if self.versions != other.versions:
            changed = sorted(set(self.versions) ^ set(other.versions))
            return "protected packages changed: " + ", ".join(f"{name} {version}" for name, version in changed)
        for path in sorted(self.files.keys() | other.files.keys()):
            if self.files.get(path) != other.files.get(path):
                return f"a file of a protected package changed: {path}"
        return ""


def _build(torch: TorchBuild | None) -> str:
    if torch is None:
        return "missing"
    kind = f"HIP {torch.hip}" if torch.hip else f"CUDA {torch.cuda}" if torch.cuda else "CPU"
    return f"{torch.version} ({kind})"


def protected_distributions(interpreter: Interpreter) -> dict[str, Distribution]:
    """Installed packages that nothing may replace."""
    found = {}
    for name, distribution in interpreter.distributions().items():
        row = classify(name)
        if row is not None and row.action == "protected":
            found[name] = distribution
    return found


def files_of(distribution: Distribution) -> list[Path]:
    """Every file a distribution owns, by its RECORD; compiled caches left out, they come and go."""
    paths = []
    for entry in distribution.files or []:
        if entry.suffix != ".pyc":
            paths.append(Path(os.path.normpath(str(distribution.locate_file(entry)))))
    return paths


def identify(interpreter: Interpreter) -> Identity:
    """The present identity of the protected packages."""
    distributions = protected_distributions(interpreter)
    files: dict[str, tuple[int, int]] = {}
    for distribution in distributions.values():
        for path in files_of(distribution):
            try:
                state = path.stat()
            except OSError:
                continue
            files[str(path)] = (state.st_size, state.st_mtime_ns)
    versions = tuple(sorted((name, distribution.version) for name, distribution in distributions.items()))
    return Identity(find_torch(interpreter), versions, files)


class Backup:
    """Copies of a set of files, made as hard links where the file system allows, and the way back."""

    def __init__(self, paths: list[Path], near: Path) -> None:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=near))
        except OSError as error:
            reason = f"cannot write there ({error.strerror}); use an environment of your own"
            raise UsageError(f"{near}: {reason}") from error
        self.saved: dict[Path, Path] = {}
        for number, path in enumerate(path for path in paths if path.is_file()):
            copy = self.folder / str(number)
            _link_or_copy(path, copy)
            self.saved[path] = copy
        index = {str(copy.name): str(path) for path, copy in self.saved.items()}
        (self.folder / "index.json").write_text(json.dumps(index), encoding="utf-8")

    def restore(self) -> list[Path]:
        """Put back every saved file that is missing or different; returns those put back."""
        restored = []
        for path, copy in self.saved.items():
            if not _same_file(path, copy):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                _link_or_copy(copy, path)
                restored.append(path)
        return restored

    def discard(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _link_or_copy(path: Path, copy: Path) -> None:
    if not {path.name, copy.name} & _COPIED:
        try:
            os.link(path, copy)
            return
        except OSError:
            pass  # Another file system, or one without hard links.
    shutil.copy2(path, copy)


def _same_file(path: Path, copy: Path) -> bool:
    try:
        one, two = path.stat(), copy.stat()
    except OSError:
        return False
    if (one.st_ino, one.st_dev) == (two.st_ino, two.st_dev):
        return True
    return (one.st_size, one.st_mtime_ns) == (two.st_size, two.st_mtime_ns)


def refuse_leftover(interpreter: Interpreter) -> None:
    """An interrupted run leaves its copies behind: they may be the only good torch, so say where they are."""
    leftovers = sorted(interpreter.purelib.glob(_PREFIX + "*"))
    if leftovers:
        raise UsageError(
            f"{leftovers[0]}: copies of protected packages from an interrupted run; check that torch is as it "
            "should be (index.json there maps copies to their places), then remove that folder and run again"
        )
