"""What is in an AMD code object: its target and, per kernel, registers, spills, LDS, scratch and arguments.

Pure Python. The figures come from the AMDGPU metadata note, which the compiler writes and the runtime reads;
the kernel descriptors in the same file say the hardware's version of them and are used as a check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kernel_pytorch.core.hardware import processors
from kernel_pytorch.toolchain.demangle import demangle
from kernel_pytorch.toolchain.elf import MACHINE_AMDGPU, ElfError, ElfFile, Note, Symbol
from kernel_pytorch.toolchain.kernel_descriptor import DESCRIPTOR_BYTES, KernelDescriptor, parse_descriptor
from kernel_pytorch.toolchain.kernel_metadata import kernel_entry
from kernel_pytorch.toolchain.msgpack import MessagePackError, Value, decode
from kernel_pytorch.toolchain.offload_bundle import BundleError, DeviceImage, device_images

_NOTE_METADATA = 32
_DESCRIPTOR_SUFFIX = ".kd"
_FEATURE_STATES = {0x2: "-", 0x3: "+"}  # 0: the target has no such feature, 1: any setting will do


class CodeObjectError(ValueError):
    """The bytes are not a readable AMD code object."""


@dataclass(frozen=True)
class KernelArg:
    """One kernel argument as it lies in the kernarg segment. Hidden ones have a kind that starts with `hidden_`."""

    offset: int
    size: int
    kind: str
    name: str
    address_space: str

    @property
    def is_hidden(self) -> bool:
        return self.kind.startswith("hidden_")


@dataclass(frozen=True)
class KernelResources:
    """What one kernel needs, as its metadata states it.

    `vgprs` is the number occupancy depends on: on gfx90a and later it counts AGPRs too, which come out of the same
    file, and `agprs` says how many of them they are. Register spill counts are numbers of registers.
    """

    name: str
    symbol: str
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch_bytes: int
    lds_bytes: int
    kernarg_bytes: int
    kernarg_align: int
    max_workgroup_size: int
    required_workgroup_size: tuple[int, int, int] | None
    wave_size: int
    uses_dynamic_stack: bool
    workgroup_processor_mode: bool
    args: tuple[KernelArg, ...]
    descriptor: KernelDescriptor | None = None

    @property
    def has_spills(self) -> bool:
        return bool(self.vgpr_spills or self.sgpr_spills)

    @property
    def explicit_args(self) -> tuple[KernelArg, ...]:
        """The arguments the kernel's author wrote, without those the compiler adds."""
        return tuple(arg for arg in self.args if not arg.is_hidden)


@dataclass(frozen=True)
class CodeObject:
    """One device code object."""

    target: str
    target_features: tuple[str, ...]  # such as ("sramecc+", "xnack-"); a feature that may be either is left out
    kernels: tuple[KernelResources, ...]
    version: int  # code object version, 3 to 6
    size: int

    @property
    def target_id(self) -> str:
        """`gfx942:sramecc+:xnack-`, as compilers take it."""
        return ":".join((self.target, *self.target_features))

    def kernel(self, name: str) -> KernelResources:
        """The kernel of that symbol or C++ name; raises KeyError that lists those there are."""
        for kernel in self.kernels:
            if name in (kernel.symbol, kernel.name) or kernel.name.startswith(f"{name}("):
                return kernel
        raise KeyError(f"no kernel {name!r}; there are {', '.join(k.name for k in self.kernels) or 'none'}")


def read_code_object(data: bytes) -> CodeObject:
    """Read one code object. A bundle or host file must hold exactly one; `read_code_objects` takes any number."""
    found = read_code_objects(data)
    if len(found) > 1:
        targets = ", ".join(one.target_id for one in found)
        raise CodeObjectError(f"holds {len(found)} code objects ({targets}); use read_code_objects")
    return found[0]


def read_code_objects(data: bytes) -> tuple[CodeObject, ...]:
    """Read every AMD code object in a .hsaco, an offload bundle, or a host object or executable."""
    with _damage_named():
        return tuple(_read(ElfFile(image.content)) for image in code_object_images(data))


