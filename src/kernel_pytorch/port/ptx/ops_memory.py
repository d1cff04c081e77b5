"""Loads, stores, atomics, prefetches, address conversions and fences. Cache hints are dropped: they change no value."""

from __future__ import annotations

from kernel_pytorch.port.ptx.lower import CPP, Handler, Lowering, NotTranslated, bits_of, expect, only, type_of
from kernel_pytorch.port.ptx.parse import Address, Instruction, Negated, Operand, Register, Vector

LDS = "__attribute__((address_space(3)))"
# By way of 64 bits: the host's pass, which reads device code too, has no pointer of 32 bits.
_LDS_ADDRESS = f"(unsigned)(unsigned long long)({LDS} void*)"
_SPACES = frozenset({"global", "shared", "shared::cta"})
_HINTS = frozenset({
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak",
    "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
    "L2::evict_last", "L2::evict_first", "L2::evict_normal", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B",
})  # fmt: skip
_SCOPES = {"cta": "WORKGROUP", "gpu": "AGENT", "sys": "SYSTEM"}
_TYPES = "b8 u8 s8 b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64"
_VECTOR_TYPES = {
    "u8": "uchar", "b8": "uchar", "s8": "char", "u16": "ushort", "b16": "ushort", "s16": "short",
    "u32": "uint", "b32": "uint", "s32": "int", "f32": "float", "u64": "ulonglong", "b64": "ulonglong",
    "s64": "longlong", "f64": "double",
}  # fmt: skip


def _space(item: Instruction) -> str:
    if item.has("shared::cluster"):
        raise NotTranslated(f"{item.name}: AMD GPUs have no thread block clusters")
    return "shared" if item.has("shared", "shared::cta") else "generic"


def _pointer(state: Lowering, item: Instruction, address: Operand, pointee: str) -> str:
    """A C++ pointer expression to `pointee` for `[base + offset]`."""
    if not isinstance(address, Address):
        raise NotTranslated(f"{item.text}: no address where one is needed")
    if isinstance(address.base, Register) and address.base.name not in state.registers:
        raise NotTranslated(f"{item.text}: the address is a PTX symbol")
    offset = f" + {address.offset}" if address.offset > 0 else f" - {-address.offset}" if address.offset else ""
    if _space(item) == "shared":
        base = state.read(address.base, "u64" if state.bits_of_operand(address.base) == 64 else "u32")
        place = f"(unsigned)({base}){offset}" if offset else f"(unsigned)({base})"
        return f"({LDS} {pointee}*)({place})"
    if state.bits_of_operand(address.base) != 64:
        raise NotTranslated(f"{item.text}: a 32-bit address outside shared memory")
    direct = state.unbound_expression(address.base)
    if direct is not None:
        # Straight from the operand: a trip through an integer would hide from the compiler which memory it is.
        return f"({pointee}*)((const char*)({direct}){offset})" if offset else f"({pointee}*)({direct})"
    base = state.read(address.base, "u64")
    return f"({pointee}*)({base}{offset})"


def shared_address(state: Lowering, item: Instruction, address: Operand) -> str:
    """The 32-bit LDS address of `[base + offset]`: a generic one where the instruction names no space."""
    if item.has("shared", "shared::cta"):
        # The text of _pointer without its type.
        return _pointer(state, item, address, "void").removeprefix(f"({LDS} void*)")
    return f"{_LDS_ADDRESS}({_pointer(state, item, address, 'void')})"


def _vector_pointer(state: Lowering, item: Instruction, address: Operand, vector: str) -> str:
    """HIP's vector types are classes: their operators take generic pointers only."""
    pointer = _pointer(state, item, address, vector)
    return f"({vector}*){pointer}" if _space(item) == "shared" else pointer


def _ordering(item: Instruction, direction: str) -> tuple[str, str] | None:
    """(memory order, scope) of an access with PTX memory semantics; None for a plain one."""
    order = (
        "ACQUIRE"
        if item.has("acquire")
        else "RELEASE"
        if item.has("release")
        else "RELAXED"
        if item.has("relaxed")
        else ""
    )
    if not order:
        return None
    if (order == "ACQUIRE") != (direction == "load") and order != "RELAXED":
        raise NotTranslated(f"{item.name} has no known C++ form")
    scope = next((word for key, word in _SCOPES.items() if item.has(key)), None)
    if scope is None:
        raise NotTranslated(f"{item.name}: no scope AMD has")
    return order, f"__HIP_MEMORY_SCOPE_{scope}"


