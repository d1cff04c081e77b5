"""What an atomic writes back, by the name of its operation."""

from __future__ import annotations

from . import softfloat as sf
from .registry import signed
from .softfloat import BF16, F16, F32, F64, Format
from .vector_float import maximum_number, minimum_number


def wrapped(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def pairwise(f: Format, old: int, data: int) -> int:
    return sf.add(f, old & 0xFFFF, data & 0xFFFF) | sf.add(f, old >> 16, data >> 16) << 16


def equal(name: str, bits: int, old: int, compare: int) -> bool:
    """Whether a compare-and-swap of this name finds what it looks for: floats compare as numbers."""
    if not name.endswith((f"_f{bits}", "fcmpswap", "fcmpswap_x2")):
        return old == compare
    f = F64 if bits == 64 else F32
    if sf.is_nan(f, old) or sf.is_nan(f, compare):
        return False
    return old == compare or (sf.is_zero(f, old) and sf.is_zero(f, compare))


def updated(operation: str, bits: int, old: int, data: int) -> int:
    """The new content of memory. `operation` is add, sub, rsub, inc, dec, smin, umin, and_, add_f, ..."""
    f = F64 if bits == 64 else F32
    s_old, s_data = signed(old, bits), signed(data, bits)
    results = {
        "add": lambda: old + data,
        "sub": lambda: old - data,
        "rsub": lambda: data - old,
        "inc": lambda: 0 if old >= data else old + 1,
        "dec": lambda: data if old == 0 or old > data else old - 1,
        "smin": lambda: min(s_old, s_data),
        "smax": lambda: max(s_old, s_data),
        "umin": lambda: min(old, data),
        "umax": lambda: max(old, data),
        "and": lambda: old & data,
        "or": lambda: old | data,
        "xor": lambda: old ^ data,
        "swap": lambda: data,
        "add_f": lambda: sf.add(f, old, data),
        # gfx12 says minimumNumber; the older text (src < tmp ? src : tmp) would keep a NaN for ever.
        "min_f": lambda: minimum_number(f, data, old),
        "max_f": lambda: maximum_number(f, data, old),
        "pk_add_f16": lambda: pairwise(F16, old, data),
        "pk_add_bf16": lambda: pairwise(BF16, old, data),
        "csub": lambda: max(old - data, 0),
        "cond_sub": lambda: old - data if old >= data else old,
    }
    return wrapped(results[operation](), bits)
