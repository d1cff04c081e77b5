"""Two trees, file by file: is the NVIDIA path the same?"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath

from kernel_pytorch.verify.isolation.cmake import compare_cmake
from kernel_pytorch.verify.isolation.cxx import SUFFIXES as CXX_SUFFIXES
from kernel_pytorch.verify.isolation.cxx import compare_cxx, fold_source
from kernel_pytorch.verify.isolation.pyproject import compare_pyproject
from kernel_pytorch.verify.isolation.python_fold import UNREADABLE, fold_module
from kernel_pytorch.verify.isolation.python_source import compare_python
from kernel_pytorch.verify.isolation.rocm_only import (
    changed_functions,
    is_named_for_rocm,
    unreached_functions,
    who_reaches,
)
from kernel_pytorch.verify.isolation.shadowing import Before, whose_place_it_takes
from kernel_pytorch.verify.isolation.trees import FolderTree, Tree, read_through_links
from kernel_pytorch.verify.isolation.verdict import FileVerdict, Isolation, IsolationReport

_PROSE = frozenset({".md", ".rst", ".adoc"})
_PROSE_NAMES = frozenset({"CHANGELOG", "AUTHORS", "CONTRIBUTORS", "LICENSE", "README"})


def _same_submodule_files(old: Tree, new: Tree, added: frozenset[str]) -> frozenset[str]:
    """Files that are no news: git lists a submodule of the old folder as one entry, and its files lie there as well."""
    if not isinstance(old, FolderTree):
        return frozenset()
    there = (path for path in added if (old.root / path).is_file())
    return frozenset(path for path in there if old.identity(path) == new.identity(path))


def _copied_folders(old: Tree, new: Tree, before: frozenset[str], after: frozenset[str]) -> frozenset[str]:
    """Links to a folder that are that folder's files on the other side: the links, and the files that are the same."""
    same: set[str] = set()
    for path in sorted(before - after):
        target = old.link(path)
        inside = [name for name in after - before if name.startswith(f"{path}/")] if target is not None else []
        if target is None or not inside:
            continue
        home = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        origin = {name: f"{home}/{name.removeprefix(f'{path}/')}" for name in inside}
        if all(there in before and old.identity(there) == new.identity(name) for name, there in origin.items()):
            same |= {path, *inside}
    return frozenset(same)


def compare_trees(old: Tree, new: Tree) -> IsolationReport:
    """The verdict on every file that is not byte for byte the same on both sides."""
    before, after = old.paths(), new.paths()
    after -= _same_submodule_files(old, new, after - before)
    same = _copied_folders(old, new, before, after)
    before, after = before - same, after - same
    verdicts: list[FileVerdict] = []
    identical = 0
    own = _own_packages(before & after)
    changed: dict[str, bytes] = {}
    for path in sorted(before & after):
        if old.identity(path) == new.identity(path):
            identical += 1
            continue
        # A copy may hold a file where the original has a link to one: what is read is compared, not how it is kept.
        is_link = old.link(path) is not None or new.link(path) is not None
        before_text = read_through_links(old, path) if is_link else old.read(path)
        changed[path] = read_through_links(new, path) if is_link else new.read(path)
        if is_link and before_text == changed[path]:
            identical += 1
            del changed[path]
            continue
        verdicts.append(compare_file(path, before_text, changed[path], own))
    verdicts += [FileVerdict(path, Isolation.CHANGED, "the file is gone") for path in sorted(before - after)]
    verdicts = [_excused(item, old if item.path not in after else new) for item in verdicts]
    verdicts = [_without_rocm_functions(item, old, new, own) if item.path in changed else item for item in verdicts]
    added = {path: new.read(path) for path in sorted(after - before)}
    reached = _names_on_nvidia_path({**changed, **added})
    unproven = {item.path: changed[item.path] for item in verdicts if item.path in changed and not item.is_proven}
    news = {**added, **unproven}
    there = Before(old, before, before & after - changed.keys(), cache(old.mentioning))
    new_files = (_taking_no_place(_new_file(path, reached), there) for path in added)
    verdicts += [_excused(_out_of_search(item, old, news), new) for item in new_files]
    return IsolationReport(tuple(verdicts), identical)


