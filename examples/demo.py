"""The main job end to end on the bundled sample: `make demo`.

Every step is a command that you can type yourself; it is printed before it runs. The sample is copied to `demo-out/`
first, so that nothing of yours is touched. The demo ends with status 1 if a step does not do what it should.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "fused_norm"
OUT = ROOT / "demo-out"
KPT = Path(sys.executable).with_name("kpt")


@dataclass(frozen=True)
class Step:
    """One command of the demo. `expected`: exit 1 means findings, which a CUDA project rightly has."""

    title: str
    arguments: tuple[str, ...]
    expected: tuple[int, ...] = (0,)
    folder: str = "."


PROJECT = "demo-out/fused_norm"
PAGE = OUT / "report.html"
HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_PYTEST = importlib.util.find_spec("pytest") is not None
ON_GPU = ("emulate", "--gpu", "mi300x", "--", sys.executable)
# The sample's extension includes torch's headers. Without them the demo looks at what needs none: the kernels and
# their test program.
LEVELS = () if HAS_TORCH else ("--level", "isolation,static,build,run", "--only", "csrc/selfcheck.cu")
STEPS = (
    Step("Is this machine fit? (the demo itself needs no GPU)", ("doctor",), (0, 1)),
    Step("What would a port have to deal with?", ("scan", PROJECT), (1,)),
    Step("What may be installed beside a ROCm torch", ("deps", PROJECT, "--write"), (1,)),
    Step("The port: every change gated, proven, then written", ("port", PROJECT, "--write", "--no-build")),
    Step(
        "The kernels and their test program, built for a data-centre and a desktop GPU",
        ("build", f"{PROJECT}/csrc/selfcheck.cu", "--arch", "gfx942,gfx1100", "-o", "demo-out/code-objects"),
    ),
    Step(
        "The CUDA original, names mapped and lane logic untouched, emulated at wave 32 and at wave 64: 64 goes wrong",
        ("emulate", "examples/fused_norm/csrc/selfcheck.cu", "--untranslated", "--compare", "rx7900xtx,mi300x"),
        (1,),
    ),
    Step(
        "The port, emulated at wave 32 and at wave 64: the same, and right",
        ("emulate", f"{PROJECT}/csrc/selfcheck.cu", "--compare", "rx7900xtx,mi300x"),
    ),
    Step(
        "Level by level, as a page to read",
        ("verify", PROJECT, "--old", "examples/fused_norm", *LEVELS, "--html", "demo-out/report.html"),
    ),
    Step("Why was that line changed?", ("explain", "KP303")),
)
# The end of the demo, where torch is there: the demo does not install it (200 MB), and any build of it will do.
OWN_TESTS = (
    Step(
        "The ported torch extension, built for an emulated MI300X",
        (*ON_GPU, "setup.py", "build_ext", "--inplace"),
        folder=PROJECT,
    ),
    Step(
        'The project\'s own tests with device="cuda": the extension and a Triton kernel run as MI300X machine code',
        (*ON_GPU, "-m", "pytest", "-q", "tests"),
        folder=PROJECT,
    ),
)
# What those two need is built once, in 20 s on two cores: it begins at the start, while other steps use one core.
PREPARE = (*ON_GPU, "-c", "import torch.utils.cpp_extension as extension; extension.include_paths('cuda')")
NO_TORCH = f"""
== Not run: the project's own tests on the emulated GPU
They need torch, and torch is not installed here. A CPU build will do:
  {sys.executable} -m pip install torch pytest setuptools --extra-index-url https://download.pytorch.org/whl/cpu
  make demo"""


ENDING = f"""\
Nothing ran on a GPU: the port was translated, proven, built for AMD targets and emulated on this CPU.

The page:    {PAGE.as_uri()}
The port:    {OUT / "fused_norm"}

With a project of yours:
  {KPT} scan PATH                               what has to change
  {KPT} port PATH --out ported                  a ported copy; your project stays as it is
  {KPT} verify ported --old PATH --html p.html  the same page for it
If torch is installed, a torch extension is installed and built too ({sys.executable} -m pip install torch)."""


def kpt(arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "kernel_pytorch", *arguments]


def main() -> int:
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(SAMPLE, OUT / "fused_norm")
    failed = []
    started = time.monotonic()
    has_all = HAS_TORCH and HAS_PYTEST
    if has_all:
        print("In the background an emulated GPU for torch is built. The last two steps run on it.", flush=True)
        nothing = subprocess.DEVNULL
        # What goes wrong there, the step that needs it says.
        preparing = subprocess.Popen(kpt(PREPARE), cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing)
    for number, step in enumerate((*STEPS, *(OWN_TESTS if has_all else ())), 1):
        typed = " ".join("python" if word == sys.executable else word for word in step.arguments)
        where = "" if step.folder == "." else f"cd {step.folder} && "
        print(f"\n== {number}. {step.title}\n$ {where}kpt {typed}\n", flush=True)
        if step in OWN_TESTS:
            preparing.wait()
        status = subprocess.run(kpt(step.arguments), cwd=ROOT / step.folder, check=False).returncode
        if status not in step.expected:
            failed.append(f"step {number} ({step.arguments[0]}) ended with status {status}")
    if not has_all:
        print(NO_TORCH)
    print(f"\n== Done in {time.monotonic() - started:.0f} s.")
    print(ENDING)
    for line in failed:
        print(f"FAILED: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
