"""Memory instructions: calls of the functions in native/memory.h."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Instruction, Named, Number, Operand, Register
from kernel_pytorch.emulate.codegen.address_code import (
    global_address,
    half_kind,
    is_off,
    offset_of,
    private_address,
    scalar_bytes,
    vector_row,
)
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.flush import flush
from kernel_pytorch.emulate.codegen.image_code import emit_image, emit_typed, is_image_modifier
from kernel_pytorch.emulate.codegen.operands import constant, raw_scalar, write_scalar
from kernel_pytorch.emulate.codegen.scalar_code import settle
from kernel_pytorch.emulate.isa.row import Row

#: Cache policy: there is one coherent memory here.
_CACHE = frozenset({"glc", "slc", "dlc", "sc0", "sc1", "nt", "th", "scope", "nv"})
#: What a buffer load can put into LDS directly; several words on gfx950 only.
_INTO_LDS = frozenset({"U8", "I8", "U16", "I16", "W1", "W3", "W4"})
_ADDRESS = frozenset({"offset", "offset0", "offset1", "offen", "idxen", "gds", "lds"})
_SCALED = frozenset({"GLOBAL", "FLAT", "PRIVATE", "SCALAR"})


def emit_memory(em: Emission, instruction: Instruction, row: Row) -> None:
    """One memory instruction."""
    space = row.fact("space")
    for name in instruction.modifiers:
        if name == "scale_offset" and em.shape.is_gfx125 and space in _SCALED:
            continue
        if space == "IMAGE" and is_image_modifier(name):
            continue
        if name not in _CACHE and name not in _ADDRESS and name not in row.modifiers:
            raise em.error(f"modifier {name} is not known for {instruction.mnemonic}")
    if instruction.modifiers.get("gds"):
        raise em.error("global data share (gds) is not emulated")
    if space == "SCALAR":
        _scalar(em, instruction, row)
        return
    flush(em)
    em.put(f"w->at = {em.place()}u;")
    if space == "LDS":
        _lds(em, instruction, row)
    elif space == "TENSOR":
        _tensor(em, instruction, row)
    elif space == "BUFFER":
        _buffer(em, instruction, row)
    elif space == "IMAGE":
        emit_image(em, instruction, row)
    else:
        em.put("{")  # an address may need names of its own
        _flat(em, instruction, row, space)
        em.put("}")


def returns_old(instruction: Instruction) -> bool:
    """Whether an atomic wants the value that was there: glc (to gfx10), sc0 (gfx940), th (gfx12)."""
    modifiers = instruction.modifiers
    return bool(modifiers.get("glc") or modifiers.get("sc0")) or "RETURN" in str(modifiers.get("th", ""))


def _flat(em: Emission, instruction: Instruction, row: Row, space: str) -> None:
    operands = list(instruction.operands)
    action = row.fact("action")
    old = "0"
    if action == "atomic" and returns_old(instruction):
        old = vector_row(em, operands.pop(0))
    if action == "load":
        data, vector, *rest = operands
    elif action == "load_to_lds":
        vector, *rest = operands
        make = private_address if space == "PRIVATE" else global_address
        address = make(em, instruction, row, vector, rest[0] if rest else None)
        _load_to_lds(em, instruction, row.fact("moves"), f"kpt_load_{row.fact('moves')}_{space}", address)
        return
    elif action in ("copy_to_lds", "copy_from_lds"):
        _copy(em, instruction, row, operands)
        return
    elif action in ("load_at_lane", "store_at_lane"):
        data, *rest = operands
        base = "0" if not rest or is_off(rest[0]) else raw_scalar(em, rest[0], "u64")
        _at_lane(em, action, data, "GLOBAL", f"{base} + (uint64_t)(int64_t){offset_of(instruction)}")
        return
    else:
        vector, data, *rest = operands
    scalar = rest[0] if rest else None
    make = private_address if space == "PRIVATE" else global_address
    address = make(em, instruction, row, vector, scalar)
    if action == "atomic":
        bits = row.fact("bits")
        rows = vector_row(em, data)
        second = f"{rows} + {int(bits) // 32} * WAVE" if "CMPSWAP" in row.fact("operation") else "0"
        em.put(f"kpt_atomic_{row.fact('operation')}_{bits}_{space}(w, {old}, {address}, {rows}, {second}, ex);")
        return
    kind = half_kind(data, row.fact("moves"))
    em.put(f"kpt_{action}_{kind}_{space}(w, {vector_row(em, data)}, {address}, ex);")


def _copy(em: Emission, instruction: Instruction, row: Row, operands: list[Operand]) -> None:
    """Between memory and LDS, at once: the first or the second operand is each lane's place in LDS. The offset counts
    in both."""
    kind = row.fact("moves")
    to_lds = row.fact("action") == "copy_to_lds"
    place, vector, scalar = operands if to_lds else (operands[1], operands[0], operands[2])
    address = global_address(em, instruction, row, vector, scalar)
    in_lds = f"{vector_row(em, place)}, 0, {offset_of(instruction)}u"
    first, second = (address, in_lds) if to_lds else (in_lds, address)
    spaces = ("GLOBAL", "LDS") if to_lds else ("LDS", "GLOBAL")
    em.put("uint64_t on = 0;")
    em.put(f"KPT_EACH_LANE(l, ex) on |= (uint64_t)!kpt_is_switched_off({vector_row(em, place)}[l]) << l;")
    em.put(f"uint32_t data[4 * WAVE] = {{0}}; kpt_load_{kind}_{spaces[0]}(w, data, {first}, on);")
    store = f"kpt_store_{kind}_{spaces[1]}(w, data, {second}, on);"
    em.put(f"w->loads_lds = 1; {store} w->loads_lds = 0;" if em.shape.follows_lds and to_lds else store)


def _tensor(em: Emission, instruction: Instruction, row: Row) -> None:
    """A tile between memory and LDS, whatever EXEC says; of two dimensions at the most."""
    operands = instruction.operands
    groups = [one for one in operands if isinstance(one, Register) and one.file == "s"]
    if [one.count for one in groups] != [4, 8] or len(operands) != 2:
        raise em.error("only tiles of one or two dimensions are known")
    words = [", ".join(em.sgpr(one.index + at) for at in range(one.count)) for one in groups]
    given = ", ".join(f"(const uint32_t[]){{{one}}}" for one in words)
    how = "load" if row.fact("action") == "copy_to_lds" else "store"
    em.put(f"kpt_tensor_{how}(w, {given});")


def _at_lane(em: Emission, action: str, data: Operand, space: str, base: str) -> None:
    """One word for each lane, one behind the other from `base`."""
    em.put("{ uint32_t place[WAVE]; for (uint32_t l = 0; l < WAVE; l++) place[l] = 4u * l;")
    how = "load" if action == "load_at_lane" else "store"
    em.put(f"kpt_{how}_W1_{space}(w, {vector_row(em, data)}, place, 0, {base}, ex); }}")


def _load_to_lds(em: Emission, instruction: Instruction, kind: str, load: str, address: str) -> None:
    """Memory straight into LDS: lane l's data goes to M0 plus the offset plus l times the size."""
    words = {"W3": 3, "W4": 4}.get(kind, 1)
    em.put(f"{{ uint32_t data[{words} * WAVE] = {{0}}; {load}(w, data, {address}, ex);")
    em.put("uint32_t place[WAVE];")
    em.put(
        f"for (uint32_t l = 0; l < WAVE; l++) place[l] = {em.sgpr(124)} + {offset_of(instruction)}u + l * {4 * words}u;"
    )
    store = f"kpt_store_W{words}_LDS(w, data, place, 0, 0, ex);"
    em.put(f"w->loads_lds = 1; {store} w->loads_lds = 0; }}" if em.shape.follows_lds else f"{store} }}")


