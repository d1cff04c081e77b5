"""Every reader against names, links, encodings, nesting and sizes that no project has. The seeds are fixed.

A verb may refuse (2), find something (1) or be content (0). It may not fail (70), hang, or print a trace.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.toolchain.compile_commands import CompileCommands
from kernel_pytorch.verify.golden.archive import GoldenArchive
from kernel_pytorch.verify.kernels.record import KernelArchive, is_kernel_record
from tests.hostile.mutations import no_hang

CUDA = "#include <cuda_runtime.h>\n__global__ void k(int *x) { x[0] = __ballot_sync(~0u, 1); }\n"
PYTHON = 'import torch\nm = torch.compile(f, mode="reduce-overhead")\n'
CMAKE = "project(x LANGUAGES CXX CUDA)\nfind_package(CUDA)\nset(CMAKE_CUDA_FLAGS -arch=sm_80)\n"
PYPROJECT = (
    '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.3"]\n[tool.kernel_pytorch]\nselect = ["KP"]\n'
)
CONDA = "name: x\ndependencies:\n  - pytorch\n  - pip:\n    - flash-attn\n"
COMPOSE = "services:\n  a:\n    image: nvidia/cuda:12.1\n    runtime: nvidia\n"
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": [PYTHON]}]})
FILES = {
    "k.cu": CUDA, "m.py": PYTHON, "CMakeLists.txt": CMAKE, "pyproject.toml": PYPROJECT, "environment.yml": CONDA,
    "docker-compose.yml": COMPOSE, "n.ipynb": NOTEBOOK, "requirements.txt": "torch==2.3\nflash-attn\n",
    "setup.py": "from setuptools import setup\nsetup(install_requires=['torch'])\n", "Makefile": "all:\n\tnvcc k.cu\n",
    "setup.cfg": "[options]\ninstall_requires = torch\n", "Dockerfile": "FROM nvidia/cuda:12\n",
    "Pipfile": '[packages]\ntorch = "*"\n', "run.sh": "nvidia-smi\n",
}  # fmt: skip
VERBS = (
    ("scan", "--json"), ("scan",), ("scan", "--sarif"), ("port", "--no-build"), ("port", "--no-build", "--json"),
    ("hipify", "--examine"), ("deps", "--json"), ("verify", "--level", "static", "--no-run"),
)  # fmt: skip


def look_at(root: Path) -> None:
    """Every reading verb over a tree."""
    for verb, *options in VERBS:
        with no_hang(60):
            status = main([verb, str(root), *options])
        assert status in (0, 1, 2), f"{verb} {options}: {status}"
    # The same names with other contents on the old side: every comparer has work to do.
    old = Path(f"{root}-before")
    old.mkdir(exist_ok=True)
    for path in (*root.iterdir(), *root.glob("encoding-*/*")):
        if path.is_file() and not path.is_symlink():
            before = old / path.relative_to(root)
            before.parent.mkdir(exist_ok=True)
            before.write_bytes(b"x = 1\n" + path.read_bytes())
    with no_hang(60):
        assert main(["verify", str(root), "--isolation", "--old", str(old), "-v"]) in (0, 1, 2)


NAMES = [
    b"a\nb", b"a\x1b[31m", b"\xff\xfe", b"caf\xe9", b"-rf", b"--help", b"a b", b"a'b\"c", b"$(x)", b"`x`", b"a;b", b"*",
    b"a\\b", b"%s%n", b"{0}", b"a\rb", b"\xe2\x80\xae", b"x" * 200, "漢字".encode(), b"#a", b"@a", b"!a", b"~", b"a&b",
    b".hidden", b"..a", b"a.b.c", b"con", b"[link]", b"<b>", b"a\tb", b"\x7f", b"=", b"a|b", b"\xc2\x9b31m",
]  # fmt: skip


@pytest.mark.parametrize("part", range(3))
def test_names(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = NAMES[part::3]
    for name in chosen:
        for suffix, text in ((b".cu", CUDA), (b".py", PYTHON), (b".cmake", CMAKE), (b".ipynb", NOTEBOOK)):
            (tmp_path / os.fsdecode(name + suffix)).write_text(text)
    for name in chosen[:4]:
        folder = tmp_path / os.fsdecode(name + b"-folder")
        folder.mkdir()
        (folder / "k.cu").write_text(CUDA)
        (folder / "requirements.txt").write_text("torch\n")
    look_at(tmp_path)
    old = tmp_path.parent / f"{tmp_path.name}-old"
    old.mkdir()
    assert main(["verify", str(tmp_path), "--isolation", "--old", str(old), "-v"]) in (0, 1)
    assert main(["port", str(tmp_path), "--no-build", "--out", str(old / "ported")]) in (0, 1)
    assert main(["hipify", str(tmp_path), "-o", str(old / "hip")]) in (0, 1)
    monkeypatch.chdir(tmp_path)
    for name in chosen:
        shown = os.fsdecode(name + b".cu")
        words = ["hipify", "--examine", "--", shown] if shown.startswith("-") else ["hipify", "--examine", shown]
        assert main(words) in (0, 1)


LINKS: dict[str, Callable[[Path], object]] = {
    "loop": lambda root: (root / "loop.cu").symlink_to("loop.cu"),
    "two in a circle": lambda root: ((root / "a.py").symlink_to("b.py"), (root / "b.py").symlink_to("a.py")),
    "folder in itself": lambda root: (root / "again").symlink_to(".", target_is_directory=True),
    "device": lambda root: (root / "zero.cu").symlink_to("/dev/zero"),
    "folder as a source": lambda root: (root / "dir.cu").mkdir(),
    "folder as a list": lambda root: (root / "requirements-dev.txt").mkdir(),
    "named pipe": lambda root: os.mkfifo(root / "pipe.cu"),
    "long target": lambda root: (root / "long.py").symlink_to("x/" * 1_500),
}


@pytest.mark.parametrize("kind", LINKS)
def test_links(kind: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(CUDA)
    LINKS[kind](tmp_path)
    look_at(tmp_path)


def _encoded(text: str) -> Iterator[bytes]:
    data = text.encode()
    yield b"\xef\xbb\xbf" + data
    yield text.encode("utf-16")
    yield text.encode("utf-32")
    yield text.replace("torch", "t\u00f6rch").encode("latin-1")
    yield data.replace(b"\n", b"\r\n")
    yield data.replace(b"\n", b"\r")
    yield data + b"\0" + data
    yield b"\xff" * 300
    yield b""
    yield b"\n" * 5_000
    yield "# \u2028\u202e\x0c\x85\n".encode() + data
    yield b"# -*- coding: utf-7 -*-\n" + data
    yield b"# coding: nonsense\n" + data


@pytest.mark.parametrize("name", FILES)
def test_encodings(name: str, tmp_path: Path) -> None:
    roots = [tmp_path / "tree" / f"encoding-{number}" for number, _ in enumerate(_encoded(FILES[name]))]
    for root, data in zip(roots, _encoded(FILES[name]), strict=True):
        root.mkdir(parents=True)
        (root / name).write_bytes(data)
    # One tree for all, which costs a tenth. Settings are read at the root only, so there each encoding has its turn.
    for root in roots if name == "pyproject.toml" else [tmp_path / "tree"]:
        look_at(root)


@pytest.mark.parametrize("layout", ["copy", "single-source", "torch-extension"])
def test_a_byte_order_mark_stays_in_front(layout: str, tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    (tmp_path / "plain.cu").write_text(CUDA)
    (tmp_path / "marked.cu").write_bytes(mark + CUDA.encode())
    for name in ("plain", "marked"):
        words = ["hipify", str(tmp_path / f"{name}.cu"), "-o", str(tmp_path / f"{name}.hip"), "--layout", layout]
        assert main(words) in (0, 1)
    assert (tmp_path / "marked.hip").read_bytes() == mark + (tmp_path / "plain.hip").read_bytes()


def test_a_byte_order_mark_in_every_file_is_ported_and_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("k.cu", "m.py", "CMakeLists.txt"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + FILES[name].encode())
    assert main(["port", str(tmp_path), "--no-build", "--write"]) in (0, 1)
    assert "not proven" not in capsys.readouterr().err
    for name in ("k.cu", "m.py", "CMakeLists.txt"):
        data = (tmp_path / name).read_bytes()
        assert data.startswith(b"\xef\xbb\xbf") and data.count(b"\xef\xbb\xbf") == 1
        assert data != b"\xef\xbb\xbf" + FILES[name].encode()


def _nested(name: str, depth: int) -> str:
    deep = {
        "k.cu": f"__global__ void k() {{ int x = {'(' * depth}1{')' * depth}; }}\n",
        "m.py": f"import torch\nx = {'[' * depth}{']' * depth}\n",
        "CMakeLists.txt": CMAKE + "if(A)\n" * depth + "endif()\n" * depth,
        "pyproject.toml": f"[tool.kernel_pytorch]\nselect = {'[' * depth}{']' * depth}\n",
        "environment.yml": f"dependencies: {'[' * depth}{']' * depth}\n",
        "docker-compose.yml": f"services: {'{a: ' * depth}1{'}' * depth}\n",
        "n.ipynb": f'{{"cells": {"[" * depth}{"]" * depth}}}',
        "setup.py": f"from setuptools import setup\nsetup(install_requires={'(' * depth}'torch'{')' * depth})\n",
        "setup.cfg": "[options]\n" + "".join(f"a{n} = %(a{n + 1})s\n" for n in range(depth)),
        "Makefile": "X = " + "$(call f," * depth + ")" * depth + "\nall:\n\tnvcc $(X)\n",
        "requirements.txt": "-r requirements.txt\n" * depth,
        "Dockerfile": "FROM nvidia/cuda:12\nRUN " + "(" * depth + "pip install torch" + ")" * depth + "\n",
        "run.sh": "$(" * depth + "nvidia-smi" + ")" * depth + "\n",
        "Pipfile": f"[packages]\ntorch = {'[' * depth}{']' * depth}\n",
    }
    return deep[name]


@pytest.mark.parametrize("depth", [90, 900, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FILES)
def test_nesting(name: str, depth: int, tmp_path: Path) -> None:
    (tmp_path / name).write_text(_nested(name, depth))
    look_at(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_sizes(name: str, tmp_path: Path) -> None:
    """A file a thousand times its size: as many lines, and as one line."""
    text = FILES[name]
    for number, data in enumerate((text * 1_000, text.replace("\n", " ") * 1_000, text + "x" * 1_000_000)):
        root = tmp_path / str(number)
        root.mkdir()
        (root / name).write_text(data)
        look_at(root)


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("environment.yml", BOMB + "dependencies: *a29\n"),
        ("environment.yml", BOMB + "dependencies:\n  - pip: *a29\n"),
        ("docker-compose.yml", BOMB + "services: {a: {image: nvidia/cuda:12, runtime: nvidia, deploy: *a29}}\n"),
        ("docker-compose.yml", "services: &a\n  b: *a\n  c: {runtime: nvidia, image: nvidia/cuda:12, d: *a}\n"),
        ("deploy.yaml", BOMB + "kind: Pod\napiVersion: v1\nspec: {containers: *a29, x: nvidia.com/gpu}\n"),
        ("rules.yml", BOMB + "rules: *a29\n"),
    ],
)
def test_aliases_that_multiply(name: str, text: str, tmp_path: Path) -> None:
    """Thirty lines of YAML that stand for 9**29 entries."""
    (tmp_path / name).write_text(text)
    rules = '[tool.kernel_pytorch]\nrules = ["rules.yml"]\n' if name == "rules.yml" else ""
    (tmp_path / "pyproject.toml").write_text(rules)
    look_at(tmp_path)


def _damaged(data: bytes, count: int, first: int = 0) -> Iterator[bytes]:
    for number in range(first, first + count):
        rng = random.Random(number)
        made = bytearray(data)
        for _ in range(rng.randrange(1, 12)):
            at = rng.randrange(len(made) + 1)
            kind = rng.randrange(4)
            if kind == 0 and made:
                made[at % len(made)] = rng.randrange(256)
            elif kind == 1:
                del made[at : at + rng.randrange(1, 40)]
            elif kind == 2:
                made[at:at] = made[at : at + rng.randrange(1, 60)]
            else:
                made[at:at] = rng.choice(
                    (b"NaN", b"1e999", b"-1", b"9" * 40, b"null", b"[", b"{", b'"', b"\xff", b"\0")
                )
        yield bytes(made)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_damaged_project_files(name: str, tmp_path: Path) -> None:
    for number, data in enumerate(_damaged(FILES[name].encode(), 40)):
        root = tmp_path / str(number)
        root.mkdir()
        (root / name).write_bytes(data)
        look_at(root)


def trace(**changes: Any) -> dict[str, Any]:
    """A small recording of torch's; `changes` go into its one kernel."""
    kernel = {
        "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 200.0, "dur": 10.0,
        "args": {"correlation": 5, "External id": 3, "device": 0, "stream": 7, "grid": [1, 1, 1], "block": [64, 1, 1]},
    }  # fmt: skip
    arguments: dict[str, Any] = dict(kernel["args"])  # type: ignore[call-overload]
    arguments.update({key: changes.pop(key) for key in list(changes) if key in arguments})
    kernel.update({"args": arguments, **changes})
    call = {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 9, "tid": 9, "ts": 150.0, "dur": 5.0}
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 100.0, "dur": 90.0}
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 1 << 37}],
        "traceEvents": [
            {**operator, "args": {"External id": 3, "Input Dims": [[8, 8], [8, 8]], "Input type": ["float", "float"]}},
            {**call, "args": {"correlation": 5, "External id": 3}},
            kernel,
        ],
    }


