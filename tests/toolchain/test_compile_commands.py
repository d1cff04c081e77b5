from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.toolchain.compile_commands import CompileCommands


def database(directory: Path, **entry: object) -> Path:
    (directory / "src").mkdir(exist_ok=True)
    (directory / "src/a.hip").touch()
    path = directory / "compile_commands.json"
    path.write_text(json.dumps([{"directory": str(directory / "build"), "file": "../src/a.hip", **entry}]))
    return path


def test_command_line(tmp_path: Path) -> None:
    command = (
        'hipcc -Iinc -I ../more -isystem /usr/sys -DA -D B=2 "-DC=a b" -UE -std=c++20 -include pre.h -O2 -fPIC '
        "--offload-arch=gfx90a -o a.o -c ../src/a.hip"
    )
    (tmp_path / "build").mkdir()
    (tmp_path / "build/pre.h").touch()
    flags = CompileCommands(database(tmp_path, command=command)).flags_for(tmp_path / "src/a.hip")
    build = tmp_path / "build"
    assert flags.include_dirs == (build / "inc", build / "../more")
    assert flags.defines == ("A", "B=2", "C=a b")
    assert flags.std == "c++20"
    assert flags.extra == ("-isystem", "/usr/sys", "-UE", "-include", str(build / "pre.h"))


def test_arguments_and_directory(tmp_path: Path) -> None:
    arguments = ["clang++", "-DX=1", "-include", "vector", "../src/a.hip"]
    flags = CompileCommands(database(tmp_path, arguments=arguments).parent).flags_for(tmp_path / "src/a.hip")
    assert (flags.defines, flags.std, flags.extra) == (("X=1",), None, ("-include", "vector"))


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        CompileCommands(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(UsageError, match="not a JSON file"):
        CompileCommands(tmp_path / "bad.json")
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(UsageError, match="not a compilation database"):
        CompileCommands(tmp_path / "other.json")
    known = CompileCommands(database(tmp_path, command='cc "unclosed'))
    with pytest.raises(UsageError, match=r"not in .*which has 1 file"):
        known.flags_for(tmp_path / "b.hip")
    with pytest.raises(UsageError, match="cannot be split"):
        known.flags_for(tmp_path / "src/a.hip")
