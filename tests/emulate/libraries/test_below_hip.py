"""What frameworks ask for below HIP: HSA, AMD SMI, the profiler, libnuma. Each says that there is nothing there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.emulate.libraries import library_directory

NAMES = ("rocprofiler-sdk", "hsa-runtime64", "amd_smi", "rocm_sysdeps_drm_amdgpu", "rocm_sysdeps_numa")
Loader = Callable[[str], ctypes.CDLL]


@pytest.fixture(scope="module")
def load() -> Loader:
    folder: Path = library_directory(NAMES)
    return lambda name: ctypes.CDLL(str(folder / name))


def test_a_tool_that_registers_is_told_that_nothing_is_recorded(load: Loader) -> None:
    profiler = load("librocprofiler-sdk.so.1")
    called = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: pytest.fail("the tool was called"))
    refused = profiler.rocprofiler_force_configure(called)
    profiler.rocprofiler_get_status_string.restype = ctypes.c_char_p
    assert refused != 0 and b"records no profile" in profiler.rocprofiler_get_status_string(refused)
    before, after, valid = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_int(7)
    for time in (before, after):
        assert profiler.rocprofiler_get_timestamp(ctypes.byref(time)) == 0
    assert 0 < before.value <= after.value
    assert profiler.rocprofiler_context_is_valid(ctypes.c_uint64(1), ctypes.byref(valid)) == 0 and valid.value == 0


def test_hsa_has_no_driver_and_no_agents(load: Loader) -> None:
    hsa = load("libhsa-runtime64.so.1")
    text = ctypes.c_char_p()
    status = hsa.hsa_init()
    assert status == 0x1008
    assert hsa.hsa_status_string(status, ctypes.byref(text)) == 0 and b"no HSA" in (text.value or b"")
    agent = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: pytest.fail("an agent was listed"))
    assert hsa.hsa_iterate_agents(agent, None) == 0


def test_smi_lists_no_sockets(load: Loader) -> None:
    smi = load("libamd_smi.so.26")
    count, handle = ctypes.c_uint32(5), ctypes.c_void_p()
    assert smi.amdsmi_init(ctypes.c_uint64(2)) == 0
    assert smi.amdsmi_get_socket_handles(ctypes.byref(count), None) == 0 and count.value == 0
    assert smi.amdsmi_get_processor_handle_from_bdf(ctypes.c_uint64(0x100), ctypes.byref(handle)) == 2


def test_there_is_no_numa_and_no_device_behind_libdrm(load: Loader) -> None:
    assert load("librocm_sysdeps_numa.so.1").numa_available() == -1
    assert load("librocm_sysdeps_drm_amdgpu.so.1").amdgpu_device_initialize(3, None, None, None) == -19
