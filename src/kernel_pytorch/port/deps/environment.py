"""Look into an interpreter's packages from outside: no import of torch, no change."""

from __future__ import annotations

import ast
import json
import subprocess
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_code
from kernel_pytorch.core.read_file import read_text
from kernel_pytorch.port.deps.model import Environment, TorchBuild
from kernel_pytorch.port.deps.packages import classify, normalize

# Run inside the chosen interpreter, isolated from the current folder; prints what PEP 508 markers ask for.
_PROBE = """
import importlib.util, json, os, platform, sys, sysconfig
info = sys.implementation.version
full = "%d.%d.%d" % info[:3] + ("" if info.releaselevel == "final" else info.releaselevel[0] + str(info.serial))
print(json.dumps({
  "paths": [p for p in sys.path if p and os.path.isdir(p)],
  "purelib": sysconfig.get_paths()["purelib"],
  "has_pip": importlib.util.find_spec("pip") is not None,
  "markers": {
    "implementation_name": sys.implementation.name, "implementation_version": full, "os_name": os.name,
    "platform_machine": platform.machine(), "platform_release": platform.release(),
    "platform_system": platform.system(), "platform_version": platform.version(),
    "python_full_version": platform.python_version(), "python_version": "%d.%d" % sys.version_info[:2],
    "platform_python_implementation": platform.python_implementation(), "sys_platform": sys.platform},
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python to install into: where it looks for packages and how it answers environment markers."""

    executable: str
    paths: tuple[str, ...]
    purelib: Path
    has_pip: bool
    markers: dict[str, str]

    @property
    def version(self) -> str:
        """Full version, such as 3.11.7."""
        return self.markers["python_full_version"]

    def distributions(self) -> dict[str, Distribution]:
        """Installed distributions by normalised name; the first on the path wins, as in an import."""
        found: dict[str, Distribution] = {}
        for distribution in distributions(path=list(self.paths)):
            name = distribution.metadata["Name"]
            if name:
                found.setdefault(normalize(name), distribution)
        return found


def inspect_python(executable: str) -> Interpreter:
    """Ask an interpreter for its paths and markers. Raises UsageError if it is none."""
    try:
        run = run_child(python_code(_PROBE, python=executable, isolated=True), timeout_s=60)
        run.check_returncode()
        answer: dict[str, Any] = json.loads(run.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"--python {executable}: not a working Python interpreter ({reason}); name the python of the "
            "environment, for example .venv/bin/python"
        ) from error
    return Interpreter(
        executable, tuple(answer["paths"]), Path(answer["purelib"]), bool(answer["has_pip"]), answer["markers"]
    )


def describe(interpreter: Interpreter) -> Environment:
    """The interpreter's version, torch build and protected packages."""
    protected = []
    for name, distribution in sorted(interpreter.distributions().items()):
        row = classify(name)
        if row is not None and row.action == "protected":
            protected.append((name, distribution.version))
    return Environment(interpreter.executable, interpreter.version, find_torch(interpreter), tuple(protected))


def find_torch(interpreter: Interpreter) -> TorchBuild | None:
    """The torch an import would find, read from torch/version.py; None if there is none."""
    for folder in interpreter.paths:
        file = Path(folder) / "torch" / "version.py"
        if file.is_file():
            values = _assigned(file)
            version = values.get("__version__")
            if not version and (distribution := interpreter.distributions().get("torch")):
                version = distribution.version
            return TorchBuild(version or "unknown", values.get("hip"), values.get("cuda"), str(file.parent))
    return None


def _assigned(file: Path) -> dict[str, str | None]:
    """String constants assigned at module level; torch writes some with annotations and some without."""
    values: dict[str, str | None] = {}
    try:
        tree = ast.parse(read_text(file, errors="replace"))
    except SyntaxError:
        return values
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(node.value, ast.Constant):
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                held = node.value.value
                values[target.id] = held if isinstance(held, str) else None
    return values
