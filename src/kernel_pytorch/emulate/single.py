"""Runs single instructions on a given state of a wave: for conformance tests and for trying things out.

Many snippets are translated into one shared library; each is a few lines of assembly that end by themselves.
"""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kernel_pytorch.core import hardware
from kernel_pytorch.core.process import run_child
from kernel_pytorch.emulate.assembly.instruction import Function, SymbolPart
from kernel_pytorch.emulate.assembly.instruction_text import parse_instruction
from kernel_pytorch.emulate.codegen.emission import KernelShape, TranslationError
from kernel_pytorch.emulate.codegen.flow import Flow, lay_out
from kernel_pytorch.emulate.codegen.kernel import kernel_code
from kernel_pytorch.emulate.codegen.module import NATIVE, TranslatedKernel, module_files
from kernel_pytorch.emulate.host_compiler import HostCompiler, build_shared_library, find_host_compiler
from kernel_pytorch.emulate.isa.table import family
from kernel_pytorch.emulate.libraries import host_cxx
from kernel_pytorch.toolchain.code_object import KernelResources

SGPRS = 128
DEFAULT_MODE = 0xF0  # round to nearest, denormals kept
_BUDGET = 1 << 30


class KptServices(ctypes.Structure):
    """What a kernel may ask of its host; see native/engine.h."""


class KptWave(ctypes.Structure):
    """The state of a wave as native/engine.h lays it out."""


FAULT = ctypes.CFUNCTYPE(None, ctypes.POINTER(KptWave), ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32)
ACCESS = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(KptWave), ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32
)
MESSAGE = ctypes.CFUNCTYPE(None, ctypes.POINTER(KptWave), ctypes.c_uint32, ctypes.c_uint32)
CLOCK = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.POINTER(KptWave), ctypes.c_int)
SLEEP = ctypes.CFUNCTYPE(None, ctypes.POINTER(KptWave), ctypes.c_uint32)
RUN = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(KptWave),
    ctypes.c_uint32,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_uint32,
    ctypes.c_uint32,
)
KptServices._fields_ = [
    ("fault", FAULT),
    ("access", ACCESS),
    ("message", MESSAGE),
    ("clock", CLOCK),
    ("sleep", SLEEP),
    ("run", RUN),
    ("lds_used", ctypes.c_void_p),  # of builds that follow waits: no kernel here is one
    ("vector_wait", ctypes.c_void_p),
    ("image", ctypes.c_void_p),  # the runtime's texture unit
    ("race_cell", ctypes.c_void_p),  # of runs that look for races
]
KptWave._fields_ = [
    ("s", ctypes.c_uint32 * SGPRS),
    ("exec", ctypes.c_uint64),
    ("scc", ctypes.c_uint32),
    ("mode", ctypes.c_uint32),
    ("resume", ctypes.c_uint32),
    ("at", ctypes.c_uint32),
    ("budget", ctypes.c_int64),
    ("v", ctypes.c_void_p),
    ("a", ctypes.c_void_p),
    ("lds", ctypes.c_void_p),
    ("lds_bytes", ctypes.c_uint32),
    ("scratch_lane_bytes", ctypes.c_uint32),
    ("scratch", ctypes.c_void_p),
    ("group", ctypes.c_uint32 * 3),
    ("wave_in_group", ctypes.c_uint32),
    ("kernel", ctypes.c_void_p),
    ("services", ctypes.POINTER(KptServices)),
    ("counters", ctypes.c_void_p),
    ("owner", ctypes.c_void_p),
    ("issued", ctypes.c_uint64),
    ("loads_lds", ctypes.c_uint32),
    ("race_cell", ctypes.c_uint32),
    ("lds_notes", ctypes.c_void_p),
]


@dataclass
class WaveState:
    """Registers and memories of one wave. Arrays are NumPy's; `v` and `a` are (registers, lanes) of uint32."""

    wave: int
    s: Any  # uint32[128]: VCC at 106, TTMP at 108, M0 at 124
    v: Any
    a: Any
    lds: Any  # uint8
    scratch: Any  # uint8[lanes, bytes]
    exec: int = 0
    scc: int = 0
    mode: int = DEFAULT_MODE
    faults: list[tuple[int, int, int, int]] = field(default_factory=list)  # kind, lane, address, bytes


def blank_state(
    wave: int, vgprs: int = 64, agprs: int = 64, lds_bytes: int = 4096, scratch_bytes: int = 256
) -> WaveState:
    """A state of zeroes with every lane on."""
    import numpy as np

    return WaveState(
        wave,
        np.zeros(SGPRS, np.uint32),
        np.zeros((vgprs, wave), np.uint32),
        np.zeros((agprs, wave), np.uint32),
        np.zeros(lds_bytes, np.uint8),
        np.zeros((wave, scratch_bytes), np.uint8),
        exec=(1 << wave) - 1,
    )