def read_kernel(elf: ElfFile, symbol: str) -> CodeObject:
    """A code object with the kernel of that symbol alone, or with none where it has no such kernel.

    A library describes thousands of kernels, and a program launches a few: only this one's description is read and
    only its name demangled.
    """
    with _damage_named():
        entry = None
        if elf.machine == MACHINE_AMDGPU and _machine(elf) in _processor_names():
            entries = (kernel_entry(note.content, symbol) for note in _metadata_notes(elf))
            entry = next((one for one in entries if one is not None), None)
        if entry is None:  # written in another way, or a processor that only the whole metadata names
            whole = _read(elf)
            return replace(whole, kernels=tuple(one for one in whole.kernels if one.symbol == symbol))
        target, features = _target(elf, {})
        kernel = _kernel(entry, elf, target, _descriptor_symbols(elf))
        return CodeObject(target, features, (kernel,), version=elf.abi_version + 2, size=len(elf.data))


def kernel_symbols(elf: ElfFile) -> set[str]:
    """The symbols of a code object's kernels: those with a kernel descriptor."""
    return {
        symbol.name.removesuffix(_DESCRIPTOR_SUFFIX)
        for symbol in elf.symbols()
        if symbol.name.endswith(_DESCRIPTOR_SUFFIX)
    }


def code_object_images(data: bytes) -> tuple[DeviceImage, ...]:
    """The code objects of a file as bytes, with the ids they are filed under."""
    try:
        return device_images(data)
    except BundleError as error:
        raise CodeObjectError(str(error)) from error


def descriptor_mismatches(kernel: KernelResources, target: str) -> tuple[str, ...]:
    """Where the metadata and the kernel descriptor disagree: a sign of a damaged or hand-edited file."""
    descriptor = kernel.descriptor
    if descriptor is None:
        return ("no kernel descriptor",)
    pairs = (
        ("LDS bytes", kernel.lds_bytes, descriptor.lds_bytes),
        ("scratch bytes", kernel.scratch_bytes, descriptor.scratch_bytes),
        ("kernarg bytes", kernel.kernarg_bytes, descriptor.kernarg_bytes),
        ("wave size", kernel.wave_size, descriptor.wave_size),
    )
    found = [f"{what}: metadata {a}, descriptor {b}" for what, a, b in pairs if a != b]
    if kernel.vgprs > descriptor.vgprs_at_most(target):
        found.append(f"VGPRs: metadata {kernel.vgprs}, descriptor at most {descriptor.vgprs_at_most(target)}")
    return tuple(found)


@contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except (ElfError, MessagePackError) as error:
        raise CodeObjectError(f"damaged code object: {error}") from error


def _read(elf: ElfFile) -> CodeObject:
    if elf.machine != MACHINE_AMDGPU:
        raise CodeObjectError(f"ELF machine {elf.machine} is not AMDGPU ({MACHINE_AMDGPU})")
    metadata = _metadata(elf)
    descriptors = _descriptor_symbols(elf)
    target, features = _target(elf, metadata[0])
    kernels = tuple(
        _kernel(_mapping(entry, "kernel"), elf, target, descriptors)
        for document in metadata
        for entry in _kernel_entries(document)
    )
    return CodeObject(target, features, kernels, version=elf.abi_version + 2, size=len(elf.data))


def _metadata_notes(elf: ElfFile) -> Iterator[Note]:
    return (note for note in elf.notes() if note.owner == "AMDGPU" and note.kind == _NOTE_METADATA)


def _metadata(elf: ElfFile) -> list[dict[Value, Value]]:
    """Every metadata document. A link of several objects, or link-time optimisation in parts, leaves one for each."""
    found = [_mapping(decode(note.content), "AMDGPU metadata") for note in _metadata_notes(elf)]
    if not found:
        raise CodeObjectError("no AMDGPU metadata note (code object version 2, or not for amdhsa)")
    return found


def _kernel_entries(metadata: Mapping[Value, Value]) -> list[Value]:
    entries = metadata.get("amdhsa.kernels", [])
    if not isinstance(entries, list):
        raise CodeObjectError("amdhsa.kernels is not a list")
    return entries


def _descriptor_symbols(elf: ElfFile) -> dict[str, Symbol]:
    return {symbol.name: symbol for symbol in elf.symbols() if symbol.name.endswith(_DESCRIPTOR_SUFFIX)}