def _own_packages(paths: frozenset[str]) -> frozenset[str]:
    """The project's packages: folders with an __init__.py at the root or in src."""
    parts = (PurePosixPath(path.removeprefix("src/")).parts for path in paths if path.endswith("/__init__.py"))
    return frozenset(names[0] for names in parts if len(names) == 2)


def compare_file(path: str, old: bytes, new: bytes, own: frozenset[str] = frozenset()) -> FileVerdict:
    """The verdict on one file that both sides have, by its kind. `own` are the project's own Python packages.

    A file that the check itself fails on is not proven: that is no reason to fail on the others.
    """
    try:
        return _by_kind(path, old, new, own)
    except RecursionError:
        return FileVerdict(path, Isolation.NOT_PROVEN, "nested too deeply to compare")
    except Exception as problem:
        what = f"{type(problem).__name__}: {problem}"
        return FileVerdict(path, Isolation.NOT_PROVEN, f"the check failed on it (a fault of kpt: {what})")


def _by_kind(path: str, old: bytes, new: bytes, own: frozenset[str]) -> FileVerdict:
    name = PurePosixPath(path)
    if name.suffix in (".py", ".pyi"):
        return compare_python(path, old, new, own)
    if name.suffix in CXX_SUFFIXES:
        return compare_cxx(path, old, new)
    if name.name == "CMakeLists.txt" or name.suffix == ".cmake":
        return compare_cmake(path, old, new)
    if name.name == "pyproject.toml":
        return compare_pyproject(path, old, new)
    if _is_prose(name):
        return FileVerdict(path, Isolation.PROVEN, "documentation: no program reads it")
    return FileVerdict(path, Isolation.CHANGED, "this kind of file is not folded: only identical bytes are a proof")


def _excused(item: FileVerdict, tree: Tree) -> FileVerdict:
    """A change in a file that only ROCm loads is no change on the NVIDIA path."""
    if item.verdict is Isolation.PROVEN or not is_named_for_rocm(item.path):
        return item
    reacher = who_reaches(item.path, tree)
    if reacher is not None:
        return item
    reason = f"only ROCm loads it ({item.reason})"
    taken = ("it is not loaded by a name put together at run time",)
    return FileVerdict(item.path, Isolation.PROVEN, reason, item.line, item.old_line, taken)


def _without_rocm_functions(item: FileVerdict, old: Tree, new: Tree, own: frozenset[str]) -> FileVerdict:
    """A change inside functions of a shared file that are ROCm's own, where nothing on the NVIDIA path names them."""
    if item.verdict in (Isolation.PROVEN, Isolation.IDENTICAL) or not item.path.endswith(".py"):
        return item
    before, after = old.read(item.path), new.read(item.path)
    names = changed_functions(before, after)
    try:
        # The question that costs nothing comes first: would it help?
        if not names or compare_python(item.path, before, after, own, names).verdict is not Isolation.PROVEN:
            return item
        names = unreached_functions(item.path, after, new, names)
        names = unreached_functions(item.path, before, old, names) if names else names
        again = compare_python(item.path, before, after, own, names)
    except UNREADABLE:
        return item
    if again.verdict is not Isolation.PROVEN:
        return item
    taken = f"{', '.join(sorted(names))}: not called by a name put together at run time"
    return FileVerdict(item.path, Isolation.PROVEN, again.reason, assumptions=(*again.assumptions, taken))


def _is_prose(name: PurePosixPath) -> bool:
    return name.suffix in _PROSE or (name.suffix in ("", ".txt") and name.stem.upper() in _PROSE_NAMES)


