"""Headers that git ignores and sources include: the project's build has made them here (`caffe.pb.h`, `config.h`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kernel_pytorch.port.cxx.includes import IncludeSearch, is_third_party, read_includes
from kernel_pytorch.port.discover import Project


def ignored_headers(project: Project, folders: Sequence[Path]) -> Iterator[Path]:
    """Every file of the project that its sources reach and that is not listed, links followed.

    `folders` are where includes are looked up. Somebody else's code in the project is looked for where it is.
    """
    top = project.root.resolve()
    listed = frozenset(project.of("cuda", "c++"))
    search = IncludeSearch(folders)
    pending = [project.root / path for path in listed]
    seen: set[Path] = set()
    while pending:
        path = pending.pop()
        for include in read_includes(path):
            found = search.resolved(include, path)
            if found is None or found in seen or not found.is_relative_to(top):
                continue
            seen.add(found)
            name = found.relative_to(top)
            if name.as_posix() not in listed and not is_third_party(name):
                pending.append(found)
                yield found
