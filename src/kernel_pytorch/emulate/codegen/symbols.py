"""Symbols of a code object, as C over the address of its image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_pytorch.emulate.assembly.instruction import Data, SymbolPart
from kernel_pytorch.emulate.codegen.emission import TranslationError
from kernel_pytorch.emulate.codegen.flow import Flow

#: Bytes from the value of s_getpc to the literal of the sum that directly follows it.
_FIRST_LITERAL = 4
_GETPC = frozenset({"s_getpc_b64", "s_get_pc_i64"})
_SUMS = frozenset({"s_add_u32", "s_add_co_u32", "s_addc_u32", "s_add_co_ci_u32", "s_add_u64", "s_add_nc_u64"})


@dataclass
class Symbols:
    """Resolves `symbol@rel32@lo` and its like. Collects the C data that this needs."""

    addresses: Mapping[str, int]  # symbol -> address from the image's base
    data: Mapping[str, Data]
    declarations: dict[str, str] = field(default_factory=dict)  # C of own copies and of slots for addresses
    copies: dict[str, str] = field(default_factory=dict)  # symbol -> C variable with a copy of its content
    slots: dict[str, str] = field(default_factory=dict)  # symbol -> C variable with its address
    attach: dict[str, str] = field(default_factory=dict)

    def value(self, part: SymbolPart, index: int, flow: Flow) -> str:
        """One word of the distance from the image's base to the symbol, or both, as C."""
        relation, _, half = part.relation.partition("@")
        if relation == "label":
            address = self._label(part.name, flow)
            return f"0x{(address >> (32 if half == 'hi' else 0)) & 0xFFFFFFFF:x}u"
        if relation in ("abs32", "abs64"):
            raise TranslationError(
                f"{part.name}@{relation}: the address of an LDS variable is known to the linker only"
            )
        beyond = part.addend - _distance_from_getpc(index, flow)
        distance = self._slot(part.name) if relation.startswith("gotpcrel") else self._distance(part.name)
        if isinstance(distance, int):
            whole = (distance + beyond) & 0xFFFFFFFFFFFFFFFF
            if relation.endswith("64"):
                return f"UINT64_C(0x{whole:x})"
            return f"0x{(whole >> (32 if half == 'hi' else 0)) & 0xFFFFFFFF:x}u"
        whole_text = f"({distance} + UINT64_C(0x{beyond & 0xFFFFFFFFFFFFFFFF:x}))"
        if relation.endswith("64"):
            return whole_text
        return f"(uint32_t)({whole_text} >> {32 if half == 'hi' else 0})"

    def extern_declarations(self) -> str:
        """C that a kernel file needs to name the data."""
        return "\n".join(f"extern {line};" for line in self.declarations)

    def _label(self, name: str, flow: Flow) -> int:
        if name not in flow.labels:
            raise TranslationError(f"label {name} is not in this kernel")
        return flow.addresses[flow.labels[name]]

    def _distance(self, name: str) -> int | str:
        if name in self.addresses:
            return self.addresses[name]
        if name not in self.data:
            raise TranslationError(f"symbol {name} is neither in the code object nor in its assembly")
        found = self.data[name]
        if found.content is None:
            raise TranslationError(f"symbol {name} is not in the code object, and its content holds addresses")
        if name not in self.copies:
            self.copies[name] = f"kpt_data_{len(self.declarations)}"
            c_name = f"const unsigned char {self.copies[name]}[{max(len(found.content), 1)}]"
            content = ",".join(str(byte) for byte in found.content) or "0"
            aligned = f"__attribute__((aligned({max(found.align, 16)})))"
            self.declarations[c_name] = f"{c_name} {aligned} = {{{content}}}; /* {name} */"
        return f"((uint64_t)(uintptr_t){self.copies[name]} - kpt_image)"

    def _slot(self, name: str) -> str:
        """A word of our own that holds the symbol's address: what its entry in the global offset table holds."""
        distance = self._distance(name)
        if name not in self.slots:
            slot = self.slots[name] = f"kpt_slot_{len(self.declarations)}"
            self.declarations[f"uint64_t {slot}"] = f"uint64_t {slot}; /* address of {name} */"
            value = f"UINT64_C(0x{distance:x})" if isinstance(distance, int) else distance
            self.attach[slot] = f"{slot} = kpt_image + {value};"
        return f"((uint64_t)(uintptr_t)&{self.slots[name]} - kpt_image)"


def _distance_from_getpc(index: int, flow: Flow) -> int:
    """Bytes between the s_getpc before a sum and the sum's literal. What stands between them has four bytes each,
    apart from a first sum with its own literal."""
    distance = _FIRST_LITERAL
    for at in range(index - 1, max(index - 12, -1), -1):
        one = flow.instructions[at]
        if one.mnemonic in _GETPC:
            return distance
        last = one.operands[-1] if one.mnemonic in _SUMS else None
        distance += 4 if not isinstance(last, SymbolPart) else 12 if last.relation.endswith("64") else 8
    raise TranslationError(f"`{flow.instructions[index].text}`: no s_getpc before it")