def _new_file(path: str, reached: dict[str, str]) -> FileVerdict:
    name = PurePosixPath(path)
    if _is_prose(name):
        return FileVerdict(path, Isolation.PROVEN, "new documentation: no program reads it")
    keys = {name.name, name.stem} if name.suffix == ".py" and name.stem != "__init__" else {name.name}
    if name.name == "__init__.py":
        keys = {name.parent.name}
    for key in sorted(keys):
        if key in reached and reached[key] != path:
            return FileVerdict(path, Isolation.NOT_PROVEN, f"new, and named on the NVIDIA path of {reached[key]}")
    return FileVerdict(path, Isolation.PROVEN, "new, and nothing on the NVIDIA path names it")


def _taking_no_place(item: FileVerdict, before: Before) -> FileVerdict:
    """A new file that an unchanged one could find in place of what it names so far is not proven."""
    taken = whose_place_it_takes(item.path, before) if item.is_proven else None
    if taken is None:
        return item
    return FileVerdict(item.path, Isolation.NOT_PROVEN, f"new, and could take the place of another: {taken}")


def _out_of_search(item: FileVerdict, old: Tree, news: Mapping[str, bytes]) -> FileVerdict:
    """A new header with the name of one that is included, in a new folder that no compiler is told to search.

    `news` are the files that are new, and those that changed and are not proven: the others name what they named.
    """
    if item.is_proven or PurePosixPath(item.path).suffix not in CXX_SUFFIXES:
        return item
    before = old.paths()
    parents = [parent.as_posix() for parent in reversed(PurePosixPath(item.path).parents)][1:]
    folder = next((one for one in parents if not any(path.startswith(f"{one}/") for path in before)), None)
    if folder is None:
        return item
    name = re.compile(rb"(?<![\w-])" + re.escape(PurePosixPath(folder).name.encode()) + rb"(?![\w-])")
    outside = (data for path, data in news.items() if not path.startswith(f"{folder}/"))
    if any(map(name.search, outside)) or any(name.search(old.read(path)) for path in before):
        return item
    taken = f"no pattern makes {folder} a folder that a compiler searches"
    reason = f"new, in the folder {folder}, which nothing on the NVIDIA path names"
    return FileVerdict(item.path, Isolation.PROVEN, reason, assumptions=(taken,))


def _names_on_nvidia_path(files: dict[str, bytes]) -> dict[str, str]:
    """What changed and new files still name once folded: imported modules, included headers, words of other files.

    A file that is the same on both sides cannot name a file that was not there before, except by a pattern, or where
    the new one takes the place of another (`shadowing`).
    """
    named: dict[str, str] = {}
    for path, data in files.items():
        for name in _named_by(path, data):
            named.setdefault(name, path)
    return named


def _named_by(path: str, data: bytes) -> set[str]:
    suffix = PurePosixPath(path).suffix
    if suffix == ".py":
        return _python_names(data)
    if suffix in CXX_SUFFIXES:
        try:
            return _included(data)
        except UNREADABLE:
            return set()
    if _is_prose(PurePosixPath(path)):
        return set()
    # A new build or deployment file speaks of what it builds; it is reached only if something names it.
    return set()


def _python_names(data: bytes) -> set[str]:
    try:
        tree = fold_module(ast.parse(data))
    except UNREADABLE:
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.rsplit(".", 1)[-1] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update((node.module or "").split(".")[-1:])
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 300:
            names.update(re.findall(r"[\w.-]+\.\w+", node.value))
    return names - {""}


def _included(data: bytes) -> set[str]:
    tokens = fold_source(data)
    names: set[str] = set()
    for index, token in enumerate(tokens):
        if token.text == b"#include":
            line = b""
            for follower in tokens[index + 1 :]:
                if follower.text == b"\n":
                    break
                line += follower.text
            names.add(PurePosixPath(line.decode("utf-8", "replace").strip('"<>')).name)
    return names
