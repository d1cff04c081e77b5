"""Programs that look for a GPU in its driver's files find the emulated one there, and everything else where it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.driver_files import gpu_properties, with_driver_files
from kernel_pytorch.emulate.host_compiler import find_host_compiler

LOOK = """
import os, pathlib
nodes = "/sys/class/kfd/kfd/topology/nodes"
print(os.path.exists("/dev/kfd"), os.access("/dev/kfd", os.R_OK), sorted(os.listdir(nodes)))
print([one.name for one in os.scandir(nodes) if "simd_count 0" in open(one.path + "/properties").read()])
print(os.path.getsize(nodes + "/2/properties") == len(pathlib.Path(nodes, "2", "properties").read_bytes()) > 0)
print(os.path.exists("/dev/kfd0"), os.path.exists("/sys/class/kfdx"), os.path.exists("/dev/null"))
open("made", "w").write("x")
print(oct(os.stat("made").st_mode & 0o777))
"""


def test_the_drivers_files_are_those_of_the_emulated_gpus(tmp_path: Path) -> None:
    environment = with_driver_files(os.environ, gpu_by_alias("mi300x"), 2, tmp_path / "driver")
    done = subprocess.run(
        [sys.executable, "-c", f"import os; os.umask(0o022)\n{LOOK}"], env=environment, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["True True ['0', '1', '2']", "['0']", "True", "False False True", "0o644"]


def test_what_was_preloaded_and_said_to_the_sanitizer_stays(tmp_path: Path) -> None:
    given = {"LD_PRELOAD": "/a.so", "ASAN_OPTIONS": "detect_leaks=0"}
    made = with_driver_files(given, gpu_by_alias("rx7900xtx"), 1, tmp_path)
    assert made["LD_PRELOAD"].startswith("/a.so:") and made["LD_PRELOAD"].endswith(".so")
    assert made["ASAN_OPTIONS"] == "detect_leaks=0:verify_asan_link_order=0"


@pytest.mark.parametrize(
    ("gpu", "version", "simds"), [("mi300x", 90402, 1216), ("rx7900xtx", 110000, 192), ("mi250x", 90010, 440)]
)
def test_properties_are_those_of_the_driver(gpu: str, version: int, simds: int) -> None:
    found = gpu_properties(gpu_by_alias(gpu), 1)
    assert (found["gfx_target_version"], found["simd_count"], found["location_id"]) == (version, simds, 0x200)


def test_a_program_with_an_address_sanitizer_starts(tmp_path: Path) -> None:
    compiler = find_host_compiler()
    (tmp_path / "a.c").write_text('#include <stdio.h>\nint main() { return fopen("/dev/kfd", "r") ? 7 : 1; }\n')
    words = [*compiler.command, "-fsanitize=address", str(tmp_path / "a.c"), "-o", str(tmp_path / "a")]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{compiler.version} has no address sanitizer here")
    environment = with_driver_files(
        {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}, gpu_by_alias("mi300x"), 1, tmp_path
    )
    assert subprocess.run([tmp_path / "a"], env=environment, capture_output=True, check=False).returncode == 7