class Snippets:
    """Translated pieces of assembly, ready to run. `texture_unit`: the function that their image instructions call."""

    def __init__(self, library: ctypes.CDLL, names: Sequence[str], wave: int, texture_unit: int | None = None) -> None:
        self._texture_unit = texture_unit
        self._functions = [getattr(library, name) for name in names]
        for function in self._functions:
            function.argtypes = [ctypes.POINTER(KptWave)]
            function.restype = ctypes.c_int
        self.wave = wave

    def __len__(self) -> int:
        return len(self._functions)

    def run(self, index: int, state: WaveState) -> int:
        """Run one snippet on a state, which it changes. Returns why it stopped: 0 end, 1 barrier, 2 yield."""
        if state.wave != self.wave:
            raise ValueError(f"a state of {state.wave} lanes for code of {self.wave} lanes")
        for array in (state.s, state.v, state.a, state.lds, state.scratch):
            if not array.flags["C_CONTIGUOUS"]:
                raise ValueError("the arrays of a state must be contiguous")
        faults = state.faults
        services = KptServices(
            FAULT(lambda _, kind, lane, address, size: faults.append((kind, lane, address, size))),
            ACCESS(lambda *_: None),
            MESSAGE(lambda *_: None),
            CLOCK(lambda *_: 0),
            SLEEP(lambda *_: None),
            RUN(lambda *_: 1),
            image=self._texture_unit,
        )
        held = KptWave()
        ctypes.memmove(held.s, state.s.ctypes.data, 4 * SGPRS)
        held.exec, held.scc, held.mode, held.budget = state.exec, state.scc, state.mode, _BUDGET
        held.v, held.a, held.lds = state.v.ctypes.data, state.a.ctypes.data, state.lds.ctypes.data
        held.lds_bytes, held.scratch_lane_bytes = state.lds.size, state.scratch.shape[1]
        held.scratch = state.scratch.ctypes.data
        held.services = ctypes.pointer(services)
        stopped = int(self._functions[index](ctypes.byref(held)))
        ctypes.memmove(state.s.ctypes.data, held.s, 4 * SGPRS)
        state.exec, state.scc, state.mode = held.exec, held.scc, held.mode
        return stopped


def build_snippets(
    snippets: Sequence[str],
    target: str,
    wave: int,
    mode: int = DEFAULT_MODE,
    checked: bool = False,
    compiler: HostCompiler | None = None,
    keep: Path | None = None,
) -> Snippets:
    """Translate snippets (assembly lines, apart by newlines) into one library. `mode` is the MODE they start in."""
    if not snippets:
        raise ValueError("no snippets were given")
    shape = KernelShape(
        target=target,
        generation=int(family(target)[3:]),
        minor=hardware.target(target).version[1],
        wave=wave,
        checked=checked,
        counted=False,
        flush_f32=(mode >> 4 & 3) != 3,
        flush_f16_f64=(mode >> 6 & 3) != 3,
        mode_changes=True,
        has_addresses=False,
    )
    names = [f"kpt_snippet_{number}" for number in range(len(snippets))]
    kernels = [_kernel(name, text, target, shape, wave) for name, text in zip(names, snippets, strict=True)]
    files = module_files(target, shape.generation, kernels, int(checked), (), "", exported=True)
    with tempfile.TemporaryDirectory(prefix="kpt-snippets-") as scratch:
        directory = keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        sources = []
        for file in files:
            (directory / file.name).write_text(file.whole)
            sources.append((directory / file.name, file.optimization))
        library = directory / "snippets.so"
        defines = ["KPT_CHECK"] if checked else []
        build_shared_library(compiler or find_host_compiler(), sources, NATIVE, library, defines)
        unit = _texture_unit(shape.generation) if any(re.search("image_|_format_", text) for text in snippets) else None
        return Snippets(ctypes.CDLL(str(library)), names, wave, unit)


@cache
def _texture_unit(generation: int) -> int:
    """The address of the runtime's texture unit, for a generation of GPUs, without the rest of the runtime."""
    units = ("image_descriptor", "texel", "half", "image_sample", "image_access")
    text = (
        "".join(f'#include "{NATIVE}/runtime/{name}.cpp"\n' for name in units)
        + f"""
extern "C" void texture_unit(KptWave *wave, const KptImageUse *use, const uint32_t *words, uint64_t exec) {{
    kpt::image_access(wave, *use, words, exec, {{{generation}, false, false}});
}}
"""
    )
    with tempfile.TemporaryDirectory(prefix="kpt-texture-unit-") as scratch:
        source, library = Path(scratch) / "unit.cpp", Path(scratch) / "unit.so"
        source.write_text(text)
        done = run_child([*host_cxx(), "-std=c++17", "-fPIC", "-shared", str(source), "-o", str(library)])
        if done.returncode != 0:
            raise RuntimeError(f"the texture unit could not be compiled:\n{done.stderr}")
        function = ctypes.CDLL(str(library)).texture_unit
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _kernel(name: str, text: str, target: str, shape: KernelShape, wave: int) -> TranslatedKernel:
    instructions = tuple(parse_instruction(line.strip()) for line in text.splitlines() if line.strip())
    # A snippet ends as a suspended wave does, so that its state is written back.
    flow = lay_out((Function(name, (*instructions, parse_instruction("s_sleep 0")), {name: 0}),), {name: 0})
    code = kernel_code(name, name, flow, shape, _no_symbols, keep_all=True)
    resources = KernelResources(name, name, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1024, None, wave, False, False, (), None)
    return TranslatedKernel(resources, code, wave, (0, 0, 0, 0, 0))


def _no_symbols(part: SymbolPart, _index: int, _flow: Flow) -> str:
    raise TranslationError(f"{part.name}: a snippet has no symbols")