def _target(elf: ElfFile, metadata: Mapping[Value, Value]) -> tuple[str, tuple[str, ...]]:
    machine = _machine(elf)
    named_by_number = _processor_names()
    if machine in named_by_number:
        if elf.abi_version >= 2:  # code object version 4 and later: two bits per feature
            states = (("sramecc", (elf.flags >> 10) & 3), ("xnack", (elf.flags >> 8) & 3))
            features = tuple(name + _FEATURE_STATES[s] for name, s in states if s in _FEATURE_STATES)
        else:
            features = tuple(name for name, bit in (("sramecc+", 0x200), ("xnack+", 0x100)) if elf.flags & bit)
        return named_by_number[machine], features
    # A processor newer than our table: the metadata names it.
    named = metadata.get("amdhsa.target")
    match = re.search(r"--(gfx[0-9a-z-]+)((?::[a-z]+[+-])*)$", named) if isinstance(named, str) else None
    if match is None:
        raise CodeObjectError(f"unknown AMDGPU processor 0x{machine:02x} in the ELF flags")
    return match[1], tuple(part for part in match[2].split(":") if part)


def _machine(elf: ElfFile) -> int:
    number: int = elf.flags & 0xFF  # EF_AMDGPU_MACH
    return number


def _processor_names() -> dict[int, str]:
    return {row.elf_machine: row.name for row in processors() if row.elf_machine is not None}


def _kernel(
    entry: Mapping[Value, Value], elf: ElfFile, target: str, descriptors: Mapping[str, Symbol]
) -> KernelResources:
    symbol = _text(entry, ".name")
    descriptor_name = _text(entry, ".symbol", symbol + _DESCRIPTOR_SUFFIX)
    descriptor = None
    if descriptor_name in descriptors:
        descriptor = parse_descriptor(elf.bytes_of(descriptors[descriptor_name], DESCRIPTOR_BYTES), target)
    args = entry.get(".args", [])
    if not isinstance(args, list):
        raise CodeObjectError(f"the arguments of {symbol} are not a list")
    in_wgp_mode = entry.get(".workgroup_processor_mode")
    if in_wgp_mode is None:
        in_wgp_mode = descriptor is not None and descriptor.workgroup_processor_mode
    return KernelResources(
        name=demangle(symbol),
        symbol=symbol,
        vgprs=_count(entry, ".vgpr_count"),
        agprs=_count(entry, ".agpr_count", 0),
        sgprs=_count(entry, ".sgpr_count"),
        vgpr_spills=_count(entry, ".vgpr_spill_count", 0),
        sgpr_spills=_count(entry, ".sgpr_spill_count", 0),
        scratch_bytes=_count(entry, ".private_segment_fixed_size"),
        lds_bytes=_count(entry, ".group_segment_fixed_size"),
        kernarg_bytes=_count(entry, ".kernarg_segment_size"),
        kernarg_align=_count(entry, ".kernarg_segment_align"),
        max_workgroup_size=_count(entry, ".max_flat_workgroup_size"),
        required_workgroup_size=_required_size(entry),
        wave_size=_count(entry, ".wavefront_size"),
        uses_dynamic_stack=bool(entry.get(".uses_dynamic_stack", False)),
        workgroup_processor_mode=bool(in_wgp_mode),
        args=tuple(_argument(_mapping(arg, "argument")) for arg in args),
        descriptor=descriptor,
    )


def _argument(entry: Mapping[Value, Value]) -> KernelArg:
    return KernelArg(
        offset=_count(entry, ".offset"),
        size=_count(entry, ".size"),
        kind=_text(entry, ".value_kind"),
        name=_text(entry, ".name", ""),
        address_space=_text(entry, ".address_space", ""),
    )


def _required_size(entry: Mapping[Value, Value]) -> tuple[int, int, int] | None:
    sizes = entry.get(".reqd_workgroup_size")
    if sizes is None:
        return None
    if isinstance(sizes, list) and len(sizes) == 3:
        x, y, z = sizes
        if isinstance(x, int) and isinstance(y, int) and isinstance(z, int):
            return x, y, z
    raise CodeObjectError(f".reqd_workgroup_size is {sizes!r}, not three numbers")


def _mapping(value: Value, what: str) -> dict[Value, Value]:
    if not isinstance(value, dict):
        raise CodeObjectError(f"the {what} entry is not a map")
    return value


def _count(entry: Mapping[Value, Value], key: str, default: int | None = None) -> int:
    value = entry.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise CodeObjectError(f"{key} is {value!r}, not a count")
    return value


def _text(entry: Mapping[Value, Value], key: str, default: str | None = None) -> str:
    value = entry.get(key, default)
    if not isinstance(value, str):
        raise CodeObjectError(f"{key} is {value!r}, not a text")
    return value