def _lds(em: Emission, instruction: Instruction, row: Row) -> None:
    operands = list(instruction.operands)
    action = row.fact("action")
    if action in ("load2", "store2"):
        words, step = row.fact("words"), int(row.fact("step"))
        first, second = (offset_of(instruction, name) * step for name in ("offset0", "offset1"))
        if action == "load2":
            em.put(
                f"kpt_lds_load2_{words}(w, {vector_row(em, operands[0])}, {vector_row(em, operands[1])}, "
                f"{first}u, {second}u, ex);"
            )
            return
        for data, offset in ((operands[1], first), (operands[2], second)):
            address = f"{vector_row(em, operands[0])}, 0, {offset}u"
            em.put(f"kpt_store_W{words}_LDS(w, {vector_row(em, data)}, {address}, ex);")
        return
    if action == "exchange2":
        step = int(row.fact("step"))
        rows_of = ", ".join(vector_row(em, operand) for operand in operands)
        first, second = (offset_of(instruction, name) * step for name in ("offset0", "offset1"))
        em.put(f"kpt_lds_exchange2_{row.fact('words')}(w, {rows_of}, {first}u, {second}u, ex);")
        return
    if em.shape.is_gfx125 and action in ("count_lanes", "load_at_lane", "store_at_lane"):
        raise em.error("a place in LDS that M0 names is not known for this target")
    in_m0 = f"({em.sgpr(124)} & 0xffffu) + {offset_of(instruction)}u"
    if action == "count_lanes":
        em.put(f"kpt_lds_count(w, {vector_row(em, operands[0])}, {in_m0}, ex, {row.fact('sign')}1);")
        return
    if action in ("load_at_lane", "store_at_lane"):
        _at_lane(em, action, operands[0], "LDS", in_m0)
        return
    old = "0"
    if row.fact("returns"):
        old = vector_row(em, operands.pop(0))
    if action == "load":
        data, vector = operands[0], operands[1]
    else:
        vector, data = operands[0], operands[1]
    address = f"{vector_row(em, vector)}, 0, {offset_of(instruction)}u"
    if action == "atomic":
        rows = vector_row(em, data)
        second_rows = "0"
        if len(operands) > 2:
            second_rows = vector_row(em, operands[2])
            if row.fact("order") == "compare-first" or row.fact("operation") == "MSKOR":
                rows, second_rows = second_rows, rows
        em.put(
            f"kpt_atomic_{row.fact('operation')}_{row.fact('bits')}_LDS"
            f"(w, {old}, {address}, {rows}, {second_rows}, ex);"
        )
        return
    em.put(f"kpt_{action}_{half_kind(data, row.fact('moves'))}_LDS(w, {vector_row(em, data)}, {address}, ex);")


