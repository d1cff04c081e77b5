"""The warp intrinsics of the lane machine: CUDA's by its programming guide, HIP's by ROCm 7.2's headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.port.wave.lane_machine import POISON, Trap, Vec, wrap

if TYPE_CHECKING:
    from tests.port.wave.lane_machine import Machine

LOW = 0xFFFFFFFF


def call_builtin(machine: Machine, name: str, values: list[Vec], active: set[int]) -> Vec:
    """One call of a function that is not in the source."""
    plain = _plain(machine, name, values, active)
    if plain is not None:
        return plain
    collective = _cuda if machine.vendor == "cuda" else _hip
    kind = _result_kind(machine, name, values)
    out: list[Any] = [POISON] * machine.threads
    for first in range(0, machine.threads, machine.wave):
        wave = [thread for thread in range(first, min(first + machine.wave, machine.threads)) if thread in active]
        for thread in wave:
            out[thread] = wrap(kind, collective(machine, name, values, thread, first, wave))
    return Vec(kind, out)


def _result_kind(machine: Machine, name: str, values: list[Vec]) -> str:
    if "ballot" in name or "match" in name or name == "__activemask":
        return "u32" if machine.vendor == "cuda" else "u64"
    if "shfl" in name or "reduce" in name:
        return values[1 if "_sync" in name else 0].kind
    return "i32"


def _plain(machine: Machine, name: str, values: list[Vec], active: set[int]) -> Vec | None:
    def each(kind: str, act: Any, *vectors: Vec) -> Vec:
        out: list[Any] = [POISON] * machine.threads
        for thread in active:
            arguments = [vector.items[thread] for vector in vectors]
            out[thread] = POISON if POISON in arguments else wrap(kind, act(*arguments))
        return Vec(kind, out)

    if name in ("__syncthreads", "__threadfence") or (name == "__syncwarp" and not values):
        return machine.fill("i32", 0)
    if name == "__syncwarp":
        if machine.vendor == "hip":
            _check(machine, values[0], active)
        return machine.fill("i32", 0)
    if name in ("max", "fmaxf"):
        return each(values[0].kind, max, *values)
    if name in ("min", "fminf"):
        return each(values[0].kind, min, *values)
    if name == "__popc":
        return each("i32", lambda word: bin(word & LOW).count("1"), values[0])
    if name == "__popcll":
        return each("i32", lambda word: bin(word & (2**64 - 1)).count("1"), values[0])
    if name == "__ffsll":
        return each("i32", lambda word: (word & -word).bit_length(), values[0])
    if name == "__ffs":
        return each("i32", lambda word: (word & LOW & -(word & LOW)).bit_length(), values[0])
    if name == "__lane_id":
        return machine.fill("u32", 0) if not active else Vec("u32", [t % machine.wave for t in range(machine.threads)])
    if name == "atomicAdd":
        out: list[Any] = [POISON] * machine.threads
        for thread in sorted(active):
            place, amount = values[0].items[thread], values[1].items[thread]
            out[thread] = place.array[place.offset]
            place.array[place.offset] = (
                POISON if POISON in (out[thread], amount) else wrap(place.kind, out[thread] + amount)
            )
        return Vec(values[0].items[min(active)].kind, out)
    return None


def _check(machine: Machine, mask: Vec, active: set[int]) -> None:
    """HIP's __hip_check_mask: of the live lanes that pass one mask, the mask is exactly the set."""
    assert mask.kind in ("u64", "i64"), "static_assert: the mask must be a 64-bit integer"
    for first in range(0, machine.threads, machine.wave):
        lanes = [thread for thread in range(first, first + machine.wave) if thread in active]
        for thread in lanes:
            value = mask.items[thread] & (2**machine.wave - 1)
            same = sum(1 << (t - first) for t in lanes if mask.items[t] & (2**machine.wave - 1) == value)
            if value != same:
                raise Trap(f"mask {value:#x}, live lanes {same:#x}")


def _source_lane(name: str, lane: int, amount: int, width: int) -> int:
    base = lane & ~(width - 1)
    if "_up" in name:
        return lane if lane - amount < base else lane - amount
    if "_down" in name:
        return lane if (lane & (width - 1)) + amount >= width else lane + amount
    if "_xor" in name:
        return lane if lane ^ amount >= base + width else lane ^ amount
    return base + (amount & (width - 1))


def _shuffle(name: str, values: list[Vec], thread: int, first: int, wave: list[int], default: int) -> Any:
    value, amount = values[0], values[1].items[thread]
    width = values[2].items[thread] if len(values) > 2 else default
    if amount is POISON:
        return POISON
    source = first + _source_lane(name, thread - first, amount, width)
    return value.items[source] if source in wave else POISON


def _bits(lanes: list[int], first: int, vector: Vec | None) -> int:
    return sum(1 << (t - first) for t in lanes if vector is None or vector.items[t])


def _cuda(machine: Machine, name: str, values: list[Vec], thread: int, first: int, wave: list[int]) -> Any:
    rest = values[1:] if "_sync" in name else values
    if "shfl" in name:
        return _shuffle(name, rest, thread, first, wave, 32)
    named = values[0].items[thread] & LOW if "_sync" in name else LOW
    lanes = [t for t in wave if named >> (t - first) & 1]
    assert thread in lanes, "a lane that calls must be in its mask"
    if name == "__activemask":
        return _bits(wave, first, None)
    if "ballot" in name:
        return _bits(lanes, first, rest[0])
    if "any" in name and "match" not in name:
        return int(any(rest[0].items[t] for t in lanes))
    if "all" in name and "match" not in name:
        return int(all(rest[0].items[t] for t in lanes))
    if name == "__match_any_sync":
        return sum(1 << (t - first) for t in lanes if rest[0].items[t] == rest[0].items[thread])
    if name == "__match_all_sync":
        same = all(rest[0].items[t] == rest[0].items[thread] for t in lanes)
        _set(rest[1].items[thread], thread, int(same))
        return _bits(lanes, first, None) if same else 0
    if "reduce" in name:
        return _reduced(name.split("_")[3], [rest[0].items[t] for t in lanes])
    raise AssertionError(name)


def _hip(machine: Machine, name: str, values: list[Vec], thread: int, first: int, wave: list[int]) -> Any:
    if "_sync" in name:
        _check(machine, values[0], set(wave))
    rest = values[1:] if "_sync" in name else values
    if "shfl" in name:
        return _shuffle(name, rest, thread, first, wave, machine.wave)
    if name == "__ballot":
        return _bits(wave, first, rest[0])
    if name == "__any":
        return int(any(rest[0].items[t] for t in wave))
    if name == "__all":
        return int(all(rest[0].items[t] for t in wave))
    if name == "__match_any":
        return sum(1 << (t - first) for t in wave if rest[0].items[t] == rest[0].items[thread])
    if name == "__match_all_sync":
        lanes = [t for t in wave if values[0].items[t] == values[0].items[thread]]
        same = all(rest[0].items[t] == rest[0].items[thread] for t in lanes)
        _set(rest[1].items[thread], thread, int(same))
        return _bits(lanes, first, None) if same else 0
    raise AssertionError(f"{name} is not expected in a rewritten kernel")


def _set(ref: Any, thread: int, value: int) -> None:
    ref.env[ref.name].items[thread] = value


def _reduced(operation: str, items: list[Any]) -> Any:
    result = items[0]
    for one in items[1:]:
        result = {
            "add": result + one, "min": min(result, one), "max": max(result, one),
            "and": result & one, "or": result | one, "xor": result ^ one,
        }[operation]  # fmt: skip
    return result
