"""torch's headers, parsed once for all sources of the extensions that are built for an emulated GPU.

A source that begins with torch/extension.h spends most of its build in torch's headers, in the device pass and in the
host pass. Read back from a precompiled file they take a fraction of that. What is compiled does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kernel_pytorch.toolchain.leading_headers import leading_headers, shared_headers
from kernel_pytorch.toolchain.precompiled import LeadingHeaders, PrecompiledHeaders

# Of these one is in every folder that is not of the project: torch's two, HIP's, Python's.
_OF_OTHERS = ("torch/extension.h", "torch/all.h", "hip/hip_runtime.h", "Python.h")
# What a compiler reads before a source: the headers would not come first.
_READ_BEFORE = frozenset({"-include", "-imacros", "-include-pch", "-Xclang"})


def include_folders(words: Sequence[str]) -> Iterator[Path]:
    """The -I and -isystem folders of a command line, in their order."""
    rest = iter(words)
    for word in rest:
        if word.startswith("-I") or word == "-isystem":
            yield Path((word[2:] if word.startswith("-I") else "") or next(rest, ""))


def own_folders(words: Sequence[str]) -> tuple[Path, ...]:
    """Those of them that are the project's."""
    return tuple(one for one in include_folders(words) if not any((one / name).is_file() for name in _OF_OTHERS))


def torch_headers_of(source: Path, words: Sequence[str]) -> LeadingHeaders | None:
    """How the headers of torch that a source begins with are read; None: they must be parsed.

    Where a folder of others is named from where the compiler runs, it may be another one for the next source: nothing
    is shared then.
    """
    own = own_folders(words)
    others = [one for one in include_folders(words) if one not in own]
    if not _READ_BEFORE.isdisjoint(words) or not all(one.is_absolute() for one in others):
        return None
    shared = shared_headers({"": leading_headers(source, own)})
    return LeadingHeaders(shared[""], PrecompiledHeaders(), own) if shared else None
