from __future__ import annotations

import hashlib
import os
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from kernel_pytorch.toolchain.code_object import CodeObjectError, read_code_object, read_code_objects
from kernel_pytorch.toolchain.offload_bundle import BUNDLE_MAGIC, BundleError, device_images
from tests.toolchain.device_ir import Spec, build, link

FIRST = "hipv4-amdgcn-amd-amdhsa--gfx942"
SECOND = "hipv4-amdgcn-amd-amdhsa--gfx1100"


def code_objects() -> tuple[bytes, bytes]:
    return link(build((Spec(vgprs=40),), "gfx942")), link(build((Spec(vgprs=50),), "gfx1100"))


def bundle(entries: list[tuple[str, bytes]]) -> bytes:
    """A plain offload bundle, as clang-offload-bundler lays it out: header, then images on 4096-byte boundaries."""
    header = BUNDLE_MAGIC + struct.pack("<Q", len(entries))
    size = len(header) + sum(24 + len(name) for name, _ in entries)
    at = -(-size // 4096) * 4096
    body = b""
    for name, content in entries:
        header += struct.pack("<QQQ", at + len(body), len(content), len(name)) + name.encode()
        body += content + b"\0" * (-len(content) % 4096)
    return header + b"\0" * (at - len(header)) + body


def sample() -> bytes:
    first, second = code_objects()
    return bundle([("host-x86_64-unknown-linux-gnu-", b""), (FIRST, first), (SECOND, second)])


def compressed(plain: bytes, version: int, payload: bytes | None = None, method: int = 0) -> bytes:
    payload = zlib.compress(plain) if payload is None else payload
    digest = hashlib.md5(plain).digest()[:8]
    start = b"CCOB" + struct.pack("<HH", version, method)
    if version == 1:
        return start + struct.pack("<I", len(plain)) + digest + payload
    if version == 2:
        return start + struct.pack("<II", 24 + len(payload), len(plain)) + digest + payload
    return start + struct.pack("<QQ", 32 + len(payload), len(plain)) + digest + payload


def targets(data: bytes) -> list[tuple[str, int]]:
    return [(one.target, one.kernels[0].vgprs) for one in read_code_objects(data)]


def test_plain_bundle() -> None:
    assert targets(sample()) == [("gfx942", 40), ("gfx1100", 50)]
    assert [image.entry for image in device_images(sample())] == [FIRST, SECOND]
    with pytest.raises(CodeObjectError, match=r"2 code objects \(gfx942, gfx1100\)"):
        read_code_object(sample())


def test_bundle_of_one_reads_as_one() -> None:
    assert read_code_object(bundle([(FIRST, code_objects()[0])])).target == "gfx942"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles(version: int) -> None:
    assert targets(compressed(sample(), version)) == [("gfx942", 40), ("gfx1100", 50)]


def test_zstd_bundle() -> None:
    zstd = pytest.importorskip("ctypes.util").find_library("zstd")
    if zstd is None:
        pytest.skip("no libzstd on this machine")
    import ctypes

    library = ctypes.CDLL(zstd)
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    plain = sample()
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(plain))))
    sizes = ctypes.c_size_t(len(room)), ctypes.c_size_t(len(plain))
    wrote = library.ZSTD_compress(room, sizes[0], plain, sizes[1], 3)
    assert targets(compressed(plain, 3, room.raw[:wrote], method=1)) == [("gfx942", 40), ("gfx1100", 50)]


def test_zstd_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(BundleError, match="no libzstd on this machine: install it"):
        device_images(compressed(sample(), 3, b"(\xb5/\xfd" + b"\0" * 1000, method=1))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (compressed(b"x" * 100, 9), "version 9"),
        (compressed(b"x" * 100, 3, method=7), "unknown method 7"),
        (compressed(b"x" * 100, 3)[:-4], "cut short"),
        (compressed(b"x" * 100, 3), "not an offload bundle"),
        (compressed(b"x" * 100, 3, zlib.compress(b"y" * 100)), "does not unpack to what its header says"),
        (compressed(b"x" * 100, 3, b"garbage"), "compressed offload bundle"),
        (BUNDLE_MAGIC, "cut short"),
        (BUNDLE_MAGIC + struct.pack("<Q", 1 << 60), "damaged"),
        (BUNDLE_MAGIC + struct.pack("<QQQQ", 1, 1 << 40, 5, 2) + b"ab", "outside the file"),
        (bundle([("host-x86_64-unknown-linux-gnu-", b"")]), "no AMD device code"),
    ],
)
def test_damage(data: bytes, said: str) -> None:
    with pytest.raises(BundleError, match=said):
        device_images(data)