def _allowed(kind: str) -> set[str]:
    return {*_SPACES, *_HINTS, "volatile", "acquire", "release", "relaxed", "v2", "v4", kind, *_SCOPES}


def _operands(item: Instruction, count: int) -> tuple[Operand, ...]:
    # A cache policy is one operand more, and a hint like the others.
    extra = 1 if item.has("L2::cache_hint") else 0
    return expect(item, count + extra)[:count]


def _load(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _TYPES)
    only(item, _allowed(kind))
    destination, address = _operands(item, 2)
    order = _ordering(item, "load")
    if isinstance(destination, Vector):
        _load_vector(state, item, kind, destination.items, address, order)
        return
    if item.has("v2", "v4"):
        raise NotTranslated(f"{item.text}: a vector load into one register")
    state.write(destination, kind, _load_one(state, item, kind, address, order))


def _load_one(state: Lowering, item: Instruction, kind: str, address: Operand, order: tuple[str, str] | None) -> str:
    if order:
        pointer = _generic(_pointer(state, item, address, CPP[kind]), kind, item)
        return f"__hip_atomic_load({pointer}, __ATOMIC_{order[0]}, {order[1]})"
    qualifier = "volatile " if item.has("volatile") else "const "
    return f"*{_pointer(state, item, address, qualifier + CPP[kind])}"


def _generic(pointer: str, kind: str, item: Instruction) -> str:
    return f"({CPP[kind]}*){pointer}" if _space(item) == "shared" else pointer


def _load_vector(
    state: Lowering,
    item: Instruction,
    kind: str,
    items: tuple[Operand, ...],
    address: Operand,
    order: tuple[str, str] | None,
) -> None:
    count = 2 if item.has("v2") else 4 if item.has("v4") else 0
    if count != len(items) or count * bits_of(kind) > 128:
        raise NotTranslated(f"{item.text}: {len(items)} registers")
    number = len(state.lines)
    name = f"kpt_v{number}"
    if order or item.has("volatile"):
        # PTX models these vector accesses as scalar ones in no particular order.
        qualifier = "" if order else "volatile "
        pointer = (
            _generic(_pointer(state, item, address, qualifier + CPP[kind]), kind, item)
            if order
            else _pointer(state, item, address, qualifier + CPP[kind])
        )
        state.lines.append(f"const auto {name} = {pointer};")
        values = [
            f"__hip_atomic_load({name} + {index}, __ATOMIC_{order[0]}, {order[1]})" if order else f"{name}[{index}]"
            for index in range(count)
        ]
        parts = [f"kpt_e{number}_{index}" for index in range(count)]
        for part, value in zip(parts, values, strict=True):
            state.lines.append(f"const {CPP[kind]} {part} = {value};")
    else:
        vector = f"{_VECTOR_TYPES[kind]}{count}"
        state.lines.append(f"const {vector} {name} = *{_vector_pointer(state, item, address, 'const ' + vector)};")
        parts = [f"{name}.{axis}" for axis in "xyzw"[:count]]
    for operand, part in zip(items, parts, strict=True):
        state.write(operand, kind, part)


def _store(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _TYPES)
    only(item, _allowed(kind) - {"nc", "acquire"})
    address, source = _operands(item, 2)
    order = _ordering(item, "store")
    items = source.items if isinstance(source, Vector) else (source,)
    count = 2 if item.has("v2") else 4 if item.has("v4") else 1
    if count != len(items) or count * bits_of(kind) > 128:
        raise NotTranslated(f"{item.text}: {len(items)} registers")
    values = [state.read(operand, kind) for operand in items]
    if count == 1 and not order:
        qualifier = "volatile " if item.has("volatile") else ""
        state.lines.append(f"*{_pointer(state, item, address, qualifier + CPP[kind])} = {values[0]};")
        return
    if not order and not item.has("volatile"):
        vector = f"{_VECTOR_TYPES[kind]}{count}"
        pointer = _vector_pointer(state, item, address, vector)
        state.lines.append(f"*{pointer} = make_{vector}({', '.join(values)});")
        return
    name = f"kpt_s{len(state.lines)}"
    if order:
        state.lines.append(f"const auto {name} = {_generic(_pointer(state, item, address, CPP[kind]), kind, item)};")
        for index, value in enumerate(values):
            state.lines.append(f"__hip_atomic_store({name} + {index}, {value}, __ATOMIC_{order[0]}, {order[1]});")
        return
    state.lines.append(f"const auto {name} = {_pointer(state, item, address, 'volatile ' + CPP[kind])};")
    state.lines.extend(f"{name}[{index}] = {value};" for index, value in enumerate(values))


