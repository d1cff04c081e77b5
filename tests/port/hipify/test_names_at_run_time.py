"""KP208 in a project: the program and the kernel file that it names in a string are seen together."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.project import PortOptions, ProjectPort, port_project
from kernel_pytorch.verify.isolation import Isolation, compare_file

HOST = b"""#include <cuda.h>
#include <nvrtc.h>
void run(nvrtcProgram program, CUmodule module, CUdeviceptr *at) {
  const char *file = "%s";
  nvrtcCompileProgram(program, 0, 0);
  cuModuleGetGlobal(at, 0, module, "scale");
}
"""
KERNEL = b"""static __constant__ float scale[4];
extern "C" __global__ void k(float *x) { x[threadIdx.x] *= scale[threadIdx.x]; }
"""


def ported(folder: Path, files: dict[str, bytes], layout: str = "single-source") -> ProjectPort:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return port_project(discover(folder), PortOptions(layout=layout), 1)


def findings(done: ProjectPort) -> list[tuple[str, int, str]]:
    return [(one.path, one.line, one.safety.value) for one in done.findings if one.code == "KP208"]


@pytest.mark.parametrize("layout", ["copy", "single-source", "torch-extension"])
def test_the_kernel_file_gets_the_edit(layout: str, tmp_path: Path) -> None:
    done = ported(tmp_path, {"host.cpp": HOST % b"kernel.cu", "kernel.cu": KERNEL}, layout)
    assert findings(done) == [("kernel.cu", 1, "safe")]
    (patch,) = [one for one in done.patches if one.path.startswith("kernel.")]
    assert b"#if !defined(KPT_AT_RUN_TIME)\nstatic\n#endif\n__constant__ float scale[4];" in patch.after
    if patch.before is not None:
        assert compare_file(patch.path, patch.before, patch.after).verdict is Isolation.PROVEN
    (host,) = [one for one in done.patches if one.path == "host.cpp"]
    assert b"kpt_compile_program(" in host.after


@pytest.mark.parametrize(
    "host",
    [
        HOST.replace(b"nvrtcCompileProgram(program, 0, 0)", b"load(module, file)") % b"kernel.cu",  # nobody compiles it
        HOST % b"other/kernel.cu?",  # another file, as far as one can see
        HOST % b'kernel.cu"; cuLinkAddData(0); file = "',  # linked with others, which may have the name too
    ],
)
def test_elsewhere_it_is_left_to_a_person(host: bytes, tmp_path: Path) -> None:
    done = ported(tmp_path, {"host.cu": host + b'#include "kernel.cu"\n', "kernel.cu": KERNEL})
    assert findings(done) == [("kernel.cu", 1, "manual")]


def test_a_file_that_nobody_names_is_not_looked_at(tmp_path: Path) -> None:
    assert findings(ported(tmp_path, {"host.cpp": HOST % b"another.cu", "kernel.cu": KERNEL})) == []
