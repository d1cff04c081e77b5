"""Device code inside other files: clang offload bundles, plain or compressed, and host files that embed them."""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.toolchain.elf import MACHINE_AMDGPU, ElfError, ElfFile, is_elf

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
OFFLOAD_BINARY_MAGIC = b"\x10\xff\x10\xad"
_MAX_ENTRIES = 4096
_MAX_UNCOMPRESSED = 1 << 32


class BundleError(ValueError):
    """The bytes carry no readable AMD device code."""


@dataclass(frozen=True)
class DeviceImage:
    """One device code object with the id it is filed under, such as `hipv4-amdgcn-amd-amdhsa--gfx942`."""

    entry: str
    content: bytes


def device_images(data: bytes) -> tuple[DeviceImage, ...]:
    """Every AMD code object in a file: the file itself, a bundle's entries, or those a host file embeds."""
    try:
        found = tuple(_images(data))
    except ElfError as error:
        raise BundleError(f"damaged ELF file: {error}") from error
    if not found:
        raise BundleError("no AMD device code in it")
    return found


def _images(data: bytes) -> Iterator[DeviceImage]:
    if data.startswith((BUNDLE_MAGIC, COMPRESSED_MAGIC)):
        yield from _bundles_in(data)
    elif data.startswith(OFFLOAD_BINARY_MAGIC):
        yield from _offload_binaries(data)
    elif is_elf(data):
        elf = ElfFile(data)
        if elf.machine == MACHINE_AMDGPU:
            yield DeviceImage("", data)
            return
        yield from _embedded(elf)
    elif data.startswith(b"!<arch>"):
        raise BundleError("a static library: unpack it with `ar x` and give its members")
    else:
        raise BundleError("not a code object, an offload bundle or a host ELF file")


def _embedded(elf: ElfFile) -> Iterator[DeviceImage]:
    for section in elf.sections:
        if section.name.startswith(".hip_fatbin") or section.name.startswith("__hip_fatbin"):
            yield from _bundles_in(elf.content(section))
        elif section.name == ".llvm.offloading":
            yield from _offload_binaries(elf.content(section))


def _bundles_in(data: bytes) -> Iterator[DeviceImage]:
    """Bundles one after the other, with padding between: one per translation unit of a linked program."""
    at = 0
    while True:
        starts = [p for p in (data.find(BUNDLE_MAGIC, at), data.find(COMPRESSED_MAGIC, at)) if p >= 0]
        if not starts:
            return
        start = min(starts)
        if data.startswith(COMPRESSED_MAGIC, start):
            plain, used = _decompress(data[start:])
            yield from _entries(plain)[0]
        else:
            images, used = _entries(data[start:])
            yield from images
        at = start + used


def _entries(data: bytes) -> tuple[list[DeviceImage], int]:
    """The AMD device entries of one plain bundle, and how many bytes it covers."""
    if not data.startswith(BUNDLE_MAGIC):
        raise BundleError("the decompressed bytes are not an offload bundle")
    at = len(BUNDLE_MAGIC)
    count = _unpack("<Q", data, at)[0]
    if count > _MAX_ENTRIES:
        raise BundleError(f"an offload bundle with {count} entries is damaged")
    at += 8
    images: list[DeviceImage] = []
    end = at
    for _ in range(count):
        offset, size, id_size = _unpack("<QQQ", data, at)
        at += 24
        if at + id_size > len(data) or offset + size > len(data):
            raise BundleError("an entry of the offload bundle lies outside the file")
        entry = data[at : at + id_size].decode("utf-8", errors="replace")
        at += id_size
        end = max(end, at, offset + size)
        if "amdgcn" in entry and size:
            images.append(DeviceImage(entry, data[offset : offset + size]))
    return images, end


