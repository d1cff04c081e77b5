"""Builds what a port wrote, for real, and says what does not compile, on the lines of the file that was written.

The ported sources are laid out in a scratch folder with the rest of the project beside them, so that includes resolve
as they will in the project.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import CheckResult, Patch, Status
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.build_files.setup_macros import declared_macros
from kernel_pytorch.port.builds.torch_extension import HOST_SUFFIXES, TorchExtension, reaches_torch, renamed_extension
from kernel_pytorch.port.cxx.include_folders import compile_folders
from kernel_pytorch.port.cxx.includes import include_closure
from kernel_pytorch.port.discover import Project
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_unit
from kernel_pytorch.toolchain.diagnostics import errors
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError


def build_ported(
    project: Project,
    patches: Sequence[Patch],
    toolchain: Toolchain,
    target: str,
    include_dirs: Sequence[Path] = (),
    layout: str = "single-source",
) -> tuple[CheckResult, ...]:
    """Device and host pass of every ported .cu or .hip source, one result each.

    In the torch-extension layout most sources stay as they are and torch's own tool renames them: every source that was
    ported or includes a file that was is built, a .cpp on the host.
    """
    of_torch = layout_named(layout).is_built_by_torch
    ported = {patch.path for patch in patches}
    sources = [patch.path for patch in patches if patch.path.endswith((".cu", ".hip"))]
    if not sources and not of_torch:
        return ()
    with tempfile.TemporaryDirectory(prefix="kpt-port-") as scratch:
        root = Path(scratch).resolve() / "project"
        _lay_out(project, patches, root)
        # What the project brings along is not laid out: it is not ported, and looked for where it is.
        named = compile_folders(project.root, [project.root / path for path in project.of("cuda", "c++")])
        pairs = [(root / one.relative_to(project.root), one) for one in named]
        folders = (*(laid if laid.is_dir() else one for laid, one in pairs), *include_dirs)
        if of_torch:
            sources = _reaching(root, ported, [*project.of("cuda", "c++"), *sorted(ported)], folders)
            macros = declared_macros(project.root / "setup.py")
            build: Callable[[str], CheckResult] = _extension_build(root, folders, toolchain, target, macros)
        else:
            options = CompileOptions(include_dirs=folders, bounds=(root, project.root, *include_dirs))
            made = {
                PurePosixPath(path).name.removesuffix(".in"): path for path in project.listed if path.endswith(".in")
            }
            build = partial(_build_one, target=target, toolchain=toolchain, options=options, root=root, made=made)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return tuple(pool.map(build, sources))


def _reaching(root: Path, ported: set[str], paths: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The sources that are among the ported files or include one."""
    files = {(root / path).resolve() for path in ported}
    sources = [path for path in dict.fromkeys(paths) if path.endswith((".cu", ".hip", *HOST_SUFFIXES))]
    return [path for path in sources if not files.isdisjoint(include_closure(root / path, root, folders))]


def _extension_build(
    root: Path, folders: tuple[Path, ...], toolchain: Toolchain, target: str, macros: tuple[str, ...]
) -> Callable[[str], CheckResult]:
    tree: TorchExtension | None = None
    reason = ""
    try:
        tree = renamed_extension(root, root, folders, macros)
    except TorchHeadersError as error:
        reason = str(error)

    def build(path: str) -> CheckResult:
        name = f"build {path} for {target}"
        if tree is None:
            return CheckResult(name, Status.NOT_RUN, reason)
        host_only = path.endswith(HOST_SUFFIXES)
        try:
            if not host_only:
                tree.build_device(path, target, toolchain)
            tree.check_host(path, toolchain, target)
        except CompileFailed as failure:
            return CheckResult(name, *tree.outcome(path, failure, toolchain))
        passes = "host pass" if host_only else "device and host pass"
        detail = f"{passes}, with {toolchain.version} and the headers of torch {tree.torch.version}"
        return CheckResult(name, Status.PASS, detail)

    return build


def _lay_out(project: Project, patches: Sequence[Patch], root: Path) -> None:
    for path in (*project.of("cuda", "c++"),):
        destination = root / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_bytes(read_bytes(project.root / path, project.root))
    for patch in patches:
        destination = root / patch.path
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_bytes(patch.after)


def _build_one(
    path: str, target: str, toolchain: Toolchain, options: CompileOptions, root: Path, made: Mapping[str, str]
) -> CheckResult:
    """`made` are the templates of files that the project's own build makes, by the name of what they become."""
    name = f"build {path} for {target}"
    file = root / path
    if reaches_torch(file, root, options.include_dirs):
        detail = "includes torch's headers: --layout torch-extension builds it as torch does"
        return CheckResult(name, Status.NOT_RUN, detail)
    try:
        check_unit(file, target, toolchain, options)
    except CompileFailed as failure:
        shown = errors(failure.messages) or failure.messages
        lacks = re.match(r"'(?:[^']*/)?([^'/]+)' file not found", shown[0].text) if shown else None
        if lacks and lacks[1] in made:
            detail = (
                f"includes {lacks[1]}, which the project's build makes of {made[lacks[1]]}: configure the port, then "
                "`kpt build FILE --compile-commands BUILD/compile_commands.json`"
            )
            return CheckResult(name, Status.NOT_RUN, detail)
        lines = [str(message).replace(f"{root}/", "") for message in shown[:3]]
        more = f" (and {len(shown) - 3} more)" if len(shown) > 3 else ""
        return CheckResult(name, Status.FAIL, "; ".join(lines).replace(str(root), ".") + more)
    return CheckResult(name, Status.PASS, f"device and host pass, with {toolchain.version}")