_COPY_TYPES = {4: "unsigned", 8: "uint2", 16: "uint4"}


def _async_copy(state: Lowering, item: Instruction) -> None:
    """cp.async without bulk: the copy is made on the spot, or loads into LDS under way are all waited for.

    A program that reads the destination only after waiting, as PTX demands, sees the same bytes.
    """
    if item.has("commit_group", "wait_group", "wait_all"):
        only(item, {"async", "commit_group", "wait_group", "wait_all"})
        state.lines.append(";" if item.has("commit_group") else "kpt_own_copies_done();")
        return
    only(
        item,
        {"async", "ca", "cg", "shared", "shared::cta", "global", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"},
    )
    operands = item.operands[:-1] if item.has("L2::cache_hint") else item.operands
    if len(operands) not in (3, 4) or not item.has("shared", "shared::cta"):
        raise NotTranslated(f"{item.text}: operands")
    size = state.constant(operands[2])
    words = _COPY_TYPES.get(size or 0)
    if words is None:
        words = ""  # "n"(sizeof(T))
    number = len(state.lines)
    to, source = f"kpt_to{number}", f"kpt_from{number}"
    kind = words or "unsigned char"
    target = _pointer(state, item, operands[0], kind)
    state.lines.append(f"{kind}* const {to} = ({kind}*){target};")
    from_global = Instruction("ld", ("global",), (), None, item.text)
    state.lines.append(f"const {kind}* const {source} = {_pointer(state, from_global, operands[1], 'const ' + kind)};")
    total = str(size) if words else f"(unsigned)({state.read(operands[2], 'u32')})"
    each = "for (unsigned kpt_i = 0; kpt_i < {total}; ++kpt_i) ((unsigned char*){to})[kpt_i] = {value};"
    byte = f"((const unsigned char*){source})[kpt_i]"
    whole = f"kpt_own_copy({to}, {source});" if words else _copy_of_size(total, to, source)
    if len(operands) == 3 or (words and state.constant(operands[3]) == size):
        state.lines.append(whole)
        return
    if isinstance(operands[3], (Register, Negated)):
        raise NotTranslated(f"{item.text}: an ignore-src predicate")
    # Bytes past src-size are zero.
    held = f"kpt_n{number}"
    state.lines.append(f"const unsigned {held} = {state.read(operands[3], 'u32')};")
    filled = each.format(total=total, to=to, value=f"kpt_i < {held} ? {byte} : 0")
    state.lines.append(f"if ({held} == {total}) {{ {whole} }} else {filled}")


def _copy_of_size(total: str, to: str, source: str) -> str:
    """A copy whose size is a constant of the code around it, such as a template's: PTX has 4, 8 and 16."""
    choices = (
        f"if ({total} == {size}) kpt_own_copy(({kind}*){to}, (const {kind}*){source});"
        for size, kind in _COPY_TYPES.items()
    )
    return " else ".join(choices)


def _copy(state: Lowering, item: Instruction) -> None:
    if not item.has("async") or item.has("bulk", "mbarrier", "reduce"):
        raise NotTranslated(f"{item.name} has no C++ form in the table")
    _async_copy(state, item)


def _prefetch(state: Lowering, item: Instruction) -> None:
    only(item, {"global", "L1", "L2", "L2::evict_last", "L2::evict_normal"})
    (address,) = expect(item, 1)
    state.lines.append(f"__builtin_prefetch({_pointer(state, item, address, 'const void')});")


def _create_policy(state: Lowering, item: Instruction) -> None:
    # A policy is only ever an operand of a cache hint, and those are dropped.
    if not item.has("fractional"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    state.write(item.operands[0], "b64", "0ull")


_ATOMICS = {
    "add": "add", "and": "and", "or": "or", "xor": "xor", "min": "min", "max": "max", "exch": "exchange",
}  # fmt: skip
_CUDA_ATOMICS = {"add": "Add", "and": "And", "or": "Or", "xor": "Xor", "min": "Min", "max": "Max", "exch": "Exch",
                 "inc": "Inc", "dec": "Dec", "cas": "CAS"}  # fmt: skip
_SUFFIXES = {"cta": "_block", "gpu": "", "sys": "_system"}


def _atomic(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b32 u32 s32 f32 b64 u64 s64 f64")
    operation = next((name for name in _CUDA_ATOMICS if item.has(name)), None)
    only(
        item,
        {"global", "shared", "shared::cta", "relaxed", "acquire", "release", "acq_rel", *_SCOPES, *_CUDA_ATOMICS, kind},
    )
    if operation is None:
        raise NotTranslated(f"{item.name} has no known C++ form")
    is_red = item.opcode == "red"
    operands = item.operands if is_red else item.operands[1:]
    if len(operands) != (3 if operation == "cas" else 2):
        raise NotTranslated(f"{item.text}: operands")
    scope = next((key for key in _SCOPES if item.has(key)), "gpu")
    cpp_kind = "s32" if kind == "s32" else kind
    pointer = _generic(_pointer(state, item, operands[0], CPP[cpp_kind]), cpp_kind, item)
    values = [state.read(value, cpp_kind) for value in operands[1:]]
    order = next((name for name in ("acquire", "release", "acq_rel") if item.has(name)), None)
    if order is None:
        call = _relaxed_call(operation, scope, kind, pointer, values)
    else:
        if operation not in _ATOMICS:
            raise NotTranslated(f"{item.name} has no known C++ form")
        name = "__hip_atomic_exchange" if operation == "exch" else f"__hip_atomic_fetch_{_ATOMICS[operation]}"
        call = f"{name}({pointer}, {values[0]}, __ATOMIC_{order.upper()}, __HIP_MEMORY_SCOPE_{_SCOPES[scope]})"
    if is_red or item.operands[0] == Register("_"):
        state.lines.append(f"{call};")
    else:
        state.write(item.operands[0], cpp_kind, call)


def _relaxed_call(operation: str, scope: str, kind: str, pointer: str, values: list[str]) -> str:
    known = {
        "add": "u32 s32 u64 f32 f64", "exch": "b32 b64", "cas": "b32 b64", "and": "b32 b64", "or": "b32 b64",
        "xor": "b32 b64", "min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64", "inc": "u32", "dec": "u32",
    }[operation]  # fmt: skip
    if kind not in known.split():
        raise NotTranslated(f"atom.{operation}.{kind} has no known C++ form")
    return f"atomic{_CUDA_ATOMICS[operation]}{_SUFFIXES[scope]}({', '.join((pointer, *values))})"


def _convert_address(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "u32 u64")
    only(item, {"to", "shared", "shared::cta", "global", kind})
    destination, source = expect(item, 2)
    if item.has("global"):
        if kind != "u64":
            raise NotTranslated(f"{item.name} has no known C++ form")
        state.write(destination, "u64", state.read(source, "u64"))
    elif item.has("to"):
        state.write(destination, kind, f"({CPP[kind]}){_LDS_ADDRESS}({state.read(source, 'u64')})")
    else:
        base = state.read(source, "u64" if state.bits_of_operand(source) == 64 else "u32")
        state.write(destination, "u64", f"(unsigned long long)(void*)({LDS} void*)(unsigned)({base})")


def _is_space(state: Lowering, item: Instruction) -> None:
    only(item, {"global", "shared", "shared::cta", "local"})
    destination, source = expect(item, 2)
    tests = {"shared": "__builtin_amdgcn_is_shared({0})", "local": "__builtin_amdgcn_is_private({0})"}
    pointer = f"(const void*)({state.hold(source, 'u64')})"
    if item.has("global"):
        text = f"(!{tests['shared'].format(pointer)} && !{tests['local'].format(pointer)})"
    else:
        text = tests["local" if item.has("local") else "shared"].format(pointer)
    state.write(destination, "pred", text)


def _fence(state: Lowering, item: Instruction) -> None:
    only(item, {"cta", "gl", "gpu", "sys", "sc", "acq_rel"})
    expect(item, 0)
    if item.has("cta"):
        name = "__threadfence_block"
    elif item.has("sys"):
        name = "__threadfence_system"
    elif item.has("gl", "gpu"):
        name = "__threadfence"
    else:
        raise NotTranslated(f"{item.name} has no known C++ form")
    state.lines.append(f"{name}();")


HANDLERS: dict[str, Handler] = {
    "ld": _load, "ldu": _load, "st": _store, "prefetch": _prefetch, "prefetchu": _prefetch,
    "createpolicy": _create_policy, "atom": _atomic, "red": _atomic, "cvta": _convert_address,
    "isspacep": _is_space, "cp": _copy, "membar": _fence, "fence": _fence,
}  # fmt: skip
