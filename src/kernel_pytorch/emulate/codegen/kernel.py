"""One kernel as one C function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kernel_pytorch.emulate.assembly.instruction import Instruction, OperandPlace, Register, SymbolPart
from kernel_pytorch.emulate.codegen.control_code import emit_control
from kernel_pytorch.emulate.codegen.effects import Effects, effects
from kernel_pytorch.emulate.codegen.emission import Emission, KernelShape
from kernel_pytorch.emulate.codegen.fidelity import fidelity
from kernel_pytorch.emulate.codegen.flow import Flow
from kernel_pytorch.emulate.codegen.flush import flush
from kernel_pytorch.emulate.codegen.lane_code import emit_lane
from kernel_pytorch.emulate.codegen.liveness import analyse
from kernel_pytorch.emulate.codegen.lookup import row_for
from kernel_pytorch.emulate.codegen.memory_code import emit_memory
from kernel_pytorch.emulate.codegen.outline import inlined_instructions
from kernel_pytorch.emulate.codegen.scalar_code import emit_scalar
from kernel_pytorch.emulate.codegen.source_lines import SourceLines
from kernel_pytorch.emulate.codegen.wave_code import emit_wave
from kernel_pytorch.emulate.isa.row import Row

SymbolValue = Callable[[SymbolPart, int, Flow], str]


@dataclass(frozen=True)
class KernelCode:
    """The C of one kernel, and what the module's tables need to know."""

    name: str
    text: str
    helpers: dict[str, str]  # functions the text calls, by name
    places: tuple[tuple[str, OperandPlace | None], ...]
    vgprs: int
    agprs: int
    instructions: int
    debug: bool
    inexact: tuple[str, ...]  # mnemonics whose results may differ from the hardware's, in the order of their flags
    mnemonics: tuple[str, ...]  # all of them, each once
    follows_lds: bool = False


def kernel_code(
    name: str,
    symbol: str,
    flow: Flow,
    shape: KernelShape,
    symbol_value: SymbolValue,
    keep_all: bool = False,
    notes: Mapping[int, str] = MappingProxyType({}),
) -> KernelCode:
    """The C function `name` for the kernel `symbol`. Raises TranslationError for what the table does not know.

    With `keep_all` every register has its architectural value whenever the function returns; otherwise only those that
    are read again. `notes` is C that stands in front of single instructions; it changes no register.
    """
    em = Emission(
        shape,
        symbol,
        name,
        lambda part, index: symbol_value(part, index, flow),
        lambda number: flow.addresses[number] if number < len(flow.addresses) else flow.addresses[-1] + 4,
    )
    rows = _rows(em, flow)
    em.lane_written = frozenset(
        operand.index
        for one in flow.instructions
        for operand in one.operands[:1]
        if one.mnemonic == "v_writelane_b32" and isinstance(operand, Register)
    )
    if not keep_all and not shape.debug:
        em.liveness = analyse(flow, [_effects(parts, shape.wave) for parts in rows])
    em.inlined = None if shape.debug else inlined_instructions(flow)
    _body(em, flow, [parts[0][1] for parts in rows], notes)
    cases = [f"case {number}: goto {label};" for number, label in enumerate(em.resumes, 1)]
    found_by_address: list[str] = []
    if em.dispatches:
        again = em.resume("dispatch_again")
        cases.append(f"case {again}: pc = (uint64_t)w->s[127] << 32 | w->s[126]; goto dispatch;")
        found_by_address = _dispatch(flow, again)
    used = sorted(em.used_sgprs)
    lines = [
        f"extern uint8_t {name}_ran[];",
        *_opening(name, shape, used),
        "switch (w->resume) {",
        *cases,
        "default: break; }",
        *em.lines,
        "w->services->fault(w, KPT_FAULT_BAD_JUMP, 0, 0, 0); return KPT_DONE;",
        *found_by_address,
        *_closing(used),
    ]
    vgprs, agprs = _registers(flow)
    return KernelCode(
        name, "\n".join(lines), em.helpers, tuple(em.places), vgprs, agprs, len(flow.instructions), shape.debug,
        tuple(em.inexact), tuple(sorted({one.mnemonic for one in _every(flow)})), shape.follows_lds,
    )  # fmt: skip


def _opening(name: str, shape: KernelShape, used_sgprs: list[int]) -> list[str]:
    return [
        f"int {name}(KptWave *w) {{",
        "uint32_t *KPT_RESTRICT const vg = w->v; uint32_t *KPT_RESTRICT const ag = w->a; (void)vg; (void)ag;",
        "uint64_t ex = w->exec, pc = 0; uint32_t scc = w->scc; int stop = KPT_DONE; (void)pc; (void)scc;",
        "uint32_t mode = w->mode; (void)mode;",
        f"enum {{ kpt_mode_changes = {int(shape.mode_changes)} }};",
        *(f"uint32_t s{index} = w->s[{index}]; (void)s{index};" for index in used_sgprs),
    ]


