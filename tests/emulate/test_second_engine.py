"""`--engine rocjitsu` against stand-in launchers: each form that the real one has had, and what is compared."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.run import RunSettings, emulation_environment
from kernel_pytorch.emulate.second_engine import find_launcher

GPU = gpu_by_alias("mi300x")
SOURCE = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void fill(int *x, int value) { x[threadIdx.x] = value + threadIdx.x; }
int main() {
  int *x, *gone;
  if (hipMalloc(&gone, 64) != hipSuccess || hipMalloc(&x, 256) != hipSuccess) return 2;
  (void)hipFree(gone);
  fill<<<1, 64>>>(x, getenv("ENGINE_IS_WRONG") ? 8 : 7);
  if (hipDeviceSynchronize() != hipSuccess) return 3;
  printf("filled\\n");
}
"""
RUN_HELP = "Usage: rocjitsu run [--profile NAME] -- <cmd>"
CONFIG_HELP = "usage: rocjitsu --config FILE [--daemon] -- app"


def launcher(folder: Path, name: str, run_help: str, plain_help: str, environment: dict[str, str]) -> Path:
    """A script in the launcher's place: it says what it would take, and runs the program with this environment."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / name
    settings = "\n".join(f"export {key}='{value}'" for key, value in environment.items())
    script.write_text(
        f"""#!/bin/sh
if [ "$1" = run ] && [ "$2" = --help ]; then echo '{run_help}'; exit 0; fi
if [ "$1" = --help ]; then echo '{plain_help}'; exit 0; fi
echo "$@" >> {folder}/calls
while [ "$1" != -- ]; do shift; done
shift
{settings}
exec "$@"
"""
    )
    script.chmod(0o755)
    return script


def on_path(folder: Path) -> dict[str, str]:
    return {"PATH": str(folder)}


def test_every_form_of_the_launcher_is_known(tmp_path: Path) -> None:
    new = launcher(tmp_path / "a", "rocjitsu", RUN_HELP, "", {})
    assert find_launcher(GPU, on_path(new.parent)).words == (str(new), "run", "--profile", "mi300x", "--")
    profile = {**on_path(new.parent), "KPT_ROCJITSU_PROFILE": "mine"}
    assert find_launcher(GPU, profile).words[3] == "mine"
    mirage = launcher(tmp_path / "b", "mirage", RUN_HELP, "", {})
    assert find_launcher(GPU, on_path(mirage.parent)).words[:2] == (str(mirage), "run")
    old = launcher(tmp_path / "c" / "bin", "rocjitsu", "", CONFIG_HELP, {})
    with pytest.raises(UsageError, match="wants a configuration for gfx942"):
        find_launcher(GPU, on_path(old.parent))
    config = tmp_path / "c" / "share" / "rocjitsu" / "configs" / "gfx942_mi300x.json"
    config.parent.mkdir(parents=True)
    config.write_text("{}")
    assert find_launcher(GPU, on_path(old.parent)).words == (str(old), "--config", str(config), "--")
    with pytest.raises(UsageError, match="no such file"):
        find_launcher(GPU, {**on_path(old.parent), "RJ_CONFIG": str(tmp_path / "none.json")})
    library = tmp_path / "d" / "lib" / "librocjitsu_kmd.so"
    library.parent.mkdir(parents=True)
    library.touch()
    found = find_launcher(GPU, {"PATH": "", "ROCM_PATH": str(tmp_path / "d"), "RJ_CONFIG": str(config)})
    assert found.words == () and dict(found.environment) == {"LD_PRELOAD": str(library), "RJ_CONFIG": str(config)}


def test_without_it_the_error_says_what_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ROCJITSU_HOME", "ROCM_PATH", "ROCM_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="rocjitsu is not on this machine"):
        find_launcher(GPU, {"PATH": str(tmp_path)})
    program = tmp_path / "program.hip"
    program.write_text("int main() {}")
    assert main(["emulate", str(program), "--engine", "rocjitsu", "--compare", "mi300x,rx7900xtx"]) == 2
    assert "leave --compare" in capsys.readouterr().err


def test_outputs_and_buffers_of_both_engines_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "fill.hip"
    source.write_text(SOURCE)
    # The stand-in's engine is ours again: what is tested is the way there and back.
    inside = emulation_environment(GPU, RunSettings(), tmp_path, None)
    words = {key: value for key, value in inside.items() if key.startswith("KPT_EMULATE") or key == "LD_LIBRARY_PATH"}
    folder = launcher(tmp_path / "bin", "rocjitsu", RUN_HELP, "", words).parent
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert main(["emulate", str(source), "--engine", "rocjitsu"]) == 0
    out = capsys.readouterr().out
    assert "MI300X and MI300X (rocjitsu): the same output, exit code and device buffers" in out
    assert (folder / "calls").read_text().startswith("run --profile mi300x -- ")
    wrong = launcher(tmp_path / "bin", "rocjitsu", RUN_HELP, "", {**words, "ENGINE_IS_WRONG": "1"})
    assert wrong.is_file() and main(["emulate", str(source), "--engine", "rocjitsu", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    (difference,) = document["differences"]["MI300X (rocjitsu)"]
    assert difference.startswith("buffer allocation 2 (256 bytes)")
    assert [len(run["events"]["buffers"]) for run in document["runs"]] == [1, 1]
