"""What kept objects and headers that are parsed once save: processor time of hipcc for sources of a C++ extension.

kpt emulate --gpu mi300x -- python benchmarks/extension_compiles.py CHECKOUT SOURCE SOURCE [-I FOLDER]

CHECKOUT is copied and given to torch's own hipify. Each SOURCE (a .cu in it that includes torch's headers) is compiled
as torch's build compiles it: with its headers parsed by itself, then as kpt does it, then once more.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from torch.utils import cpp_extension
from torch.utils.hipify import hipify_python

# A file that is read before the source: then the headers do not come first, and each source parses its own.
BY_ITSELF = ("-include", "stddef.h")


def cpu_seconds(command: list[str], cache: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, "KPT_CACHE_DIR": str(cache)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("-I", dest="folders", action="append", default=[], help="of the checkout")
    options = parser.parse_args()
    folders = cpp_extension.include_paths("cuda")  # makes the ROCm form of torch's headers, once
    with tempfile.TemporaryDirectory(prefix="kpt-compiles-") as scratch:
        project = Path(scratch) / "project"
        shutil.copytree(options.checkout, project, ignore=shutil.ignore_patterns(".git"))
        done = hipify_python.hipify(
            project_directory=str(project),
            output_directory=str(project),
            includes=[f"{project}/*"],
            is_pytorch_extension=True,
            show_detailed=False,
        )
        own = [f"-I{project / folder}" for folder in (".", *options.folders)]
        flags = [*cpp_extension.COMMON_HIP_FLAGS, *cpp_extension.COMMON_HIPCC_FLAGS, "-std=c++20", "-O2", "-fPIC"]
        words = [
            *own,
            *(f"-I{one}" for one in (*folders, sysconfig.get_paths()["include"])),
            *flags,
            "-DTORCH_EXTENSION_NAME=x",
        ]
        hipcc = f"{cpp_extension.ROCM_HOME}/bin/hipcc"
        print("| source | headers parsed by itself | as kpt does it | again |")
        print("|---|---|---|---|")
        for name in options.sources:
            found = done[str(project / name)]
            source = str(found.hipified_path or project / name)
            command = [hipcc, *words, "-c", source, "-o", f"{source}.o"]
            cache = Path(scratch) / "cache"
            times = [
                cpu_seconds([*command, *BY_ITSELF], cache),
                cpu_seconds(command, cache),
                cpu_seconds(command, cache),
            ]
            print(f"| {name} | {' | '.join(f'{one:.1f} s' for one in times)} |", flush=True)


if __name__ == "__main__":
    main()
