"""A library that is built when it is first called: its arguments arrive, whatever they are, and it is built once."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.emulate.libraries import LIBRARIES, declared_names, host_cxx, needed_by
from kernel_pytorch.emulate.on_call import COMMAND, build_on_call, can_wait

pytestmark = pytest.mark.skipif(not can_wait(), reason="the jumps are written for Linux on x86-64")

BEHIND = """
extern "C" {
double every(int a, double b, long c, float d, int e, int f, int g, int h, int i, double j, int k) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k;
}
int seven() { return 7; }
}
"""


def run(command: object) -> None:
    subprocess.run(list(command), check=True)  # type: ignore[call-overload]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "behind.cpp").write_text(BEHIND)
    builder = tmp_path / "builder.sh"
    real = tmp_path / "real.so"
    compile_it = " ".join([*host_cxx(), "-shared", "-fPIC", str(tmp_path / "behind.cpp"), "-o", str(real)])
    builder.write_text(f"echo $1 >> {tmp_path / 'built'}\n{compile_it} || exit 1\necho {real}\n")
    monkeypatch.setenv(COMMAND, f"sh {builder}")
    names = {"one": ("libone.so.1", ("libtwo.so.2", "libc.so.6"), ("every", "seven")), "two": ("libtwo.so.2", (), ())}
    build_on_call(tmp_path / "made", names, host_cxx(), run)
    return tmp_path


def test_every_kind_of_argument_arrives(folder: Path) -> None:
    ctypes.CDLL(str(folder / "made" / "libtwo.so.2"))  # by its soname the other one finds it
    library = ctypes.CDLL(str(folder / "made" / "libone.so.1"), mode=ctypes.RTLD_LOCAL)
    assert not (folder / "built").exists()
    library.every.restype = ctypes.c_double
    given = (1, ctypes.c_double(2), ctypes.c_long(3), ctypes.c_float(4), 5, 6, 7, 8, 9, ctypes.c_double(10), 11)
    assert library.every(*given) == sum(number * number for number in range(1, 12))
    assert library.every(*given) == 506.0  # the second call does not pass by the builder
    assert library.seven() == 7
    assert (folder / "built").read_text() == "one\n"
    assert sorted(path.name for path in (folder / "made").iterdir()) == ["libone.so.1", "libtwo.so.2"]


def test_a_library_needs_what_the_real_one_needs(folder: Path) -> None:
    image = (folder / "made" / "libone.so.1").read_bytes()
    assert b"libtwo.so.2\0" in image
    assert b"libc.so.6\0" in image


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: one.name)
def test_every_stand_in_can_be_built_on_call(library: object) -> None:
    """Names that an assembler takes, and no library before one that it needs."""
    (found,) = (one for one in LIBRARIES if one is library)
    assert all(name.isidentifier() for name in declared_names(found))
    assert found.soname not in needed_by(found)
