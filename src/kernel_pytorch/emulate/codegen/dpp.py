"""DPP controls as the number native/dpp.h takes."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_pytorch.emulate.assembly.instruction import AssemblyError

_WITH_AMOUNT = {
    "row_shl": 0x100,
    "row_shr": 0x110,
    "row_ror": 0x120,
    "row_share": 0x150,
    "row_newbcast": 0x150,
    "row_xmask": 0x160,
}
_FIXED = {
    ("wave_shl", 1): 0x130,
    ("wave_rol", 1): 0x134,
    ("wave_shr", 1): 0x138,
    ("wave_ror", 1): 0x13C,
    ("row_bcast", 15): 0x142,
    ("row_bcast", 31): 0x143,
}
_PLAIN = {"row_mirror": 0x140, "row_half_mirror": 0x141}
_FETCH_INACTIVE = 1 << 30
_DPP8 = 1 << 31

#: The modifiers that name a control.
CONTROLS = frozenset({"quad_perm", "dpp8", *_WITH_AMOUNT, *_PLAIN, *(name for name, _ in _FIXED)})


def control(modifiers: Mapping[str, object]) -> str:
    """The C constant of the control among the modifiers; an unknown or missing one is an AssemblyError."""
    fetch = _FETCH_INACTIVE if modifiers.get("fi") in (1, True) else 0
    named = [name for name in CONTROLS if name in modifiers]
    if len(named) != 1:
        raise AssemblyError(f"a DPP instruction needs one control, found {sorted(named) or 'none'}")
    return f"0x{_encode(named[0], modifiers[named[0]]) | fetch:08x}u"


def _encode(name: str, value: object) -> int:
    if name in _PLAIN:
        return _PLAIN[name]
    if name in ("quad_perm", "dpp8"):
        count, bits, base = (4, 2, 0) if name == "quad_perm" else (8, 3, _DPP8)
        lanes = value if isinstance(value, tuple) else ()
        if len(lanes) != count or not all(0 <= lane < 1 << bits for lane in lanes):
            raise AssemblyError(f"{name} needs {count} lanes below {1 << bits}, found {value}")
        return base | sum(int(lane) << (bits * at) for at, lane in enumerate(lanes))
    if not isinstance(value, int):
        raise AssemblyError(f"{name} needs a number, found {value}")
    if name in _WITH_AMOUNT and 0 <= value <= 15:
        return _WITH_AMOUNT[name] + value
    if (name, value) in _FIXED:
        return _FIXED[name, value]
    raise AssemblyError(f"DPP control {name}:{value} is not known")
