"""nvidia-smi and NVIDIA's other tools, run from Python

What: A subprocess or os.system call whose command is nvidia-smi, nsys, ncu, another tool of CUDA's toolkit or NVIDIA's
    debuggers. A question for nvidia-smi (`shutil.which`) in a file that does not run it.
Why: An AMD machine does not have these tools, and AMD's tools print another format. A program that looks for nvidia-smi
    to learn whether there is a GPU goes on without one.
Fix: Find out what the program wants to know. torch.cuda answers for memory, utilisation, name and count on both
    vendors; amd-smi (`amd-smi metric --json`) is the tool. kpt leaves a call alone that already catches
    FileNotFoundError.
Source: https://rocm.docs.amd.com/projects/amdsmi/en/develop/how-to/amdsmi-cli-tool.html;
    https://github.com/bytedance/xpu-perf/pull/194
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

TOOLS = {
    "nvidia-smi": "use amd-smi, or torch.cuda's mem_get_info, utilization and get_device_name on both vendors",
    "nsys": "rocprofv3",
    "ncu": "rocprofv3, rocprof-compute",
    "nvprof": "rocprofv3",
    "cuda-gdb": "rocgdb",
    "compute-sanitizer": "no counterpart; use clang's address sanitizer for AMD GPUs",
    "cuda-memcheck": "no counterpart; use clang's address sanitizer for AMD GPUs",
    "cuobjdump": "llvm-objdump --offloading",
    "nvidia-cuda-mps-control": "no equivalent",
}
RULE = Rule("KP501", "nvidia-smi", ("python",), Safety.MANUAL, tuple(sorted(name.encode() for name in TOOLS)))
CALLS = (
    *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen", "getoutput")),
    "subprocess.getstatusoutput",
    "os.system", "os.popen", "shutil.which", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell",
)  # fmt: skip


def check(module: PythonModule) -> Iterator[Finding]:
    for name in CALLS:
        for call in module.calls(name):
            tool = _tool(call)
            if tool is None or _is_caught(module, call):
                continue
            if name == "shutil.which":
                if tool == "nvidia-smi" and not _is_run(module, tool):
                    message = (
                        "an AMD machine has no nvidia-smi: the answer is no, and the program goes on without a GPU"
                    )
                    yield RULE.finding(module.src, module.span(call), message)
                continue
            yield RULE.finding(
                module.src, module.span(call), f"runs {tool}, which an AMD machine does not have: {TOOLS[tool]}"
            )


def _is_run(module: PythonModule, tool: str) -> bool:
    """Whether the file runs the tool: then the question only guards that."""
    return any(_tool(call) == tool for name in CALLS if name != "shutil.which" for call in module.calls(name)) or any(
        isinstance(node, (ast.List, ast.JoinedStr)) and tool in ast.unparse(node) for node in ast.walk(module.tree)
    )


def _tool(call: ast.Call) -> str | None:
    """The command's first word, in a list, a string or an f-string."""
    first: ast.expr | None = (
        call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "args"), None)
    )
    if isinstance(first, (ast.List, ast.Tuple)) and first.elts:
        first = first.elts[0]
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and first.func.attr in ("split", "format"):
        first = first.func.value
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str) or not first.value.split():
        return None
    word = first.value.split()[0].rpartition("/")[2]
    return word if word in TOOLS else None


def _is_caught(module: PythonModule, call: ast.Call) -> bool:
    child: ast.AST = call
    for parent in module.parents(call):
        if isinstance(parent, ast.Try) and child in parent.body:
            kinds = " ".join(ast.unparse(handler.type) if handler.type else "Exception" for handler in parent.handlers)
            if any(word in kinds for word in ("FileNotFoundError", "OSError", "Exception")):
                return True
        child = parent
    return False
