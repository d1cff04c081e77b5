"""ldmatrix, stmatrix and movmatrix: a kernel for each form, and what it leaves, by the PTX manual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
THREADS = 64


@dataclass(frozen=True)
class Move:
    """One form; a movmatrix has a count of 1."""

    opcode: str
    count: int
    is_transposed: bool

    @property
    def name(self) -> str:
        trans = ".trans" if self.is_transposed else ""
        if self.opcode == "movmatrix":
            return "movmatrix.sync.aligned.m8n8.trans.b16"
        return f"{self.opcode}.sync.aligned.m8n8.x{self.count}{trans}.shared.b16"


def moves() -> list[Move]:
    """All of them."""
    made = [Move(op, n, t) for op in ("ldmatrix", "stmatrix") for n in (1, 2, 4) for t in (False, True)]
    return [*made, Move("movmatrix", 1, True)]


def kernel(move: Move, number: int) -> str:
    """CUDA: 64 threads, each with a row of 16 bytes in shared memory and four registers. `first` and `second` say which
    warps work in two passes. The row that a lane points at is another lane's."""
    registers = [f"r{i}" for i in range(move.count)]
    group = "{" + ", ".join(f"%{i + (move.opcode == 'stmatrix')}" for i in range(move.count)) + "}"
    if move.opcode == "ldmatrix":
        outputs = ", ".join(f'"=r"({name})' for name in registers)
        text = f'asm volatile("{move.name} {group}, [%{move.count}];" : {outputs} : "r"(address));'
    elif move.opcode == "stmatrix":
        inputs = ", ".join(f'"r"({name})' for name in registers)
        text = f'asm volatile("{move.name} [%0], {group};" : : "r"(address), {inputs} : "memory");'
    else:
        text = f'asm volatile("{move.name} %0, %1;" : "=r"(r0) : "r"(r0));'
    return f"""extern "C" __global__ void move{number}(const uint4* in, uint4* out, int first, int second) {{
  __shared__ uint4 rows[{THREADS}];
  const unsigned at = threadIdx.x;
  rows[at] = in[at];
  __syncthreads();
  const uint4 own = in[{THREADS} + at];
  unsigned r0 = own.x, r1 = own.y, r2 = own.z, r3 = own.w;
  unsigned address = (unsigned)__cvta_generic_to_shared(&rows[(at & 32) + (at * 5 & 31)]);
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass)
    if ((pass ? second : first) >> (at / 32) & 1) {{
      {text}
    }}
  __syncthreads();
  out[at] = rows[at];
  out[{THREADS} + at] = make_uint4(r0, r1, r2, r3);
}}"""


def expected(move: Move, data: Array, mode: tuple[int, int]) -> Array:
    """Rows and registers afterwards, as (128, 4) words; `data` are those before."""
    rows, registers = data[:THREADS].copy(), data[THREADS:].copy()
    lane = np.arange(32)
    for warp in range(2):
        if not (mode[0] | mode[1]) >> warp & 1:
            continue
        own = registers[32 * warp : 32 * warp + 32]
        halves = rows[32 * warp : 32 * warp + 32].view(np.uint16)  # row, column
        for index in range(move.count):
            lines = (np.arange(8 * index, 8 * index + 8) * 5) & 31
            if move.opcode == "ldmatrix":
                matrix = halves[lines].T if move.is_transposed else halves[lines]
                own[:, index] = np.ascontiguousarray(matrix).view(np.uint32)[lane // 4, lane % 4]
                continue
            matrix = np.ascontiguousarray(own[:, index].reshape(8, 4)).view(np.uint16)
            matrix = np.ascontiguousarray(matrix.T) if move.is_transposed else matrix
            if move.opcode == "stmatrix":
                halves[lines] = matrix
            else:
                own[:, 0] = matrix.view(np.uint32).reshape(32)
    return np.concatenate([rows, registers])
