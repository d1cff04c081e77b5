"""Code objects, bundles, device variables; corrupt ones."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.emulate.runtime.code_objects import bundle, code_object
from tests.emulate.runtime.conftest import HERE, NATIVE, Run


def test_variables_and_relocations(run: Run) -> None:
    ran = run(
        """
        loaded, again = module(), module()
        address, length = ctypes.c_void_p(), ctypes.c_size_t()
        good("hipModuleGetGlobal", ctypes.byref(address), ctypes.byref(length), loaded, b"table")
        assert length.value == 12 and words(address.value, 3) == [5, 6, 7]
        pointer = ctypes.c_void_p()
        good("hipModuleGetGlobal", ctypes.byref(pointer), None, loaded, b"pointer")
        assert struct.unpack("<2Q", download(pointer.value, 16)) == (address.value, address.value + 4)
        upload(address.value, struct.pack("<I", 99))
        other = ctypes.c_void_p()
        good("hipModuleGetGlobal", ctypes.byref(other), None, again, b"table")
        assert other.value != address.value and words(other.value, 1) == [5]
        for one in (loaded, again):
            n = 64
            a = malloc(4 * n)
            upload(a, struct.pack(f"<{n}f", *range(n)))
            values = [ctypes.c_uint64(a), ctypes.c_uint64(a), ctypes.c_uint64(a), ctypes.c_int(n)]
            assert launch(function(one, "add"), (1, 1, 1), (64, 1, 1), values) == 0
            assert struct.unpack("<2f", download(a, 8)) == (0.0, 2.0)
            good("hipModuleUnload", one)
            assert call("hipModuleUnload", one) == INVALID_HANDLE
        assert call("hipModuleGetGlobal", ctypes.byref(other), None, module(), b"nothing") == NOT_FOUND
        """
    )
    assert ran.code == 0, ran.err


def test_second_copies_of_different_modules_stay_apart(run: Run, host_cc: str, tmp_path: Path) -> None:
    # A copy is loaded from an open file. The next copy's file has the same number, and so had the same name.
    text = (HERE / "kernels.c").read_text()
    for name in ("add", "sum"):
        elf = code_object((name,), salt=name.encode())
        (tmp_path / name).write_bytes(elf)
        (tmp_path / f"{name}.c").write_text(text.replace('KERNEL("add"', f'KERNEL("{name}"'))
        made = tmp_path / f"{hashlib.sha256(elf).hexdigest()}-gfx942-plain.so"
        words = [host_cc, "-O0", "-shared", "-fPIC", f"-I{NATIVE}", "-DWAVE=64", '-DTARGET="gfx942"', "-o", str(made)]
        subprocess.run([*words, str(tmp_path / f"{name}.c")], check=True)
    ran = run(
        f"""
        for name in ("add", "sum"):
            copies = [function(module("{tmp_path}/" + name), name) for _ in range(3)]
            assert len({{one.value for one in copies}}) == 3
        """,
        env={"KPT_EMULATE_CACHE": str(tmp_path)},
    )
    assert ran.code == 0, ran.err


def test_bundles(run: Run, tmp_path: Path) -> None:
    elf = code_object()
    entries = [("host-x86_64-unknown-linux-gnu-", b""), ("hipv4-amdgcn-amd-amdhsa--gfx1100", b"other"),
               ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", elf)]  # fmt: skip
    plain = bundle(entries)
    packed = zlib.compress(plain)
    compressed = b"CCOB" + struct.pack("<HHII8x", 2, 0, 24 + len(packed), len(plain)) + packed
    for name, content in (("plain", plain), ("compressed", compressed)):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "foreign").write_bytes(bundle(entries[:2]))
    ran = run(
        f"""
        for name in ("plain", "compressed"):
            function(module("{tmp_path}/" + name), "add")
        assert call("hipModuleLoad", ctypes.byref(ctypes.c_void_p()), b"{tmp_path}/foreign") == 209
        assert call("hipModuleLoad", ctypes.byref(ctypes.c_void_p()), b"{tmp_path}/nowhere") == 301
        """
    )
    assert ran.code == 0, ran.err
    assert "no device code for gfx942 in it (it has gfx1100)" in ran.err


@pytest.mark.parametrize("seed", range(4))
def test_damaged_code_objects_are_refused_or_load(run: Run, tmp_path: Path, seed: int) -> None:
    import random

    source = code_object()
    chosen = random.Random(seed)
    files = []
    for number in range(60):
        data = bytearray(source[: chosen.randrange(1, len(source))] if number % 3 == 0 else source)
        for _ in range(chosen.randrange(1, 12)):
            data[chosen.randrange(len(data))] = chosen.randrange(256)
        files.append(tmp_path / f"{number}.hsaco")
        files[-1].write_bytes(bytes(data))
    ran = run(
        f"""
        from pathlib import Path
        codes = [call("hipModuleLoad", ctypes.byref(ctypes.c_void_p()), str(path).encode())
                 for path in sorted(Path("{tmp_path}").glob("*.hsaco"))]
        assert len(codes) == 60 and set(codes) <= {{0, 200, 209}}, codes
        print(sum(code != 0 for code in codes))
        """
    )
    assert ran.code == 0, ran.err
    assert int(ran.out) >= 15


def test_a_module_without_translation_says_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.hsaco").write_bytes(code_object(salt=b"another"))
    ran = run(
        f"""
        loaded = module("{tmp_path}/other.hsaco")
        assert call("hipModuleGetFunction", ctypes.byref(ctypes.c_void_p()), loaded, b"add") == 218
        """
    )
    assert ran.code == 0, ran.err
    assert "KPT_EMULATE_TRANSLATE" in ran.err
