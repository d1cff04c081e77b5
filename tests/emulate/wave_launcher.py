"""Starts translated kernels the short way: one grid, one thread, no runtime."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernel_pytorch.emulate.single import (
    ACCESS,
    CLOCK,
    FAULT,
    MESSAGE,
    RUN,
    SLEEP,
    KptServices,
    KptWave,
)


class Arg(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_char_p), ("name", ctypes.c_char_p), ("offset", ctypes.c_uint32), ("bytes", ctypes.c_uint32),
    ]  # fmt: skip


class PlaceRow(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("file", ctypes.c_char_p), ("line", ctypes.c_uint32)]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("symbol", ctypes.c_char_p),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(KptWave))),
        *((name, ctypes.c_uint32) for name in (
            "wave_size", "vgprs", "agprs", "sgprs", "lds_bytes", "scratch_lane_bytes", "kernarg_bytes",
            "max_workgroup_size", "uses_dynamic_stack", "rsrc1", "rsrc2", "rsrc3", "properties", "kernarg_preload")),
        ("args", ctypes.POINTER(Arg)),
        ("arg_count", ctypes.c_uint32),
        ("places", ctypes.POINTER(PlaceRow)),
        ("place_count", ctypes.c_uint32),
        ("missing_waits", ctypes.c_void_p),
        ("missing_wait_count", ctypes.c_uint32),
        ("inexact", ctypes.c_void_p),
        ("inexact_count", ctypes.c_uint32),
        ("mnemonics", ctypes.c_char_p),
    ]  # fmt: skip


class Module(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("build", ctypes.c_uint32),
        ("target", ctypes.c_char_p),
        ("kernels", ctypes.POINTER(Kernel)),
        ("kernel_count", ctypes.c_uint32),
        ("attach", ctypes.CFUNCTYPE(None, ctypes.c_uint64)),
    ]


class Counters(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint64) for name in (
            "vector_alu", "scalar_alu", "vector_memory", "scalar_memory", "lds", "matrix", "branch", "barrier", "other",
            "active_lanes", "possible_lanes", "global_bytes_read", "global_bytes_written", "lines_touched",
            "lines_ideal", "lds_accesses", "lds_conflict_cycles")),
        ("per_place", ctypes.c_void_p),
    ]  # fmt: skip


@dataclass
class Watched:
    """What the services were told."""

    faults: list[tuple[int, int, int, int, str]] = field(default_factory=list)  # kind, lane, address, bytes, text
    accesses: list[tuple[int, int, int]] = field(default_factory=list)  # lane, bytes, flags
    counters: Counters = field(default_factory=Counters)
    yields: int = 0


class Loaded:
    """A translated module."""

    def __init__(self, path: Path, image_base: int = 0x10000) -> None:
        library = ctypes.CDLL(str(path))
        library.kpt_module.restype = ctypes.POINTER(Module)
        self.module = library.kpt_module().contents
        self.module.attach(image_base)

    def kernel(self, name: str) -> Kernel:
        for index in range(self.module.kernel_count):
            one: Kernel = self.module.kernels[index]
            if name in one.symbol.decode():
                return one
        raise KeyError(name)

    def launch(self, name: str, grid: int, block: int, *arguments: Any, dynamic_lds: int = 0, budget: int = 1 << 20,
               most_yields: int = 1 << 20) -> Watched:  # fmt: skip
        """Run a one-dimensional grid. Arrays are passed by address, numbers as they are."""
        kernel = self.kernel(name)
        kernarg = np.zeros(kernel.kernarg_bytes + 64, np.uint8)
        given = iter(arguments)
        for index in range(kernel.arg_count):
            arg = kernel.args[index]
            kind = arg.kind.decode()
            hidden = {"hidden_block_count_x": grid, "hidden_block_count_y": 1, "hidden_block_count_z": 1,
                      "hidden_group_size_x": block, "hidden_group_size_y": 1, "hidden_group_size_z": 1,
                      "hidden_dynamic_lds_size": dynamic_lds}  # fmt: skip
            value: Any = hidden.get(kind, 0) if kind.startswith("hidden") else next(given)
            raw = np.uint64(value.ctypes.data) if isinstance(value, np.ndarray) else value
            stored = np.frombuffer(np.asarray(raw).tobytes()[: arg.bytes].ljust(arg.bytes, b"\0"), np.uint8)
            kernarg[arg.offset : arg.offset + arg.bytes] = stored
        watched = Watched()
        services = self._services(watched, kernel)
        for group in range(grid):
            self._group(kernel, kernarg, group, block, dynamic_lds, budget, most_yields, services, watched)
        return watched

    @staticmethod
    def _services(watched: Watched, kernel: Kernel) -> KptServices:
        def fault(wave: Any, kind: int, lane: int, address: int, size: int) -> None:
            watched.faults.append((kind, lane, address, size, kernel.places[wave.contents.at].text.decode()))

        return KptServices(
            FAULT(fault),
            ACCESS(lambda _, lane, address, size, flags: watched.accesses.append((lane, size, flags))),
            MESSAGE(lambda *_: None),
            CLOCK(lambda *_: 1),
            SLEEP(lambda *_: None),
            RUN(lambda *_: 0),  # each lane is shown by itself
        )

    @staticmethod
    def _group(kernel: Kernel, kernarg: Any, group: int, block: int, dynamic_lds: int, budget: int, most_yields: int,
               services: KptServices, watched: Watched) -> None:  # fmt: skip
        width = kernel.wave_size
        lds = np.zeros(max(kernel.lds_bytes + dynamic_lds, 4), np.uint8)
        waves = []
        kept: list[Any] = [lds]
        for number in range(-(-block // width)):
            wave = KptWave()
            at = 0
            for bit, words in ((0, 4), (1, 2), (2, 2), (3, 2)):
                if kernel.properties >> bit & 1:
                    if bit == 3:
                        wave.s[at], wave.s[at + 1] = kernarg.ctypes.data & 0xFFFFFFFF, kernarg.ctypes.data >> 32
                    at += words
            at = max(at, kernel.rsrc2 >> 1 & 31)
            if kernel.rsrc2 >> 7 & 1:
                wave.s[at] = group
            vgprs = np.zeros((kernel.vgprs, width), np.uint32)
            agprs = np.zeros((kernel.agprs + 1, width), np.uint32)
            scratch = np.zeros((width, kernel.scratch_lane_bytes + 2048), np.uint8)
            vgprs[0] = np.arange(number * width, (number + 1) * width)
            kept += [vgprs, agprs, scratch]
            active = min(width, block - number * width)
            wave.exec, wave.mode, wave.budget = (1 << active) - 1, kernel.rsrc1 >> 12 & 0xFF, budget
            wave.v, wave.a, wave.lds = vgprs.ctypes.data, agprs.ctypes.data, lds.ctypes.data
            wave.lds_bytes, wave.scratch_lane_bytes = kernel.lds_bytes + dynamic_lds, scratch.shape[1]
            wave.scratch, wave.wave_in_group = scratch.ctypes.data, number
            wave.services = ctypes.pointer(services)
            wave.counters = ctypes.cast(ctypes.pointer(watched.counters), ctypes.c_void_p)
            waves.append(wave)
        waiting = list(waves)
        while waiting:
            still = []
            for wave in waiting:
                why = kernel.run(ctypes.byref(wave))
                if why:
                    still.append(wave)
                    wave.budget = budget
                    watched.yields += why == 2
            if watched.yields > most_yields:
                raise TimeoutError("the kernel does not end")
            waiting = still
