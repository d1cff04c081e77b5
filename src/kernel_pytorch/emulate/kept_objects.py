"""What a compiler made of the same files before: an extension is built again for each GPU, before a port and after it.

A compilation is the same if the compiler, its words, the folder it runs in, the source and every header that it read
last time are the same, byte for byte, and if no header has come into a folder of the project.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.emulate.extension_headers import include_folders, own_folders
from kernel_pytorch.toolchain.cache import KernelCache

_ENTRIES = 4000
_VARIANTS = 4  # of one source with other headers: before a port and after it
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc")


@dataclass(frozen=True)
class Compilation:
    """One call of a compiler. `identity` says which compiler it is, and for what it makes code."""

    identity: str
    words: tuple[str, ...]
    source: Path

    def key(self) -> str:
        """A hash of all but the headers."""
        own = own_folders(self.words)
        found = (
            self.identity,
            str(Path.cwd()),
            *self.words,
            *(str(folder.resolve()) for folder in include_folders(self.words)),
            *(str(header) for folder in (*own, self.source.parent) for header in _headers(folder)),
            hashlib.sha256(self.source.read_bytes()).hexdigest(),
        )
        return hashlib.sha256("\0".join(found).encode(errors="surrogateescape")).hexdigest()


class KeptObjects:
    """Results of compilations, on disk. Each result is some byte strings."""

    def __init__(self, cache: KernelCache | None = None) -> None:
        self._cache = cache or KernelCache(default_cache(), _ENTRIES, kind="objects")

    def get(self, compilation: Compilation) -> list[bytes] | None:
        """What was made, if nothing has changed since."""
        key = compilation.key()
        for files in self._variants(key):
            if all(_digest(Path(path)) == digest for path, digest in files.items()):
                stored = self._cache.get(_result(key, files))
                return None if stored is None else _unpacked(stored)
        return None

    def put(self, compilation: Compilation, read: Iterable[Path], made: Sequence[bytes]) -> None:
        """Keep what was made out of the source and the headers that were `read`."""
        key = compilation.key()
        files = {str(path): _digest(path) for path in sorted(set(read))}
        if self._cache.put(_result(key, files), _packed(made)):
            variants = [files, *(one for one in self._variants(key) if one != files)][:_VARIANTS]
            self._cache.put(key, zlib.compress(json.dumps(variants).encode(), 1))

    def _variants(self, key: str) -> list[dict[str, str]]:
        stored = self._cache.get(key)
        return json.loads(zlib.decompress(stored)) if stored is not None else []


def files_read(dependencies: str) -> list[Path]:
    """The files that a compiler's dependency file (-MMD -MF) names, without its target."""
    joined = dependencies.replace("\\\n", " ").partition(": ")[2]
    names = joined.replace("\\ ", "\0").split()
    # A precompiled file stands for headers in folders whose places name their version.
    return [Path.cwd() / name.replace("\0", " ") for name in names if not name.endswith(".pch")]


def _headers(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.suffix in _HEADERS)
    except OSError:
        return []


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _result(key: str, files: dict[str, str]) -> str:
    return hashlib.sha256(f"{key}{json.dumps(files, sort_keys=True)}".encode()).hexdigest()


def _packed(parts: Sequence[bytes]) -> bytes:
    sizes = json.dumps([len(part) for part in parts]).encode()
    return sizes + b"\n" + zlib.compress(b"".join(parts), 1)


def _unpacked(stored: bytes) -> list[bytes]:
    sizes, _, rest = stored.partition(b"\n")
    whole, parts, at = zlib.decompress(rest), [], 0
    for size in json.loads(sizes):
        parts.append(whole[at : at + size])
        at += size
    return parts
