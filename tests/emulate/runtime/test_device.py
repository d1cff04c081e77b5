"""Properties, attributes, several devices, missing functions, the layout of the structures."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias, gpus
from kernel_pytorch.emulate.device_properties import device_description
from kernel_pytorch.emulate.runtime_build import SOURCES, exported_symbols, stub_source, version_script
from tests.emulate.runtime.conftest import Run

ROCM = Path(__file__).parents[3] / ".rocm" / "usr" / "include"


def test_every_amd_gpu_can_be_described() -> None:
    for gpu in gpus("amd"):
        described = device_description(gpu)
        assert described["attributes"]["87"] == gpu.target.wave_size
        assert described["occupancy"]["compute_units"] == gpu.compute_units
    assert gpu_by_alias("mi250x").target.version == (9, 0)
    assert gpu_by_alias("rx7900xtx").target.version == (11, 0)
    with pytest.raises(ValueError, match="not an AMD GPU"):
        device_description(gpus("nvidia")[0])


def test_properties_attributes_and_devices(run: Run) -> None:
    ran = run(
        """
        count = ctypes.c_int()
        good("hipGetDeviceCount", ctypes.byref(count))
        assert count.value == 3
        properties = ctypes.create_string_buffer(1472)
        good("hipGetDevicePropertiesR0600", properties, 1)
        name = properties.raw[:256].split(b"\\0")[0].decode()
        assert name == "AMD Instinct MI300X", name
        assert b"gfx942:sramecc+:xnack-" in properties.raw
        value = ctypes.c_int()
        for attribute, expected in ((87, 64), (63, 304), (56, 1024), (23, 9), (61, 4), (74, 65536), (26, 1024)):
            good("hipDeviceGetAttribute", ctypes.byref(value), attribute, 0)
            assert value.value == expected, (attribute, value.value)
        assert call("hipDeviceGetAttribute", ctypes.byref(value), 87, 3) == 101
        assert call("hipSetDevice", 3) == 101
        good("hipSetDevice", 2)
        good("hipGetDevice", ctypes.byref(value))
        assert value.value == 2
        a = malloc(100)
        kernel = function(module(), "add")
        good("hipDeviceCanAccessPeer", ctypes.byref(value), 0, 2)
        assert value.value == 1
        good("hipDeviceEnablePeerAccess", 0, 0)
        assert call("hipDeviceEnablePeerAccess", 0, 0) == 704
        good("hipMemcpyPeer", ctypes.c_void_p(a), 2, ctypes.c_void_p(a), 2, size(100))
        blocks = ctypes.c_int()
        good("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), kernel, 256, size(0))
        assert blocks.value == 8
        good("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), kernel, 256, size(30000))
        assert blocks.value == 2
        """,
        devices=3,
    )
    assert ran.code == 0, ran.err


def test_without_a_described_gpu_there_is_no_device(run: Run) -> None:
    ran = run(
        """
        count = ctypes.c_int(7)
        assert call("hipGetDeviceCount", ctypes.byref(count)) == 100
        assert count.value == 0
        """,
        env={"KPT_EMULATE_GPU": ""},
    )
    assert ran.code == 0, ran.err
    assert "kpt emulate" in ran.err


def test_a_function_that_is_not_emulated_says_so_once(run: Run) -> None:
    ran = run(
        """
        assert call("hipImportExternalMemory", None, None) == NOT_SUPPORTED
        assert call("hipImportExternalMemory", None, None) == NOT_SUPPORTED
        assert call("hipGetLastError") == NOT_SUPPORTED
        """
    )
    assert ran.code == 0, ran.err
    assert ran.err.count("hipImportExternalMemory is not emulated") == 1
    assert {"event": "unsupported", "function": "hipImportExternalMemory"} in ran.events


def test_exports_carry_versions(runtime: Path) -> None:
    symbols = exported_symbols()
    assert "hipMalloc" in symbols["hip_4.2"] and "hipGetDevicePropertiesR0600" in symbols["hip_6.0"]
    every = [name for names in symbols.values() for name in names]
    assert len(every) == len(set(every)) > 500
    script = version_script(symbols)
    assert script.index("hip_4.2 {") < script.index("hip_4.3 {") and "} hip_4.2;" in script
    assert "KPT_SAME(hipMemcpy_spt, hipMemcpy)" in stub_source(symbols)
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("no readelf here")
    listed = subprocess.run(
        [readelf, "--dyn-syms", "-W", str(runtime / "libamdhip64.so")], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"hipMalloc@@hip_4\.2$", listed, re.MULTILINE)
    assert len(re.findall(r"@@(?:hip|kpt)_\d", listed)) >= len(every)
    # Nothing of ours leaks into programs.
    assert not re.search(r" DEFAULT +\d+ _ZN3kpt", listed)


@pytest.mark.rocm_headers
def test_structures_have_the_headers_layout(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or not (ROCM / "hip" / "hip_runtime_api.h").exists():
        pytest.skip("needs a C++ compiler and ROCm's headers")
    structures = (
        "hipDeviceProp_tR0600", "hipDeviceProp_tR0000", "hipMemcpy3DParms", "hip_Memcpy2D", "HIP_MEMCPY3D",
        "hipFuncAttributes", "hipLaunchConfig_t", "hipLaunchAttribute", "HIP_LAUNCH_CONFIG", "hipKernelNodeParams",
        "hipMemsetParams", "hipMemAllocNodeParams", "hipPointerAttribute_t", "hipFunctionLaunchParams",
        "HIP_ARRAY3D_DESCRIPTOR", "hipMemcpy3DPeerParms",
    )  # fmt: skip
    members = (
        "multiProcessorCount",
        "sharedMemPerBlockOptin",
        "unifiedFunctionPointers",
        "gcnArchName",
        "asicRevision",
    )
    lines = [f'printf("%zu ", sizeof({name}));' for name in structures]
    lines += [f'printf("%zu ", offsetof(hipDeviceProp_tR0600, {name}));' for name in members]
    ours = '#include "hip_abi.h"\n'
    theirs = "#define __HIP_PLATFORM_AMD__ 1\n#include <hip/hip_runtime_api.h>\n#include <hip/hip_deprecated.h>\n"
    found = []
    for name, includes in (("ours", ours), ("theirs", theirs)):
        source = tmp_path / f"{name}.cpp"
        source.write_text(f"#include <cstdio>\n#include <cstddef>\n{includes}int main() {{ {''.join(lines)} }}\n")
        command = [compiler, "-std=c++17", "-w", f"-I{SOURCES}", f"-I{ROCM}", str(source), "-o", str(tmp_path / name)]
        subprocess.run(command, check=True)
        found.append(subprocess.run([str(tmp_path / name)], capture_output=True, text=True, check=True).stdout.split())
    assert found[0] == found[1]
    source_text = (SOURCES / "error_table.h").read_text()
    header = (ROCM / "hip" / "hip_runtime_api.h").read_text()
    for name, value in re.findall(r"X\((\w+), (\d+),", source_text):
        assert re.search(rf"\b{name} = {value}\b", header), name