BAD_VALUES = [
    float("nan"), float("inf"), -1, -1e300, 1e300, 10**25, -(10**25), 2**63, 2**64, None, "x", [], {}, True, "1e999",
]  # fmt: skip
BAD_FIELDS = ["dur", "ts", "pid", "tid", "name", "args", "cat", "correlation", "device", "stream", "grid"]


@pytest.mark.parametrize("field", BAD_FIELDS)
def test_values_of_a_trace(field: str, tmp_path: Path) -> None:
    for number, value in enumerate(BAD_VALUES):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(trace(**{field: value})))
        for form in ((), ("--json",)):
            with no_hang():
                assert main(["profile", str(path), "--gpu", "mi300x", *form]) in (0, 1, 2), (field, value)


def test_traces_that_are_none(tmp_path: Path) -> None:
    whole = json.dumps(trace())
    texts = [
        "", "[", "[" * 100_000, '{"traceEvents": ' + "[" * 100_000, '{"traceEvents": 5}', '{"traceEvents": [5, null]}',
        whole[: len(whole) // 2], whole + whole, "\ufeff" + whole, json.dumps([trace()] * 3), "null", "0", '"x"',
        '{"traceEvents": [' + '{"a":' * 50_000 + "]}",
    ]  # fmt: skip
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        with no_hang():
            assert main(["profile", str(path), "--gpu", "mi300x"]) in (0, 1, 2), text[:60]


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 8))])
def test_damaged_traces(part: int, tmp_path: Path) -> None:
    data = json.dumps(trace()).encode()
    for number, made in enumerate(_damaged(data, 40, part * 40)):
        path = tmp_path / f"{number}.json"
        path.write_bytes(made)
        with no_hang():
            assert main(["profile", str(path), "--gpu", "mi300x", "--json"]) in (0, 1, 2), number