def _buffer(em: Emission, instruction: Instruction, row: Row) -> None:
    """buffer_*: data, vector address (or off), resource, scalar offset."""
    operands = list(instruction.operands)
    to_lds = bool(instruction.modifiers.get("lds"))
    if to_lds:
        if row.fact("action") != "load" or row.fact("moves") not in _INTO_LDS:
            raise em.error("only loads of words, bytes and shorts go to LDS")
        operands.insert(0, Named("off"))
    if len(operands) != 4:
        raise em.error(f"{len(operands)} operands where the table has 4")
    data, vector, resource, scalar = operands
    if not isinstance(resource, Register) or resource.count != 4:
        raise em.error(f"operand {resource} is not a buffer resource")
    words = ", ".join(em.sgpr(resource.index + word) for word in range(4))
    index, vector_offset = "0", "0"
    if em.shape.is_gfx125 and instruction.modifiers.get("idxen"):
        raise em.error("a buffer with an index is not known for this target")
    both = bool(instruction.modifiers.get("idxen")) and bool(instruction.modifiers.get("offen"))
    if instruction.modifiers.get("idxen"):
        index = vector_row(em, vector)
    if instruction.modifiers.get("offen"):
        vector_offset = vector_row(em, vector) + (" + WAVE" if both else "")
    soffset = raw_scalar(em, scalar, "u32")
    if row.fact("typed"):
        if em.shape.is_gfx125 or not isinstance(data, Register):
            raise em.error("typed buffers are not known for this target")
        emit_typed(
            em, instruction, row, data, vector, (*(em.sgpr(resource.index + word) for word in range(4)), soffset)
        )
        return
    buffer = f"&(KptBuffer){{{{{words}}}, {soffset}, {offset_of(instruction)}u, {index}, {vector_offset}}}"
    action = row.fact("action")
    if to_lds:
        _load_to_lds(em, instruction, row.fact("moves"), f"kpt_buffer_load_{row.fact('moves')}", buffer)
        return
    if action == "atomic":
        bits = row.fact("bits")
        rows = vector_row(em, data)
        second = f"{rows} + {int(bits) // 32} * WAVE" if "CMPSWAP" in row.fact("operation") else "0"
        old = rows if returns_old(instruction) else "0"
        em.put(f"kpt_buffer_atomic_{row.fact('operation')}_{bits}(w, {old}, {buffer}, {rows}, {second}, ex);")
        return
    kind = half_kind(data, row.fact("moves"))
    em.put(f"kpt_buffer_{action}_{kind}(w, {vector_row(em, data)}, {buffer}, ex);")