def _dispatch(flow: Flow, again: int) -> list[str]:
    """Finds a place by its address: only code that jumps through registers needs this. `again` is its resume number."""
    return [
        'dispatch: asm volatile("" ::: "memory");',
        # EXEC has its own place in KptWave, so its two scalar registers are free to keep the target.
        "if (--w->budget < 0) { w->s[126] = (uint32_t)pc; w->s[127] = (uint32_t)(pc >> 32);",
        f"w->resume = {again}u; stop = KPT_YIELD; goto leave; }}",
        "switch (pc - kpt_image) {",
        *(f"case UINT64_C(0x{address:x}): goto L{at};" for address, at in sorted(flow.entries.items())),
        "default: w->services->fault(w, KPT_FAULT_BAD_JUMP, kpt_first_lane(ex), pc, 0); return KPT_DONE; }",
    ]


def _closing(used_sgprs: list[int]) -> list[str]:
    return [
        "leave: (void)stop;",
        " ".join(f"w->s[{index}] = s{index};" for index in used_sgprs),
        "w->exec = ex; w->scc = scc;",
        "return stop;",
        "}",
    ]


def _rows(em: Emission, flow: Flow) -> list[list[tuple[Instruction, Row]]]:
    """Every instruction with its row; two of each for v_dual pairs. An unknown mnemonic ends here, before any C."""
    found: list[list[tuple[Instruction, Row]]] = []
    for instruction in flow.instructions:
        em.instruction = instruction
        pair = [instruction] if instruction.dual is None else [instruction, instruction.dual]
        found.append([(one, row_for(em, one)) for one in pair])
    return found


def _effects(parts: list[tuple[Instruction, Row]], wave: int) -> tuple[Effects, ...]:
    return tuple(effects(instruction, row, wave) for instruction, row in parts)


def _body(em: Emission, flow: Flow, rows: list[Row], notes: Mapping[int, str]) -> None:
    source = SourceLines()
    for index, instruction in enumerate(flow.instructions):
        em.position = index
        if index in flow.targets:
            flush(em)
            em.put(f"L{index}:;")
        em.index = index
        em.instruction = instruction
        row = rows[index]
        begun = len(em.lines)
        if index in notes:
            em.put(notes[index])
        if em.shape.debug:
            em.put(f"w->at = {em.place()}u;")
        for one in (instruction, instruction.dual):
            if one is not None and fidelity(one.mnemonic) != "exact":
                em.put(f"KPT_RAN({em.ran(one.mnemonic)}, ex);")
        if em.shape.counted:
            _count(em, row)
        if row.kind == "control":
            emit_control(em, instruction, row, flow)
        else:
            _EMIT[row.kind](em, instruction, row)
        if em.shape.debug:
            em.position = index + 1
            flush(em)
            source.mark(em.lines, begun, instruction.place)
    em.position = len(flow.instructions)
    flush(em)


def _count(em: Emission, row: Row) -> None:
    field = row.counts_as
    if not field:
        field = {
            "lane": "vector_alu",
            "wave": "vector_alu",
            "scalar": "scalar_alu",
            "control": _control_class(row),
            "memory": {"LDS": "lds", "SCALAR": "scalar_memory"}.get(row.fact("space"), "vector_memory"),
        }[row.kind]
    lanes = "1" if row.kind in ("lane", "wave") or (row.kind == "memory" and row.fact("space") != "SCALAR") else "0"
    em.put(f"KPT_COUNT_ONE(w, {field}, {lanes}, ex, {em.place()}u);")


def _control_class(row: Row) -> str:
    action = row.fact("action")
    if action.startswith("barrier"):
        return "barrier"
    return "branch" if action in ("branch", "branch_if", "setpc", "swappc", "call") else "other"


_EMIT = {"lane": emit_lane, "scalar": emit_scalar, "wave": emit_wave, "memory": emit_memory}


def _every(flow: Flow) -> Iterator[Instruction]:
    """The instructions, and both of a v_dual pair."""
    for instruction in flow.instructions:
        yield instruction
        if instruction.dual is not None:
            yield instruction.dual


def _registers(flow: Flow) -> tuple[int, int]:
    highest = {"v": 0, "a": 0}
    for instruction in _every(flow):
        for operand in instruction.operands:
            if isinstance(operand, Register) and operand.file in highest:
                highest[operand.file] = max(highest[operand.file], operand.index + operand.count)
    return highest["v"], highest["a"]