@pytest.fixture(scope="module")
def code_object(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("object")
    (folder / "k.hip").write_text("#include <hip/hip_runtime.h>\n__global__ void k(int *x) { x[threadIdx.x] = 1; }\n")
    assert main(["build", str(folder / "k.hip"), "--arch", "gfx942", "--out", str(folder)]) == 0
    return next(folder.glob("*.hsaco")).read_bytes()


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 8))])
def test_damaged_code_objects(part: int, code_object: bytes, tmp_path: Path) -> None:
    for number, made in enumerate(_damaged(code_object, 40, part * 40)):
        path = tmp_path / f"{number}.hsaco"
        path.write_bytes(made)
        with no_hang():
            assert main(["build", str(path), "--json"]) in (0, 1, 2), number


RECORD = {"schema": 1, "kind": "kernels", "program": "p", "arguments": [], "launches": [], "device": "x", "repeats": 1}


@pytest.mark.parametrize("text", [
    "", "[]", "null", "[" * 100_000, '{"schema": 1e999}', json.dumps(RECORD), json.dumps({**RECORD, "launches": 5}),
    json.dumps({**RECORD, "schema": 10**30}), '{"schema": 1, "events": ' + '{"a":' * 50_000, "\xff", "{}",
    json.dumps({"schema": 1, "events": [{"tensors": [{"id": "../../etc/passwd", "shape": [10**12], "dtype": "f"}]}]}),
])  # fmt: skip
def test_golden_records(text: str, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(text, encoding="latin-1", errors="replace")
    for tensors in (b"", b"\xff" * 8, (10**18).to_bytes(8, "little") + b"{}", b"\x02\0\0\0\0\0\0\0{}"):
        (tmp_path / "tensors.safetensors").write_bytes(tensors)
        for reader in (KernelArchive, GoldenArchive, is_kernel_record):
            with no_hang():
                try:
                    reader(tmp_path)
                except UsageError as problem:
                    assert str(tmp_path) in str(problem)


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_damaged_golden_records(part: int, tmp_path: Path) -> None:
    (tmp_path / "tensors.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    for made in _damaged(json.dumps(RECORD).encode(), 100, part * 100):
        (tmp_path / "record.json").write_bytes(made)
        for reader in (KernelArchive, GoldenArchive, is_kernel_record):
            with no_hang():
                try:
                    reader(tmp_path)
                except UsageError as problem:
                    assert str(tmp_path) in str(problem)


@pytest.mark.parametrize("text", [
    "", "{}", "[5]", "[" * 100_000, '[{"file": 5}]', '[{"file": "k.cu", "command": "\'"}]', "\xff\xfe",
    '[{"file": "k.cu", "arguments": 5}]', '[{"file": "k.cu", "directory": "/etc", "arguments": ["a", "-I"]}]',
    '[{"file": "\\u0000", "command": "x"}]', '[{"file": "k.cu", "command": "x @/etc/passwd -fplugin=./evil.so"}]',
])  # fmt: skip
def test_compile_commands(text: str, tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(text, encoding="latin-1")
    (tmp_path / "k.cu").write_text(CUDA)
    try:
        flags = CompileCommands(path).flags_for(tmp_path / "k.cu")
    except UsageError as problem:
        assert str(tmp_path) in str(problem)
    else:
        assert not [word for word in flags.extra if word.startswith(("-fplugin", "@", "-Xclang"))]


def test_nothing_is_left_in_the_tree(tmp_path: Path) -> None:
    """The reading verbs leave a tree as it was, whatever is in it."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    look_at(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before
