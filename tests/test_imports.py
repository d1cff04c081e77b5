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
    "jobs": 5,
    "report": 6,
    "cli": 7,
}
# The same between the folders of a room, and the modules that stand beside them: each line may import from the lines
# above it. What a room does not name here is only held to have no cycle.
FOLDERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "port": (
        ("source", "edits", "suppress", "tables", "templates", "line_limit", "apply", "user_rules", "file_failure"),
        ("cxx", "rule"),
        ("names", "wave", "ptx", "python", "build_files", "discover", "tensor_cores"),
        ("layouts", "phases", "user_rule_edits"),
        ("settings",),
        ("deps",),
        ("deploy",),
        ("rules", "repairs"),
        ("hipify", "deploy_files", "device_headers"),
        ("kernel_text",),
        ("notebook",),
        ("builds", "project"),
    ),
    "emulate": (("isa", "assembly", "native"), ("codegen",), ("waits",), ("source",)),
    "models": (("clock", "kernels"), ("check",), ("fx",), ("rewrites",)),
    "perf": (
        ("trace", "bench", "decode"),
        ("classify", "roofline", "aiter", "fp8", "narrow"),
        ("advice", "inspect"),
        ("ladder",),
    ),
    "verify": (("isolation", "golden"), ("kernels",)),
    "backends": (("base",), ("device_backend",), ("amd", "nvidia", "cpu")),
    "report": (("page",),),
    "core": (("errors",), ("hardware",), ("platform",)),
    "toolchain": (("elf", "roots"), ("find",), ("code_object", "compile"), ("build", "program")),
}
HEAVY = {"torch", "triton", "numpy", "rich", "jinja2", "yaml"}

# Modules (of torch) and kernels (of Triton) that must stand at the top of a file, so that they can be saved or
# compiled. The rest of the package imports these files inside functions only.
MADE_OF_TORCH = {
    "perf/aiter/linear.py",
    "perf/decode/attention_kernel.py",
    "perf/decode/attention_parts.py",
    "perf/decode/hopper/decoder_attention.py",
    "perf/decode/hopper/decoder_kernel.py",
    "perf/decode/hopper/decoder_products.py",
    "perf/decode/hopper/decoder_weights.py",
    "perf/decode/hopper/decoder_words.py",
    "perf/decode/row_kernels.py",
    "perf/fp8/linear.py",
    "perf/narrow/formats.py",
    "perf/narrow/kernels.py",
    "perf/narrow/linear.py",
    "models/rewrites/joint_linear.py",
    "models/rewrites/static_decoder.py",
}


# Copied into users' packages, where torch is; nothing of ours imports them.
COPIED = SOURCE / "port" / "templates"


def is_copied(path: Path) -> bool:
    return path.parent == COPIED and path.name != "__init__.py"


def is_made_of_torch(path: Path) -> bool:
    return path.relative_to(SOURCE).as_posix() in MADE_OF_TORCH


def imported_modules(path: Path, *, top_level_only: bool = False, with_types: bool = True) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    if not with_types:  # what stands under TYPE_CHECKING is never imported
        blocks = [node for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        unused = {id(node) for block in blocks for statement in block.body for node in ast.walk(statement)}
        nodes = [node for node in nodes if id(node) not in unused]
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


def test_the_check_sees_a_violation(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "bad.py").write_text("def f():\n    from kernel_pytorch.cli import main\n")
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "bad.py").write_text("import kernel_pytorch.backends.amd\n")
    assert len(violations(tmp_path)) == 3  # `from a import b` counts as a and as a.b


def place_of(source: Path, room: str, parts: tuple[str, ...]) -> str:
    """The folder of a room that a module is in, or its own name where it stands beside the folders."""
    names = {path.stem for path in (source / room).iterdir()}
    return parts[0] if parts and parts[0] in names else "__init__"


def imports_inside(source: Path, room: str) -> dict[str, dict[str, str]]:
    """Which places of a room import which others, and a module that does. Imports inside functions count too."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((source / room).rglob("*.py")):
        here = place_of(source, room, path.relative_to(source / room).with_suffix("").parts)
        # Two modules of one room may name each other's types.
        for module in imported_modules(path, with_types=False):
            parts = tuple(module.split("."))
            if parts[:2] == ("kernel_pytorch", room) and len(parts) > 2:
                there = place_of(source, room, parts[2:])
                if there != here:
                    found.setdefault(here, {}).setdefault(there, path.relative_to(source).as_posix())
    return found


def upward(source: Path, room: str, order: tuple[tuple[str, ...], ...]) -> list[str]:
    """Imports that go up the room's order, or between two places of one line."""
    level = {name: number for number, names in enumerate(order) for name in names}
    return [
        f"{module} imports {room}/{there}, which is not below {here}"
        for here, others in imports_inside(source, room).items()
        for there, module in others.items()
        if here in level and there in level and level[there] >= level[here]
    ]


def circles(source: Path, room: str) -> list[str]:
    """The places of a room that can be reached from themselves."""
    edges = {here: set(others) for here, others in imports_inside(source, room).items()}
    left = set(edges)
    while free := {here for here in left if not edges[here] & left}:
        left -= free
    return sorted(left)


@pytest.mark.parametrize("room", sorted(FOLDERS))
def test_imports_inside_a_room_go_one_way(room: str) -> None:
    missing = [name for names in FOLDERS[room] for name in names if place_of(SOURCE, room, (name,)) == "__init__"]
    assert missing == [], "named in the table, and not there"
    assert upward(SOURCE, room, FOLDERS[room]) == []


@pytest.mark.parametrize("room", sorted(LEVELS))
def test_no_folders_of_a_room_know_each_other_in_a_circle(room: str) -> None:
    assert circles(SOURCE, room) == []


def test_every_folder_of_port_has_its_place_in_the_order() -> None:
    named = {name for names in FOLDERS["port"] for name in names}
    assert {path.stem for path in (SOURCE / "port").iterdir() if not path.stem.startswith("__")} == named


def test_the_check_sees_an_import_between_folders(tmp_path: Path) -> None:
    for name, text in {
        "port/cxx/bad.py": "def f():\n    from kernel_pytorch.port.rules import Rule\n",
        "port/rules/kp999.py": "from kernel_pytorch.port.cxx import bad\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    assert upward(tmp_path, "port", (("cxx",), ("rules",))) == [
        "port/cxx/bad.py imports port/rules, which is not below cxx"
    ]
    assert circles(tmp_path, "port") == ["cxx", "rules"]


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