def _decompress(data: bytes) -> tuple[bytes, int]:
    """The plain bundle of a compressed one, and how many bytes it took."""
    version, method = _unpack("<HH", data, 4)
    if version == 1:
        plain_size, digest = _unpack("<IQ", data, 8)
        header, whole = 20, len(data)
    elif version == 2:
        whole, plain_size, digest = _unpack("<IIQ", data, 8)
        header = 24
    elif version == 3:
        whole, plain_size, digest = _unpack("<QQQ", data, 8)
        header = 32
    else:
        raise BundleError(f"compressed offload bundle of version {version}; versions 1 to 3 are known")
    if not header <= whole <= len(data) or plain_size > _MAX_UNCOMPRESSED:
        raise BundleError("the compressed offload bundle is cut short or damaged")
    payload = data[header:whole]
    if method == 0:
        try:
            plain = zlib.decompress(payload, bufsize=min(plain_size, len(data) * 100) or 1)
        except zlib.error as error:
            raise BundleError(f"compressed offload bundle: {error}") from error
    elif method == 1:
        plain = _zstd(payload, plain_size)
    else:
        raise BundleError(f"offload bundle compressed with unknown method {method}")
    if len(plain) != plain_size or hashlib.md5(plain, usedforsecurity=False).digest()[:8] != struct.pack("<Q", digest):
        raise BundleError("the compressed offload bundle does not unpack to what its header says")
    return plain, whole


def _zstd(payload: bytes, plain_size: int) -> bytes:
    # The frame header bounds the size; a damaged header must not make us allocate gigabytes.
    if plain_size > max(1 << 20, len(payload) * 20_000):
        raise BundleError("the compressed offload bundle claims an impossible size")
    name = ctypes.util.find_library("zstd")
    if name is None:
        raise BundleError(
            "compressed with zstd, and no libzstd on this machine: install it, or build with --no-offload-compress"
        )
    library = ctypes.CDLL(name)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    library.ZSTD_isError.argtypes = (ctypes.c_size_t,)
    room = ctypes.create_string_buffer(max(plain_size, 1))
    wrote = library.ZSTD_decompress(room, plain_size, payload, len(payload))
    if library.ZSTD_isError(wrote):
        raise BundleError("the compressed offload bundle does not unpack (zstd)")
    return room.raw[:wrote]


def _offload_binaries(data: bytes) -> Iterator[DeviceImage]:
    """Images of LLVM's own container, which the newer offload driver writes, one after the other."""
    start = data.find(OFFLOAD_BINARY_MAGIC)
    while start >= 0:
        _, version, size, entry_at, entry_size = _unpack("<IIQQQ", data, start)
        if version != 1 or size < 32 or start + size > len(data):
            raise BundleError(f"an offload binary of version {version} and {size} bytes cannot be read")
        image, entry = _offload_entry(data[start : start + size], entry_at, entry_size)
        if is_elf(image):
            yield DeviceImage(entry, image)
        start = data.find(OFFLOAD_BINARY_MAGIC, start + size)


def _offload_entry(data: bytes, entry_at: int, entry_size: int) -> tuple[bytes, str]:
    if entry_size < 40:
        raise BundleError(f"an offload binary entry of {entry_size} bytes is too small")
    _, _, _, strings_at, strings, image_at, image_size = _unpack("<HHIQQQQ", data, entry_at)
    if image_at + image_size > len(data) or strings > _MAX_ENTRIES:
        raise BundleError("an image of the offload binary lies outside the file")
    labels: dict[str, str] = {}
    for index in range(strings):
        key, value = _unpack("<QQ", data, strings_at + 16 * index)
        labels[_c_string(data, key)] = _c_string(data, value)
    return data[image_at : image_at + image_size], f"{labels.get('triple', '')}-{labels.get('arch', '')}"


def _c_string(data: bytes, at: int) -> str:
    end = data.find(b"\0", at)
    return data[at:end].decode("utf-8", errors="replace") if at < len(data) and end >= 0 else ""


def _unpack(form: str, data: bytes, at: int) -> tuple[int, ...]:
    if at < 0 or at + struct.calcsize(form) > len(data):
        raise BundleError("the offload bundle is cut short")
    return struct.unpack_from(form, data, at)
