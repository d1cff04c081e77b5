"""How we reach the outside: commands, files, device nodes, the environment.

Everything that looks at a machine takes a `Probe`. `this_machine()` looks at the real one; a test, or someone
who wants to know what a port would do on another GPU, passes one that stands in for it (see `stand_in`).
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from kernel_pytorch.core.python_child import child_environment

# ROCm's packages do not always put their tools on PATH.
EXTRA_TOOL_DIRS = ("/opt/rocm/bin",)


@dataclass(frozen=True)
class CommandResult:
    """What became of a command. `outcome` is "ran", "missing", "hangs" or "failed" (could not be started)."""

    argv: tuple[str, ...]
    outcome: str
    returncode: int = 0
    stdout: str = ""
    stderr: str = ""

    @property
    def succeeded(self) -> bool:
        return self.outcome == "ran" and self.returncode == 0


@dataclass(frozen=True)
class NodeStat:
    """Who owns a file or device node, and what it is."""

    uid: int
    gid: int
    mode: int  # permission bits only
    size: int = 0
    mtime: float = 0.0
    is_dir: bool = False


@dataclass(frozen=True)
class TorchFacts:
    """What torch says of itself. `devices` is empty where asking would have started the GPU."""

    version: str
    hip: str | None
    cuda: str | None
    rocm: str | None = None
    devices: tuple[Any, ...] = ()


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Probe:
    """The ways to the outside. Every field can be replaced; none raises for a thing that is not there."""

    run: Callable[[Sequence[str], float], CommandResult]
    read_text: Callable[[str], str | None]
    list_dir: Callable[[str], tuple[str, ...]]
    stat: Callable[[str], NodeStat | None]
    open_error: Callable[[str], str]  # "" if the node opens for reading and writing, else the reason
    free_bytes: Callable[[str], int | None]
    group_name: Callable[[int], str]
    env: Mapping[str, str] = field(default_factory=dict)
    uid: int = 0
    gids: frozenset[int] = frozenset({0})
    user: str = "root"
    home: str = "/root"
    python: str = ""
    python_version: tuple[int, int, int] = (3, 11, 0)
    python_path: tuple[str, ...] = ()  # where that Python looks for packages
    torch: Callable[[], TorchFacts | None] = _nothing


def this_machine(*, import_torch: bool = False) -> Probe:
    """The machine this process runs on. Torch is asked if it is loaded already, or if `import_torch` is set."""
    return Probe(
        run=run_command,
        read_text=_read_text,
        list_dir=_list_dir,
        stat=_stat,
        open_error=_open_error,
        free_bytes=_free_bytes,
        group_name=_group_name,
        env=dict(os.environ),
        uid=os.geteuid() if hasattr(os, "geteuid") else 0,
        gids=_gids(),
        user=_user(),
        home=str(Path.home()),
        python=sys.executable,
        python_version=(sys.version_info[0], sys.version_info[1], sys.version_info[2]),
        python_path=tuple(entry for entry in sys.path if entry),
        torch=lambda: _torch_facts(import_torch),
    )


def run_command(argv: Sequence[str], timeout_s: float) -> CommandResult:
    """Runs a tool with no input. One that does not finish in time is killed with all it started."""
    words = tuple(argv)
    program = shutil.which(words[0]) or _in_extra_dirs(words[0])
    if program is None:
        return CommandResult(words, "missing")
    try:
        process = subprocess.Popen(
            (program, *words[1:]),
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return CommandResult(words, "failed", stderr=str(error))
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill_group(process)
        return CommandResult(words, "hangs")
    return CommandResult(words, "ran", process.returncode, stdout, stderr)


def _kill_group(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):
        process.kill()
    try:
        process.communicate(timeout=1)
    except subprocess.TimeoutExpired:
        # Stuck in the kernel (an unresponsive GPU does this): it cannot be waited for.
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _in_extra_dirs(name: str) -> str | None:
    if "/" in name:
        return None
    return next((str(Path(d) / name) for d in EXTRA_TOOL_DIRS if os.access(Path(d) / name, os.X_OK)), None)


def _read_text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _list_dir(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(entry.name for entry in Path(path).iterdir()))
    except OSError:
        return ()


def _stat(path: str) -> NodeStat | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return NodeStat(
        found.st_uid, found.st_gid, found.st_mode & 0o7777, found.st_size, found.st_mtime, S_ISDIR(found.st_mode)
    )


def _open_error(path: str) -> str:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _free_bytes(path: str) -> int | None:
    where = Path(path)
    while not where.exists() and where != where.parent:
        where = where.parent
    try:
        return shutil.disk_usage(where).free
    except OSError:
        return None


def _group_name(gid: int) -> str:
    try:
        import grp

        return grp.getgrgid(gid).gr_name
    except (ImportError, KeyError):
        return str(gid)


def _gids() -> frozenset[int]:
    if not hasattr(os, "getgroups"):
        return frozenset()
    return frozenset(os.getgroups()) | {os.getegid()}


def _user() -> str:
    try:
        import getpass

        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.geteuid()) if hasattr(os, "geteuid") else "user"


def _torch_facts(import_torch: bool) -> TorchFacts | None:
    module: Any = sys.modules.get("torch")
    if module is None and import_torch:
        try:
            module = importlib.import_module("torch")
        except Exception:  # a broken torch raises anything from ImportError to OSError
            return None
    if module is None or not hasattr(module, "version"):
        return None
    version = module.version
    return TorchFacts(
        version=str(getattr(module, "__version__", "")),
        hip=getattr(version, "hip", None),
        cuda=getattr(version, "cuda", None),
        rocm=getattr(version, "rocm", None),
        devices=_torch_devices(module, may_initialise=import_torch),
    )


def _torch_devices(module: Any, may_initialise: bool) -> tuple[Any, ...]:
    cuda = getattr(module, "cuda", None)
    # Device properties start the runtime, which costs memory and forbids a later fork.
    if cuda is None or not (may_initialise or cuda.is_initialized()) or not cuda.is_available():
        return ()
    return tuple(cuda.get_device_properties(i) for i in range(cuda.device_count()))
