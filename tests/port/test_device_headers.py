"""Plain C++ headers that are device code by the project's own macros."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.device_headers import device_headers
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.project import PortOptions, port_project

FILES = {
    "marks.h": "#ifdef __CUDACC__\n#define HD __host__ __device__\n#else\n#define HD\n#endif\n",
    # Marked by the project's macro.
    "bits.h": "#ifdef __CUDACC__\ninline HD int ones(unsigned x) { return count(x); }\n#endif\n",
    # Defines what a CUDA source asks for.
    "config.h": "#ifdef __CUDA_ARCH__\n#define FAST_PATH 1\n#endif\n",
    # Another library's: what it makes of nvcc stays in it.
    "json.hpp": "#if defined(__NVCC__)\n#define JSON_OLD 1\n#endif\n#ifdef JSON_OLD\n#endif\n",
    "host.h": "inline int two() { return 2; }\n",
    "k.cu": '#include "marks.h"\n#include "config.h"\n'
    "__global__ void k(int *p) {\n#ifdef FAST_PATH\n  *p = 1;\n#endif\n}\n",
}


def _written(root: Path) -> Path:
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


def test_headers_marked_by_macros_and_those_that_define_for_kernels(tmp_path: Path) -> None:
    assert device_headers(discover(_written(tmp_path))) == {"bits.h", "config.h"}


def test_they_are_ported(tmp_path: Path) -> None:
    """Before, both kept asking for nvcc on ROCm, and nothing said so."""
    done = port_project(discover(_written(tmp_path)), PortOptions(), workers=1)
    after = {one.path: one.patch.after for one in done.files if one.patch is not None}
    assert b"__HIPCC__" in after["bits.h"]
    assert b"__HIP_DEVICE_COMPILE__" in after["config.h"]
    assert "json.hpp" not in after and "host.h" not in after


def test_a_header_that_renames_lane_functions_is_ported(tmp_path: Path) -> None:
    # kmcuda: its kernels counted twice on 64 lanes, and nothing said so.
    (tmp_path / "private.h").write_text("#define shfl __shfl\n")
    (tmp_path / "a.cu").write_text('#include "private.h"\n__global__ void k(float* x) { *x = shfl(*x, 0); }\n')
    project = discover(tmp_path)
    assert "private.h" in {*device_headers(project), *project.of("cuda")}
    patches = {one.path: one.after for one in port_project(project, PortOptions(), 1).patches}
    assert b"#define shfl(value, lane) __shfl(value, lane, 32)" in patches["private.h"]
