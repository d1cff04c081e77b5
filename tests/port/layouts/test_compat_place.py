"""Where the header of the single-source layout stands, and what it carries from one run to the next."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.names.compat_header import Needs, compat_header, needs_in
from kernel_pytorch.port.names.shims import shims
from kernel_pytorch.port.project import PortOptions, port_project

KERNEL = "#include <cuda_runtime.h>\nvoid run(float* p) { cudaFree(p); }\n"


def ported(root: Path, files: dict[str, str]) -> dict[str, str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    result = port_project(discover(root), PortOptions(), 1)
    for patch in result.patches:
        (root / patch.path).parent.mkdir(parents=True, exist_ok=True)
        (root / patch.path).write_bytes(patch.after)
    return {patch.path: patch.after.decode() for patch in result.patches}


def test_it_stands_in_the_folder_that_holds_all_who_include_it(tmp_path: Path) -> None:
    done = ported(tmp_path, {"src/lib/a.cu": KERNEL, "src/lib/deep/b.cu": KERNEL})
    assert set(done) == {"src/lib/a.cu", "src/lib/deep/b.cu", "src/lib/kpt_hip_compat.h"}
    assert '#include "../kpt_hip_compat.h"' in done["src/lib/deep/b.cu"]


def test_it_stands_among_the_headers_where_a_program_includes_it_too(tmp_path: Path) -> None:
    header = "#pragma once\n#include <cuda_runtime.h>\n"
    done = ported(tmp_path, {"src/lib/a.h": header, "src/tool/main.cu": KERNEL})
    assert "src/lib/kpt_hip_compat.h" in done
    assert '#include "../lib/kpt_hip_compat.h"' in done["src/tool/main.cu"]
    assert set(ported(tmp_path, {"src/tool/more.cu": KERNEL})) == {"src/tool/more.cu"}


def test_installed_headers_have_one_of_their_own(tmp_path: Path) -> None:
    header = "#pragma once\n#include <cuda_runtime_api.h>\nvoid go(cudaStream_t stream);\n"
    done = ported(tmp_path, {"lib/include/lib/go.hpp": header, "lib/src/go.cu": KERNEL})
    assert '#include "kpt_hip_compat.h"' in done["lib/include/lib/go.hpp"]
    assert done["lib/include/lib/kpt_hip_compat.h"] == done["lib/src/kpt_hip_compat.h"]
    assert {"hipFree", "hipStream_t"} <= set(done["lib/src/kpt_hip_compat.h"].split())


def test_a_file_without_an_include_of_its_own_still_counts(tmp_path: Path) -> None:
    """A header that relies on the includes of its users has nothing to change, and names that HIP must know."""
    user = '#include <cuda_runtime.h>\n#include "kind.h"\nvoid run(float* p) { cudaFree(p); }\n'
    done = ported(tmp_path, {"a.cu": user, "kind.h": "#pragma once\nstruct Kind { cudaArray_t data; };\n"})
    assert "#define cudaArray_t hipArray_t" in done["kpt_hip_compat.h"]
    assert "kind.h" not in done


def test_a_later_file_adds_to_the_header_and_takes_nothing_away(tmp_path: Path) -> None:
    ported(tmp_path, {"a.cu": KERNEL})
    assert ported(tmp_path, {}) == {}
    done = ported(tmp_path, {"sub/b.cu": KERNEL.replace("cudaFree(p)", "cudaMalloc(&p, 4)")})
    assert set(done) == {"sub/b.cu", "kpt_hip_compat.h"}
    assert {"hipFree", "hipMalloc"} <= set(done["kpt_hip_compat.h"].split())


def test_a_library_header_stays_where_it_was(tmp_path: Path) -> None:
    """hipCUB needs HIP's compiler: the C++ files of the host compiler include the compatibility header as well."""
    text = "#include <cub/cub.cuh>\n#ifdef MARKS\n#include <nvToolsExt.h>\n#endif\nusing cub::BlockReduce;\n"
    done = ported(tmp_path, {"a.cu": KERNEL + text, "host.cpp": KERNEL})
    assert "#include <hipcub/hipcub.hpp>" in done["a.cu"]
    assert "#include <roctracer/roctx.h>" in done["a.cu"]
    assert "hipcub.hpp" not in done["kpt_hip_compat.h"]
    assert "roctx.h" not in done["kpt_hip_compat.h"]


def test_the_header_reads_back_as_what_it_gives() -> None:
    needs = Needs(("hip/hip_fp16.h",), (("cudaFree", "hipFree"),), (shims()[b"htanh"],))
    text = compat_header([needs])
    assert compat_header([needs_in(text)]) == text


def test_functions_of_the_device_are_hidden_from_the_hosts_compiler() -> None:
    device, macro = shims()[b"surf2DLayeredwrite"], shims()[b"nvtxNameCudaStream"]
    text = compat_header([Needs(shims=(device, macro))])
    assert text.index(macro.guard.decode()) < text.index("#if defined(__HIPCC__)") < text.index(device.guard.decode())
    assert compat_header([needs_in(text)]) == text
