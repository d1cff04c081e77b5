"""The tools: which verbs a client can call, with which arguments. Adding one is adding a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kernel_pytorch.cli.mcp_server.arguments import Argument
from kernel_pytorch.verify.levels import LEVELS, RUNS_PROJECT_CODE

TARGETS = r"^gfx[0-9a-f]{3,4}$"
CODES = r"^[A-Za-z]{1,2}[0-9]{1,3}$"
NO_RUN_LEVELS = tuple(level for level in LEVELS if level not in RUNS_PROJECT_CODE)

PROJECT = Argument("path", "path", "a project folder or one file, relative to the server's root", required=True)
FOLDER = Argument("path", "path", "the project folder, relative to the server's root", required=True)
SELECT = Argument("select", "list", "only these codes; KP6 means all of KP6xx", "--select", pattern=CODES)
IGNORE = Argument("ignore", "list", "not these codes", "--ignore", pattern=CODES)
EXCLUDE = Argument("exclude", "list", "not these files: tests, old/**/*.py", "--exclude")
ARCH = Argument("arch", "list", "gfx targets such as gfx942 (MI300X) and gfx1100 (RX 7900)", "--arch", pattern=TARGETS)
HTML = Argument("html", "path", "also write a report page to this file", "--html", writes=True)
INCLUDE = Argument("include_dirs", "paths", "include folders", "-I")
DEFINES = Argument("defines", "texts", "macros, NAME or NAME=VALUE", "-D", pattern=r"^[A-Za-z_]\w*(=.*)?$")
SUBJECT = Argument("target", "target", "path/to/file.py:function, which returns (model, inputs)", required=True)
FILES = Argument("files", "paths", "the files", required=True)


@dataclass(frozen=True)
class Tool:
    """A verb for clients. `seconds` is the time a call may take unless the client says otherwise."""

    name: str
    about: str
    arguments: tuple[Argument, ...]
    seconds: int = 120
    runs_code: bool = False  # of the project, on this machine
    always_writes: bool = False

    @property
    def writes(self) -> bool:
        return self.always_writes or any(argument.writes for argument in self.arguments)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of a call's arguments."""
        properties = {argument.name: argument.schema() for argument in self.arguments}
        properties["timeout_s"] = {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 3600,
            "description": f"stop the call after this time (default {self.seconds})",
        }
        properties["limit"] = {
            "type": "integer",
            "minimum": 1,
            "description": "at most this many entries of any list (default 100); left_out says what was cut",
        }
        required = [argument.name for argument in self.arguments if argument.required]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TOOLS = (
    Tool(
        "scan",
        "What a port to ROCm has to deal with: findings with code and place, phases, effort. Changes nothing.",
        (PROJECT, SELECT, IGNORE, EXCLUDE, HTML),
    ),
    Tool(
        "deps",
        "An install plan that cannot overwrite a ROCm torch: each requirement kept, dropped, replaced or protected.",
        (
            FOLDER,
            Argument("write", "switch", "write requirements-rocm.txt and constraints-rocm.txt", "--write", writes=True),
        ),
    ),
    Tool(
        "port",
        "The port of a project to ROCm, every change gated and proven to leave the NVIDIA path alone. A dry run that "
        "shows the diff, unless write or out is given.",
        (
            FOLDER,
            Argument(
                "write", "switch", "apply the port to the project (default: only show it)", "--write", writes=True
            ),
            Argument("out", "path", "write a ported copy into this new folder", "--out", writes=True),
            Argument(
                "layout",
                "text",
                "how C++ is ported",
                "--layout",
                choices=("auto", "copy", "single-source", "torch-extension"),
            ),
            Argument("unsafe", "switch", "also make the edits that need a review", "--unsafe"),
            Argument("no_build", "switch", "do not build what was ported", "--no-build"),
            ARCH,
            SELECT,
            IGNORE,
            EXCLUDE,
            HTML,
        ),
        seconds=600,
    ),
    Tool(
        "hipify",
        "CUDA C++ to HIP. One file comes back as text (source) or is written (out). Folders: out or examine.",
        (
            Argument("files", "paths", "CUDA files, or one folder", required=True),
            Argument("out", "path", "file or folder to write", "--out", writes=True),
            Argument("examine", "switch", "translate nothing, only figures and findings", "--examine"),
            Argument(
                "layout", "text", "what comes out", "--layout", choices=("copy", "single-source", "torch-extension")
            ),
            Argument(
                "wave",
                "text",
                "keep 32-lane warps, or widen where provably right",
                "--wave",
                choices=("logical32", "native"),
            ),
            Argument("unsafe", "switch", "also make the edits that need a review", "--unsafe"),
            INCLUDE,
        ),
    ),
    Tool(
        "build",
        "Compile HIP or CUDA kernels for AMD GPUs here: registers, spills, LDS and occupancy per kernel. Nothing runs.",
        (
            FILES,
            ARCH,
            Argument("gpu", "list", "products instead of targets: mi300x, rx7900xtx", "--gpu"),
            Argument("out", "path", "write the code objects into this folder", "--out", writes=True),
            INCLUDE,
            DEFINES,
            Argument("workgroup_size", "number", "occupancy for this launch", "--workgroup-size"),
        ),
        seconds=600,
    ),
    Tool(
        "emulate",
        "Build a HIP or CUDA program for an AMD GPU and run its machine code on the CPU. Runs its host code here.",
        (
            FILES,
            Argument(
                "gpu", "text", "the GPU to emulate: mi300x (wave 64), rx7900xtx (wave 32)", "--gpu", pattern=r"^[\w-]+$"
            ),
            Argument(
                "compare",
                "list",
                "run on each of these GPUs and compare with the first",
                "--compare",
                pattern=r"^[\w-]+$",
            ),
            Argument("check", "list", "faults that hardware hides", "--check", choices=("memory", "races")),
            Argument("profile", "switch", "count instructions, divergence, memory traffic by line", "--profile"),
            Argument("untranslated", "switch", "leave the lane logic of a .cu as written", "--untranslated"),
            INCLUDE,
            DEFINES,
            Argument("program_arguments", "after-dashes", "arguments of the program"),
        ),
        seconds=600,
        runs_code=True,
    ),
    Tool(
        "verify",
        "Is the port right? Levels: isolation, static, install, build, run, numerical. Not run is never passed.",
        (
            FOLDER,
            Argument("level", "list", "only these levels", "--level", choices=LEVELS),
            Argument(
                "require", "text", "findings unless every level up to this one passes", "--require", choices=LEVELS
            ),
            Argument(
                "base", "text", "the git revision before the port (default HEAD)", "--base", pattern=r"^[\w./@^~-]+$"
            ),
            Argument("old", "path", "compare with this folder instead", "--old"),
            ARCH,
            HTML,
        ),
        seconds=1200,
        runs_code=True,
    ),
    Tool(
        "explain",
        "The page of a code: what it is, why, what to do, an example, who says so. Without codes, the list of all.",
        (Argument("codes", "texts", "such as KP301, or a family such as KP3", pattern=CODES),),
        seconds=30,
    ),
    Tool(
        "doctor",
        "Is this machine fit for ROCm torch, and what has to be fixed: torch, GPU, driver, variables, packages.",
        (Argument("quick", "switch", "do not start torch", "--quick"),),
    ),
    Tool(
        "inspect",
        "What torch.compile would run for a model on a GPU that is not here: kernels, registers, spills, times.",
        (
            SUBJECT,
            Argument(
                "arch", "list", "targets or products: gfx942, gfx1100, sm_90, mi325x", "--arch", pattern=r"^[\w-]+$"
            ),
            HTML,
        ),
        seconds=1200,
        runs_code=True,
    ),
    Tool(
        "bench",
        "Time functions so that the figure holds up; several are compared in turns: faster, slower, same or undecided.",
        (
            Argument("targets", "targets", "path/to/file.py:function, one or more", required=True),
            Argument("seconds", "number", "stop sampling after this long", "--seconds"),
            Argument(
                "compile", "texts", "also torch.compile each target in this mode", "--compile", pattern=r"^[\w-]+$"
            ),
        ),
        seconds=1200,
        runs_code=True,
    ),
    Tool(
        "profile",
        "Where the time of a model goes, the roofline, what to do. Also reads torch's and rocprof's recordings.",
        (
            Argument("target", "subject", "path/to/file.py:function, a trace, or rocprof's output", required=True),
            Argument("gpu", "text", "the GPU the recording is of", "--gpu", pattern=r"^[\w-]+$"),
            HTML,
        ),
        seconds=1200,
        runs_code=True,
    ),
    Tool(
        "optimize",
        "Make a model faster step by step: each is predicted, applied to a copy, checked on fresh inputs, and kept "
        "only where it is right and measures faster. Writes the ledger and a module that applies what was kept.",
        (
            SUBJECT,
            Argument("out", "path", "folder of the result (default kpt-optimized)", "--out", writes=True),
            Argument(
                "levels", "text", "levels, as 2, 2-4 or 1,3", "--levels", pattern=r"^[1-5](-[1-5])?(,[1-5](-[1-5])?)*$"
            ),
            Argument("only", "texts", "only these rungs", "--only", pattern=r"^\w+$"),
            Argument("skip", "texts", "not these rungs", "--skip", pattern=r"^\w+$"),
            Argument("budget", "number", "seconds in all (default 600)", "--budget"),
            HTML,
        ),
        seconds=1800,
        runs_code=True,
        always_writes=True,
    ),
)


def offered(*, no_run: bool = False, read_only: bool = False) -> dict[str, Tool]:
    """The tools of a server: without those that run the project's code, without the arguments that write."""
    tools = {tool.name: tool for tool in TOOLS}
    if no_run:
        tools = {name: tool for name, tool in tools.items() if not tool.runs_code}
        tools["verify"] = _verify_without_running()
    if read_only:
        tools = {
            name: replace(tool, arguments=tuple(argument for argument in tool.arguments if not argument.writes))
            for name, tool in tools.items()
            if not tool.always_writes
        }
    return tools


def _verify_without_running() -> Tool:
    verify = next(tool for tool in TOOLS if tool.name == "verify")
    level = Argument("level", "list", "only these levels", "--level", required=True, choices=NO_RUN_LEVELS)
    kept = (level, *(argument for argument in verify.arguments if argument.name not in ("level", "require")))
    return replace(verify, arguments=kept, runs_code=False)
