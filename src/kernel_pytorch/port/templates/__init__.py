"""Files that are copied into a ported package. They import nothing of ours, and nothing of ours imports them.

A rule writes `from ._rocm_attention import x`, as if the adapter stood beside the file; `placed` finds out where it can
stand, once per package, and makes the import reach it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.read_file import read_if_there

ADAPTERS = {
    f"_rocm_{name}": f"rocm_{name}.py" for name in ("attention", "fp8", "graph_check", "nvml", "padding", "xformers")
}
_NAMED = re.compile(
    rb"^(?P<indent>[ \t]*)from \.(?: import (?P<whole>(?:%s))\b|(?P<part>(?:%s)) import )"
    rb"(?P<rest>[^\r\n]*)(?P<end>\r?\n|\r|$)" % (("|".join(ADAPTERS).encode(),) * 2),
    re.MULTILINE,
)
_WRITTEN = b"Written by `kpt port`"
_RELATIVE = re.compile(rb"^\s*from \.+\w* import |^\s*from \.+ import ", re.MULTILINE)
_SCRIPT = re.compile(rb"\A#!|^if __name__\s*==\s*[\"']__main__[\"']|^\w[\w.]* = [^\r\n]*\.parse_args\(", re.MULTILINE)


@cache
def template(name: str) -> bytes:
    """The text of a template."""
    return files(__package__).joinpath(name).read_bytes()


def is_written_by_us(data: bytes) -> bool:
    """Whether a file is one of these, in a project ported before: it speaks of ROCm and NVIDIA, and needs no port."""
    return _WRITTEN in data[:1000]


@cache
def public_names(adapter: str) -> frozenset[str]:
    """What an adapter offers: its functions, classes and constants."""
    found = {"__version__"}
    for node in ast.parse(template(ADAPTERS[adapter])).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(name for name in found if not name.startswith("_") or name == "__version__")


@dataclass(frozen=True)
class _Reach:
    """Where an adapter stands, and what leads there: dots, a dotted package, or its plain name with neither."""

    home: PurePosixPath
    dots: int = 0
    package: str = ""
    also_plain: bool = False  # the file is imported from its package and run as a script: either way must work


def placed(root: Path, patches: Sequence[Patch], modules: Iterable[str] = ()) -> list[Patch]:
    """The patches with their adapters' imports made to reach, and the adapters as new files.

    In a package the adapter stands at its top; beside a script it stands beside it and is imported by its plain name.
    `modules` are the project's Python files: a folder without __init__.py that they import from is a package too.
    """
    listed = tuple(modules)
    done: list[Patch] = []
    new: dict[str, Patch] = {}
    for patch in patches:
        if patch.before is None or not _NAMED.search(patch.after):
            done.append(patch)
            continue
        reach = _reach(root, patch, listed)
        for match in _NAMED.finditer(patch.after):
            name = (match["whole"] or match["part"]).decode()
            path = (reach.home / f"{name}.py").as_posix()
            before = read_if_there(root / path, root)
            new[path] = Patch(path, before, template(ADAPTERS[name]), patch.codes)
        done.append(replace(patch, after=_NAMED.sub(partial(_reaching, reach), patch.after)))
    return [*done, *(item for _, item in sorted(new.items()) if item.before != item.after)]


def _reaching(reach: _Reach, match: re.Match[bytes]) -> bytes:
    indent, end = match["indent"], match["end"]
    named = _import(match, reach.package.encode() if reach.package else b"." * reach.dots)
    if not reach.also_plain:
        return indent + named + end
    newline = end or b"\n"
    lines = (b"try:", b"    " + named, b"except ImportError:  # run as a script", b"    " + _import(match, b""))
    return newline.join(indent + line for line in lines) + end


def _import(match: re.Match[bytes], where: bytes) -> bytes:
    """The statement with the adapter looked for in a package; an empty one is the path of the interpreter."""
    rest = match["rest"]
    if match["whole"]:
        return b"from " + where + b" import " + match["whole"] + rest if where else b"import " + match["whole"] + rest
    home = where + b"." if where.strip(b".") else where
    return b"from " + home + match["part"] + b" import " + rest


def _reach(root: Path, patch: Patch, modules: tuple[str, ...]) -> _Reach:
    folder = PurePosixPath(patch.path).parent
    text = patch.before or b""
    if (root / folder / "__init__.py").is_file() and folder.name:
        home, dots = folder, 1
        while home.parent != home and (root / home.parent / "__init__.py").is_file() and home.parent.name:
            home, dots = home.parent, dots + 1
        if _RELATIVE.search(text) or not _SCRIPT.search(text):
            return _Reach(home, dots)
        # A relative import fails in a script. Where it imports its own package by name, that way is known to work.
        if re.search(rb"^\s*(?:from|import) " + re.escape(home.name.encode()) + rb"\b", text, re.MULTILINE):
            return _Reach(home, package=home.name)
        return _Reach(folder, 1, also_plain=True)
    if _RELATIVE.search(text):
        return _Reach(folder, 1)
    if _is_imported_from(root, folder, modules):
        return _Reach(folder, 1, also_plain=_SCRIPT.search(text) is not None)
    return _Reach(folder)


def _is_imported_from(root: Path, folder: PurePosixPath, modules: tuple[str, ...]) -> bool:
    if not folder.name:
        return False
    pattern = re.compile(rb"^\s*(?:from|import) (?:[\w.]+\.)?" + re.escape(folder.name.encode()) + rb"\b", re.MULTILINE)
    return any(pattern.search(read_if_there(root / path, root) or b"") for path in modules)
