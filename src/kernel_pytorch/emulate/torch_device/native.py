"""The functions of the C++ part, called through ctypes."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

_FIGURES = (
    "allocated", "peak_allocated", "total_allocated", "total_freed", "reserved", "peak_reserved", "requested",
    "peak_requested", "count", "peak_count", "total_count", "freed_count", "segments", "peak_segments",
    "device_allocations", "device_frees", "retries", "out_of_memory",
)  # fmt: skip
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "kpt_problem": (c_char_p, []),
    "kpt_install": (c_int, []),
    "kpt_device_count": (c_int, []),
    "kpt_current_device": (c_int, []),
    "kpt_set_device": (c_int, [c_int]),
    "kpt_mark_initialized": (None, []),
    "kpt_in_bad_fork": (c_int, []),
    "kpt_default_generator": (ctypes.py_object, [c_int]),
    "kpt_current_stream": (c_int64, [c_int]),
    "kpt_set_stream": (None, [c_int64, c_int]),
    "kpt_new_stream": (c_int64, [c_int, c_int]),
    "kpt_stream_priority": (c_int, [c_int64]),
    "kpt_elapsed": (c_double, [c_int64, c_int64]),
    "kpt_synchronize": (c_int, []),
    "kpt_memory_figures": (None, [c_int, c_void_p]),
    "kpt_reset_peaks": (None, [c_int]),
    "kpt_reset_totals": (None, [c_int]),
    "kpt_empty_cache": (None, []),
    "kpt_set_memory_fraction": (None, [c_int, c_double]),
    "kpt_memory_fraction": (c_double, [c_int]),
    "kpt_memory_info": (c_int, [c_void_p, c_void_p]),
    "kpt_raw_allocate": (c_void_p, [c_size_t]),
    "kpt_raw_free": (None, [c_void_p]),
    "kpt_capturing": (c_int, []),
    "kpt_graph_begin": (c_void_p, [c_int]),
    "kpt_graph_end": (c_int, [c_void_p]),
    "kpt_graph_replay": (c_int, [c_void_p, c_int]),
    "kpt_graph_discard": (None, [c_void_p]),
    "kpt_set_sync_debug_mode": (None, [c_int]),
    "kpt_sync_debug_mode": (c_int, []),
    "kpt_register_operators": (c_int, []),
    "kpt_set_open": (None, [c_int]),
    "kpt_resize_storage": (c_int, [c_void_p, c_size_t]),
    "kpt_operator_count": (c_uint64, []),
    "kpt_operator_calls": (c_char_p, []),
}


def _plain(function: Any) -> Any:
    """As a function of Python's: torch.compile keeps tables of functions, and those of ctypes have no hash."""

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


class Native:
    """The loaded library. Its functions without the `kpt_` before their names; `check` raises what one reported."""

    def __init__(self, library: Path, runtime: Path) -> None:
        # The runtime first: the library needs one of that name, and this one is to be it.
        self.runtime = ctypes.CDLL(str(runtime / "libamdhip64.so.7"), mode=ctypes.RTLD_GLOBAL)
        # PyDLL: the calls are short, and some of them make Python objects.
        # Its names stay its own: with it all of torch would become global, and come before the libraries of extensions.
        loaded = ctypes.PyDLL(str(library))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name.removeprefix("kpt_"), _plain(function))
        self.path = library

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the torch device has no function {name}")

    def check(self, status: int) -> None:
        """Raise torch.AcceleratorError for a call that failed."""
        if status:
            import torch

            raise torch.AcceleratorError(self.problem().decode())

    def figures(self, device: int) -> dict[str, int]:
        """Bytes and counts of the device's memory."""
        values = (c_int64 * len(_FIGURES))()
        self.memory_figures(device, values)
        return dict(zip(_FIGURES, values, strict=True))

    def free_and_total(self) -> tuple[int, int]:
        """Bytes of the current device."""
        free, total = c_size_t(), c_size_t()
        self.check(self.memory_info(ctypes.addressof(free), ctypes.addressof(total)))
        return free.value, total.value