def test_bit_flips_never_escape_as_another_error() -> None:
    numbers = random.Random(7)
    for whole in (sample(), compressed(sample(), 3)):
        for _ in range(300):
            damaged = bytearray(whole)
            for _ in range(3):
                damaged[numbers.randrange(200)] ^= 1 << numbers.randrange(8)
            try:
                read_code_objects(bytes(damaged))
            except CodeObjectError:
                continue


def host_object(directory: Path, section: str, content: bytes) -> bytes:
    """A host object file with device code in a section, as the compiler driver leaves it."""
    (directory / "content").write_bytes(content)
    (directory / "host.s").write_text(f'.section {section},"a"\n.p2align 12\n.incbin "content"\n')
    command = [sys.executable, "-m", "ziglang", "clang", "--target=x86_64-linux-gnu", "-c", "host.s", "-o", "host.o"]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return (directory / "host.o").read_bytes()


def test_host_object(tmp_path: Path) -> None:
    assert targets(host_object(tmp_path, ".hip_fatbin", sample())) == [("gfx942", 40), ("gfx1100", 50)]


def test_several_bundles_in_one_program(tmp_path: Path) -> None:
    first, second = code_objects()
    padding = b"\0" * 4096
    content = bundle([(FIRST, first)]) + padding + compressed(bundle([(SECOND, second)]), 2)
    assert targets(host_object(tmp_path, ".hip_fatbin", content)) == [("gfx942", 40), ("gfx1100", 50)]


@pytest.mark.rocm_headers
@pytest.mark.parametrize("flags", [(), ("--offload-compress",), ("--offload-new-driver",)])
def test_objects_of_a_real_driver(tmp_path: Path, flags: tuple[str, ...]) -> None:
    root = Path(os.environ.get("KPT_ROCM_ROOT") or Path(__file__).parents[2] / ".rocm")
    if not (root / "bin/clang++").exists():
        pytest.skip("no unpacked ROCm tree (make rocm-debian)")
    (tmp_path / "k.hip").write_text('#include <hip/hip_runtime.h>\nextern "C" __global__ void k(int* p) { *p = 1; }\n')
    common = [str(root / "bin/clang++"), "-x", "hip", f"--rocm-path={root}", "-c", "k.hip", "-o", "k.o"]
    targets = ["--offload-arch=gfx942:xnack-", "--offload-arch=gfx1100"]
    subprocess.run([*common, *targets, *flags], cwd=tmp_path, check=True, capture_output=True)
    found = read_code_objects((tmp_path / "k.o").read_bytes())
    assert sorted(one.target_id for one in found) == ["gfx1100", "gfx942:xnack-"]
    assert all(one.kernels[0].name == "k" for one in found)


def test_llvm_offload_binary(tmp_path: Path) -> None:
    image = code_objects()[0]
    strings = b"\0triple\0amdgcn-amd-amdhsa\0arch\0gfx942\0"
    table_at, text_at = 32 + 40, 32 + 40 + 32
    places = [text_at + strings.index(word) for word in (b"triple", b"amdgcn", b"arch", b"gfx942")]
    image_at = -(-(text_at + len(strings)) // 8) * 8
    entry = struct.pack("<HHIQQQQ", 1, 4, 0, table_at, 2, image_at, len(image))
    body = entry + struct.pack("<QQQQ", *places) + strings
    size = image_at + len(image)
    whole = b"\x10\xff\x10\xad" + struct.pack("<IQQQ", 1, size, 32, 40) + body
    whole = whole.ljust(image_at, b"\0") + image
    assert targets(whole) == [("gfx942", 40)]
    assert targets(host_object(tmp_path, ".llvm.offloading", whole)) == [("gfx942", 40)]
    assert device_images(whole)[0].entry == "amdgcn-amd-amdhsa-gfx942"
