"""Include closures and what a unit knows."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.cxx.includes import include_closure, includes_of, is_third_party
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.source import source_file


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_closure_follows_quotes_and_angles_inside_the_project(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/main.cu": '#include "a.h"\n#include <deep/b.cuh>\n#include <vector>\n#include "../third_party/x.h"\n',
            "src/a.h": '#include "a.h"\n#include "c.h"\n',
            "src/c.h": "",
            "include/deep/b.cuh": '#include "../../outside.h"\n',
            "outside.h": "",
            "third_party/x.h": "int cudaFoo;",
        },
    )
    closure = include_closure(tmp_path / "src/main.cu", tmp_path)
    assert [path.relative_to(tmp_path.resolve()).as_posix() for path in closure] == [
        "src/main.cu",
        "src/a.h",
        "src/c.h",
        "include/deep/b.cuh",
        "outside.h",
    ]


def test_files_outside_the_root_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"project/main.cu": '#include "../other.h"\n', "other.h": ""})
    assert len(include_closure(tmp_path / "project/main.cu", tmp_path / "project")) == 1


def test_includes_as_written() -> None:
    found = includes_of(b'#include <a/b.h>\n #  include "c.h" // x\n// #include <d.h>\nint x; #include <e.h>\n')
    assert [(item.name, item.quoted) for item in found] == [("a/b.h", False), ("c.h", True)]


def test_third_party_folders() -> None:
    assert is_third_party(Path("a/third_party/b.h"))
    assert is_third_party(Path("external/b.h"))
    assert not is_third_party(Path("src/vendor.h"))


def test_functions_and_macros_by_name() -> None:
    main = cxx_file(
        "main.cu", b'#include "w.h"\nnamespace n { struct S { int get() const { return 1; } }; }\nint main() {}\n'
    )
    header = cxx_file(
        "w.h",
        b"#define WARP 32\n#define LANE(x) \\\n  ((x) & 31)\ntemplate <int N> __device__ int f(int a) { return a; }\n",
    )
    unit = unit_of(main, header)
    assert [len(unit.functions(name)) for name in (b"get", b"main", b"f")] == [1, 1, 1]
    assert unit.functions(b"f")[0].file is header
    assert not unit.functions(b"S")  # a word of the file, but no function
    assert unit.macros[b"WARP"][0].parameters is None
    assert unit.macros[b"LANE"][0].parameters == (b"x",)
    assert unit.macros[b"LANE"][0].body == b" \\\n  ((x) & 31)"


def test_language_of_headers() -> None:
    assert cxx_file("a.h", b"__device__ int f();").language == "cuda"
    assert cxx_file("a.h", b"int f();").language == "c++"
    assert source_file("a.h", b"typedef struct CUstream_st* Stream;").language == "cuda"
    assert source_file("a.h", b"struct CUdevices; int ACUstream;").language == "c++"
    assert source_file("CMakeLists.txt", b"").language == "cmake"
    assert source_file("Makefile.cuda", b"").language == "make"


def test_lines_and_columns() -> None:
    src = cxx_file("a.cu", b"ab\ncd\n")
    assert src.line_col(0) == (1, 1)
    assert src.line_col(4) == (2, 2)
    assert src.line_span(4) == (3, 6)
