"""The one-way line of imports between the rooms, and what importing may cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "kernel_pytorch"

# A room may import from rooms with a lower number. Rooms on one level do not know each other.
LEVELS = {
    "core": 0,
    "toolchain": 1,
    "port": 2,
    "emulate": 2,
    "models": 2,
    "backends": 3,
    "verify": 4,
    "perf": 4,
    "doctor": 4,
    "report": 5,
    "cli": 6,
}
# The same for the folders of a room; what lies beside them in the room is not held to it.
FOLDERS = {
    "models": {"check": 0, "clock": 0, "kernels": 0, "fx": 1, "rewrites": 2},
    "perf": {"trace": 0, "bench": 0, "decode": 0, "classify": 1, "roofline": 1, "aiter": 1, "advice": 2, "inspect": 2}
    | {"ladder": 3},
}
HEAVY = {"torch", "triton", "numpy", "rich", "jinja2", "yaml"}

# Modules (of torch) and kernels (of Triton) that must stand at the top of a file, so that they can be saved or
# compiled. The rest of the package imports these files inside functions only.
MADE_OF_TORCH = {
    "perf/aiter/linear.py",
    "perf/decode/attention_kernel.py",
    "perf/decode/decoder_attention.py",
    "perf/decode/decoder_kernel.py",
    "perf/decode/decoder_products.py",
    "perf/decode/decoder_weights.py",
    "perf/decode/decoder_words.py",
    "perf/decode/row_kernels.py",
    "models/rewrites/joint_linear.py",
    "models/rewrites/static_decoder.py",
}


# Copied into users' packages, where torch is; nothing of ours imports them.
COPIED = SOURCE / "port" / "templates"


def is_copied(path: Path) -> bool:
    return path.parent == COPIED and path.name != "__init__.py"


def is_made_of_torch(path: Path) -> bool:
    return path.relative_to(SOURCE).as_posix() in MADE_OF_TORCH


def imported_modules(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room: write kernel_pytorch.…"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "kernel_pytorch" and len(parts) > 1 and parts[1] in LEVELS else None


def violations(source: Path) -> list[str]:
    found = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).parts
        if len(parts) == 1:
            continue  # __init__, __main__ and version stand above the rooms
        here = parts[0]
        for module in imported_modules(path):
            there = room_of(module)
            if there and there != here and LEVELS[there] >= LEVELS[here]:
                found.append(f"{path.relative_to(source)} imports {module}: {here} may not know {there}")
    return found


def test_every_room_has_a_level() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= LEVELS.keys()


def test_imports_go_one_way() -> None:
    assert violations(SOURCE) == []


@pytest.mark.parametrize("room", FOLDERS)
def test_imports_between_the_folders_of_a_room_go_one_way(room: str) -> None:
    levels = FOLDERS[room]
    assert {path.parent.name for path in (SOURCE / room).glob("*/__init__.py")} == levels.keys()
    found = []
    for path in (SOURCE / room).glob("*/**/*.py"):
        here = path.relative_to(SOURCE / room).parts[0]
        folders = {name.split(".")[2] for name in imported_modules(path) if name.startswith(f"kernel_pytorch.{room}.")}
        found += [f"{path}: {one}" for one in folders & levels.keys() - {here} if levels[one] >= levels[here]]
    assert found == []


def test_the_check_sees_a_violation(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "bad.py").write_text("def f():\n    from kernel_pytorch.cli import main\n")
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "bad.py").write_text("import kernel_pytorch.backends.amd\n")
    assert len(violations(tmp_path)) == 3  # `from a import b` counts as a and as a.b


def test_port_never_imports_torch() -> None:
    for path in (SOURCE / "port").rglob("*.py"):
        if is_copied(path):
            continue
        assert not any(name.split(".")[0] == "torch" for name in imported_modules(path)), path


def test_no_module_imports_a_heavy_package_at_its_top() -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        if not is_copied(path) and not is_made_of_torch(path)
        for name in imported_modules(path, top_level_only=True)
        if name.split(".")[0] in HEAVY
    ]
    assert found == []


def test_what_is_made_of_torch_is_imported_inside_functions_only() -> None:
    hidden = {"kernel_pytorch." + name.removesuffix(".py").replace("/", ".") for name in MADE_OF_TORCH}
    assert all((SOURCE / name).is_file() for name in MADE_OF_TORCH)
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        if not is_made_of_torch(path)
        for name in imported_modules(path, top_level_only=True) & hidden
    ]
    assert found == []


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "code",
    [
        "import kernel_pytorch",
        "from kernel_pytorch.cli.main import main; main(['--help'])",
        "from kernel_pytorch.cli.main import main; main(['--version'])",
        "from kernel_pytorch.core import config, hardware; hardware.gpus(); config.AMDConfig()",
    ],
)
def test_start_up_loads_nothing_heavy(code: str) -> None:
    assert loaded_by(code) & HEAVY == set()


def test_every_module_imports_without_side_effects() -> None:
    """Importing everything writes no environment variable and starts no process."""
    names = [
        ".".join(("kernel_pytorch", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in sorted(SOURCE.rglob("*.py"))
        if path.name not in ("__init__.py", "__main__.py") and not is_copied(path) and not is_made_of_torch(path)
    ]
    code = (
        "import importlib, os, subprocess\n"
        "before = dict(os.environ)\n"
        "def refuse(*a, **k): raise AssertionError('a process was started on import')\n"
        "subprocess.Popen.__init__ = refuse\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "assert dict(os.environ) == before\n"
    )
    assert not loaded_by(code) & {"torch", "triton"}
