"""What became of a source the last time, for as long as nothing that it is made of changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.port.cxx.includes import includes_of, resolve_include
from kernel_pytorch.toolchain.cache import KernelCache
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.diagnostics import parse_messages
from kernel_pytorch.toolchain.find import Toolchain

_TOP = "{project}"  # stands for the scratch folder, which has another name each time
_ENTRIES = 20_000
_MADE, _FAILED = b"+", b"-"


class UnitMemory:
    """Outcomes of passes by what they depend on: the files a source reaches, the options, the toolchain.

    `settled` are folders whose files change only with the version given for them. They are not read: torch's headers
    are thousands, and every source reaches them.
    """

    def __init__(
        self,
        toolchain: Toolchain,
        top: Path,
        cache: KernelCache | None = None,
        settled: Mapping[Path, str] = MappingProxyType({}),
    ) -> None:
        self._toolchain = toolchain.fingerprint()
        self._top = str(top)
        self._settled = settled
        self._cache = cache or KernelCache(default_cache(), _ENTRIES, kind="units")

    def run(
        self, source: Path, options: CompileOptions, step: str, build: Callable[[], bytes | None]
    ) -> bytes | CompileFailed:
        """What a pass makes, or how it fails. `step` names pass and target; `build` runs it if that is not known."""
        key = self._key(source, options, step)
        stored = self._cache.get(key)
        if stored is not None:
            return stored[1:] if stored[:1] == _MADE else self._failure(stored[1:].decode())
        try:
            made = build() or b""
        except CompileFailed as failure:
            # Without errors in its output the compiler was stopped, or could not start: that may go better next time.
            if " error: " in failure.stderr:
                self._cache.put(key, _FAILED + failure.stderr.replace(self._top, _TOP).encode(errors="replace"))
            return failure
        self._cache.put(key, _MADE + made)
        return made

    def _failure(self, stderr: str) -> CompileFailed:
        output = stderr.replace(_TOP, self._top)
        return CompileFailed(parse_messages(output), output, ())

    def _key(self, source: Path, options: CompileOptions, step: str) -> str:
        digest = hashlib.sha256()
        flags = (options.optimization, options.std, *options.defines, *options.extra, *map(str, options.include_dirs))
        versions = (f"{folder} {version}" for folder, version in self._settled.items())
        for word in (self._toolchain, step, *versions, *(flag.replace(self._top, _TOP) for flag in flags)):
            digest.update(word.encode(errors="surrogateescape") + b"\0")
        for path, data in _reached(source, options.include_dirs, tuple(self._settled)).items():
            digest.update(str(path).replace(self._top, _TOP).encode(errors="surrogateescape") + b"\0")
            digest.update(hashlib.sha256(data).digest())
        return digest.hexdigest()


def _reached(source: Path, folders: Sequence[Path], settled: tuple[Path, ...]) -> dict[Path, bytes]:
    """A source and every file it reaches through the folders, third-party ones too, but none of the settled ones."""
    seen: dict[Path, bytes] = {}
    pending = [source]
    while pending:
        path = pending.pop()
        if path in seen or any(path.is_relative_to(folder) for folder in settled):
            continue
        try:
            seen[path] = path.read_bytes()
        except OSError:
            continue
        found = (resolve_include(include, path, folders) for include in includes_of(seen[path]))
        pending += [one for one in found if one is not None and one not in seen]
    return seen