def _scalar(em: Emission, instruction: Instruction, row: Row) -> None:
    operands = instruction.operands
    settle(em, operands)
    action = row.fact("action")
    target = operands[0]
    if action == "clock":
        clock = f"w->services->clock(w, {row.fact('realtime')})"
        for line in write_scalar(em, target, clock, "u64"):
            em.put(line)
        return
    em.put(f"w->at = {em.place()}u;")
    if not isinstance(target, Register) or target.file not in ("s", "exec"):
        raise em.error(f"operand {target} cannot be a scalar result")
    offsets = []
    scale = f"{scalar_bytes(row)}u * (uint64_t)" if instruction.modifiers.get("scale_offset") else ""
    for operand in operands[2:]:
        if isinstance(operand, Number):
            offsets.append(constant(operand, "i64"))
        else:
            offsets.append(scale + raw_scalar(em, operand, "u32"))
    if instruction.modifiers.get("offset"):
        offsets.append(f"(uint64_t)(int64_t){offset_of(instruction)}")
    rest = " + ".join(f"(uint64_t)({offset})" for offset in offsets) or "0"
    limit = "~UINT64_C(0)"
    if action.startswith("buffer"):
        resource = operands[1]
        if not isinstance(resource, Register):
            raise em.error(f"operand {resource} is not a buffer resource")
        words = ", ".join(em.sgpr(resource.index + word) for word in range(4))
        base, limit = (f"kpt_{what}((const uint32_t[]){{{words}}})" for what in ("buffer_base", "scalar_limit"))
    else:
        base = raw_scalar(em, operands[1], "u64")
    _SCALAR_ACTIONS[action.removeprefix("buffer_")](em, instruction, row, target, (base, rest, limit))


_Place = tuple[str, str, str]  # base, offset, and the bytes that lie behind the base


def _scalar_load_part(em: Emission, instruction: Instruction, row: Row, target: Register, place: _Place) -> None:
    base, offset, limit = place
    c_type = {"u8": "uint8_t", "i8": "int8_t", "u16": "uint16_t", "i16": "int16_t"}[row.fact("moves")]
    inside = f"{offset} + sizeof({c_type}) <= {limit}"
    value = f"({inside} ? (uint32_t)*(const {c_type} *)(uintptr_t)({base} + {offset}) : 0u)"
    for line in write_scalar(em, target, value, "u32"):
        em.put(line)


def _scalar_load(em: Emission, instruction: Instruction, row: Row, target: Register, place: _Place) -> None:
    base, offset, limit = place
    words = int(row.fact("bytes")) // 4
    if row.fact("action") == "buffer_load":
        call = f"kpt_scalar_buffer_load(w, loaded, {base}, {offset}, {4 * words}u, {limit});"
    else:
        call = f"kpt_scalar_load(w, loaded, {base} + {offset}, {4 * words}u);"
    em.put(f"{{ uint32_t loaded[{words}]; {call}")
    for word in range(words):
        register = Register(target.file, target.index + word)
        for line in write_scalar(em, register, f"loaded[{word}]", "u32"):
            em.put(line)
    em.put("}")


def _scalar_store(em: Emission, instruction: Instruction, row: Row, target: Register, place: _Place) -> None:
    base, offset, limit = place
    words = int(row.fact("bytes")) // 4
    values = ", ".join(em.sgpr(target.index + word) for word in range(words))
    em.put(f"{{ const uint32_t stored[] = {{{values}}};")
    em.put(f"kpt_scalar_store(w, stored, {base}, {offset}, {4 * words}u, {limit}); }}")


def _scalar_atomic(em: Emission, instruction: Instruction, row: Row, target: Register, place: _Place) -> None:
    """An atomic of the whole wave: that of one lane, on the words of scalar registers."""
    base, offset, limit = place
    bits = int(row.fact("bits"))
    words = bits // 32
    given = 2 * words if row.fact("operation") == "CMPSWAP" else words
    em.put(f"{{ uint32_t data[{given} * WAVE], old[{words} * WAVE] = {{0}};")
    for word in range(given):
        em.put(f"data[{word} * WAVE] = {em.sgpr(target.index + word)};")
    second = f"data + {words} * WAVE" if given > words else "0"
    address = f"0, 0, {base} + {offset}"
    call = f"kpt_atomic_{row.fact('operation')}_{bits}_GLOBAL(w, old, {address}, data, {second}, 1u);"
    em.put(f"if ({offset} + {bits // 8} <= {limit}) {call}")
    if returns_old(instruction):
        for word in range(words):
            for line in write_scalar(em, Register(target.file, target.index + word), f"old[{word} * WAVE]", "u32"):
                em.put(line)
    em.put("}")


_SCALAR_ACTIONS = {
    "load": _scalar_load,
    "load_part": _scalar_load_part,
    "store": _scalar_store,
    "atomic": _scalar_atomic,
}
