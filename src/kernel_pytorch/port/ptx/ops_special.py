"""Special registers. A lane id stays one of 32: waves of 64 lanes are two logical warps (see docs/wave-width.md)."""

from __future__ import annotations

from kernel_pytorch.port.ptx.lower import Lowering, NotTranslated
from kernel_pytorch.port.ptx.parse import Instruction, Operand

LANE = "(__lane_id() & 31u)"
_LINEAR_THREAD = "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))"

# name -> (type, C++)
_REGISTERS = {
    **{f"tid.{axis}": ("u32", f"threadIdx.{axis}") for axis in "xyz"},
    **{f"ntid.{axis}": ("u32", f"blockDim.{axis}") for axis in "xyz"},
    **{f"ctaid.{axis}": ("u32", f"blockIdx.{axis}") for axis in "xyz"},
    **{f"nctaid.{axis}": ("u32", f"gridDim.{axis}") for axis in "xyz"},
    "laneid": ("u32", LANE),
    "warpid": ("u32", f"{_LINEAR_THREAD} / 32u"),
    "smid": ("u32", "__smid()"),
    "clock": ("u32", "(unsigned)clock64()"),
    "clock64": ("u64", "(unsigned long long)clock64()"),
    "clock_hi": ("u32", "(unsigned)(clock64() >> 32)"),
    "WARP_SZ": ("u32", "32u"),
}

# A mask of the lanes below, at, above this one. {one} has the type of the variable that receives it: 32 bits give
# the logical warp's mask, and a variable the wave rules widened to 64 bits gives the wave's.
_LANE_MASKS = {
    "lanemask_eq": "{one} << {lane}",
    "lanemask_lt": "({one} << {lane}) - 1",
    "lanemask_le": "(({one} << {lane}) << 1) - 1",
    "lanemask_gt": "~((({one} << {lane}) << 1) - 1)",
    "lanemask_ge": "~(({one} << {lane}) - 1)",
}

_TIMER = "%globaltimer counts nanoseconds; wall_clock64() counts ticks of hipDeviceAttributeWallClockRate"
_WHY_NOT = {
    "globaltimer": _TIMER,
    "globaltimer_lo": _TIMER,
    "globaltimer_hi": _TIMER,
    "nsmid": "%nsmid bounds %smid; AMD's __smid() is sparse and can exceed the number of compute units",
    "nwarpid": "%nwarpid is a hardware limit; AMD has none of that name",
    "gridid": "%gridid has no AMD counterpart",
    "dynamic_smem_size": "AMD does not tell a kernel the size of its dynamic shared memory: pass it as an argument",
    "total_smem_size": "AMD does not tell a kernel the size of its shared memory: pass it as an argument",
}


def special_register(state: Lowering, item: Instruction, kind: str, destination: Operand, name: str) -> None:
    """`mov d, %name` for the registers that have a C++ form."""
    if name in _LANE_MASKS:
        target = state.target_expression(destination)
        if target is None:
            one, lane = "1u", LANE
        else:
            one, lane = f"(__typeof__({target}))1", f"(__lane_id() & (sizeof({target}) * 8 - 1))"
        text = _LANE_MASKS[name].format(one=one, lane=lane)
        if target is None:
            state.write(destination, "u32", text)
        else:
            state.lines.append(f"{target} = {text};")
        return
    if name not in _REGISTERS:
        if name.startswith(("cluster", "nclusterid", "is_explicit_cluster")):
            raise NotTranslated(f"%{name}: AMD GPUs have no thread block clusters")
        raise NotTranslated(_WHY_NOT.get(name, f"%{name} is no register this table knows"))
    source, text = _REGISTERS[name]
    if name == "clock" and kind not in ("u32", "s32", "b32"):
        raise NotTranslated(f"{item.text}: %clock is 32 bits wide")
    if source == "u64" and kind in ("u32", "b32", "s32"):
        raise NotTranslated(f"{item.text}: %{name} is 64 bits wide")
    state.write(destination, source, text)
