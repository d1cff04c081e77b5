"""What torch.compile did: graphs, nodes, operator mix, time, graph breaks with user code lines, recompilations.

`watch()` records it live; `parse_log()` reads a saved log made with TORCH_LOGS="graph_breaks,recompiles".
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import LARGE, read_text
from kernel_pytorch.perf.profile import CompiledGraph, CompileReport, GraphBreak, Recompile

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import GraphModule, Node

# What usually helps, by a word in Dynamo's reason; the first that occurs wins.
BREAK_FIXES: tuple[tuple[str, str], ...] = (
    ("item", "keep the value a tensor (torch.where, index with tensors), or set capture_scalar_outputs"),
    ("capture_scalar_outputs", "keep the value a tensor, or set torch._dynamo.config.capture_scalar_outputs = True"),
    ("data-dependent", "replace the branch on a tensor's value by torch.where or torch.cond"),
    ("data dependent", "replace the branch on a tensor's value by torch.where or torch.cond"),
    ("jump", "replace the branch on a tensor's value by torch.where or torch.cond"),
    ("print", "drop the print, or put the call name into torch._dynamo.config.reorderable_logging_functions"),
    ("logging", "drop the log call inside the model, or list it in torch._dynamo.config.ignore_logger_methods"),
    ("torch._dynamo.disable", "remove torch.compiler.disable, or register the function as a custom operator"),
    ("disable", "remove torch.compiler.disable, or register the function as a custom operator"),
    ("skipped", "the function is on Dynamo's skip list: call an operator (torch.ops...) instead of its Python wrapper"),
    ("builtin", "move the Python builtin out of the forward, or onto plain numbers"),
    ("C/C++", "register the extension as a custom operator: torch.library.custom_op with a fake implementation"),
    ("custom", "register the extension as a custom operator: torch.library.custom_op with a fake implementation"),
    ("nonzero", "dynamic shapes from nonzero: use masks of fixed size, or capture_dynamic_output_shape_ops"),
    ("dynamic shape operator", "use masks of fixed size, or set capture_dynamic_output_shape_ops"),
    ("generator", "turn the generator into a list comprehension"),
    ("numpy", "do it in torch, or outside the model"),
    ("inline", "Dynamo cannot look into this call: use torch.ops, or a custom operator"),
    ("break", "see `TORCH_LOGS=graph_breaks` for the whole reason"),
)
RECOMPILE_FIXES: tuple[tuple[str, str], ...] = (
    ("size mismatch", "torch._dynamo.mark_dynamic(tensor, dim) for the size that varies, or pad to a few sizes"),
    ("stride mismatch", "call .contiguous() where the tensor enters, or keep one layout"),
    ("dtype mismatch", "one dtype for all calls"),
    ("requires_grad", "one grad mode for all calls (torch.inference_mode around all of them)"),
    ("grad_mode", "one grad mode for all calls"),
    ("___check_obj_id", "do not pass a new object or lambda every call"),
    ("==", "a Python number is part of the guard: pass it as a tensor, or mark it dynamic"),
)
DEFAULT_FIX = 'see TORCH_LOGS="graph_breaks,recompiles" for the whole reason'

_BREAK_START = re.compile(
    r"Graph break(?: \([^)]*\))? in user code at (?P<place>[^\n]*)|Graph break: (?!from user code)"
)
# The explanation is the readable one; older versions have only a reason.
_REASONS = (re.compile(r"Explanation: ?(?P<reason>[^\n]+)"), re.compile(r"Reason: ?(?P<reason>[^\n]+)"))
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>[^\n]+)\n\s*(?P<code>[^\n]+)')
_PREFIX = re.compile(r"^[VDIWEC]\d{4} [\d:.]+ [^\]]*\](?: \[[^\]]*\])*(?: \[__\w+\])? ?", re.MULTILINE)
_RECOMPILE = re.compile(r"Recompiling function (?P<function>\S+) in (?P<place>\S+)")
_GUARD = re.compile(r"triggered by the following guard failure\(s\):\s*\n\s*-? ?(?:\d+/\d+: )?(?P<reason>[^\n]+)")


@dataclass
class CompileWatch:
    """What has been seen so far; `report()` is the result."""

    graphs: list[CompiledGraph] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def report(self) -> CompileReport:
        """Everything seen up to now."""
        parsed = parse_log_text("\n".join(self.messages))
        return replace(parsed, graphs=tuple(self.graphs), seconds=sum(graph.seconds for graph in self.graphs))


@contextmanager
def watch() -> Iterator[CompileWatch]:
    """Records every graph Inductor compiles inside the block, and Dynamo's reasons for breaks and recompilations."""
    import torch._inductor.compile_fx as inductor

    seen = CompileWatch()
    original = inductor.compile_fx

    def compile_fx(
        model: GraphModule, example_inputs: Sequence[Tensor], *args: object, **kwargs: object
    ) -> Callable[..., object]:
        started = time.perf_counter()
        mix = Counter(_operator(node) for node in model.graph.nodes if node.op.startswith("call"))
        nodes = len(model.graph.nodes)
        try:
            compiled: Callable[..., object] = original(model, example_inputs, *args, **kwargs)
            return compiled
        finally:
            seconds = time.perf_counter() - started
            seen.graphs.append(CompiledGraph(len(seen.graphs), nodes, dict(mix.most_common()), seconds))

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.messages.append(record.getMessage())

    collect = Collect()
    watched = [
        logging.getLogger(name)
        for name in list(logging.root.manager.loggerDict)
        if name.startswith("torch._dynamo") and name.endswith(("__graph_breaks", "__recompiles"))
    ]
    before = [(one, one.level, one.propagate) for one in watched]
    inductor.compile_fx = compile_fx
    enabled = _enable_artefact("recompiles")
    try:
        for one in watched:
            one.addHandler(collect)
            one.setLevel(logging.DEBUG)
            one.propagate = False
        yield seen
    finally:
        inductor.compile_fx = original
        enabled()
        for one, level, propagate in before:
            one.removeHandler(collect)
            one.setLevel(level)
            one.propagate = propagate


def _enable_artefact(name: str) -> Callable[[], None]:
    """Dynamo makes this message only if its log settings ask for it. Returns what undoes it."""
    import torch._logging._internal as settings

    names: set[str] = getattr(settings.log_state, "artifact_names", set())
    if name in names:
        return lambda: None
    names.add(name)
    return lambda: names.discard(name)


def _operator(node: Node) -> str:
    target = node.target
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def parse_log(path: Path) -> CompileReport:
    """The graph breaks and recompilations in a saved log. Raises UsageError where there is no such thing in it."""
    try:
        text = read_text(path, limit=LARGE, errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    report = parse_log_text(text)
    if not report.breaks and not report.recompiles and "torch" not in text:
        raise UsageError(
            f'{path}: not a torch.compile log; record one with TORCH_LOGS="graph_breaks,recompiles" python ... 2> log'
        )
    return report


def parse_log_text(text: str) -> CompileReport:
    """The same from text."""
    plain = _PREFIX.sub("", text)
    return CompileReport((), _breaks(plain), _recompiles(plain), 0.0)


def _breaks(text: str) -> tuple[GraphBreak, ...]:
    starts = [found.start() for found in _BREAK_START.finditer(text)]
    found: dict[tuple[str, str], GraphBreak] = {}
    for number, start in enumerate(starts):
        block = text[start : starts[number + 1] if number + 1 < len(starts) else start + 4000]
        reason = next((match["reason"].strip() for pattern in _REASONS if (match := pattern.search(block))), "")
        head = _BREAK_START.match(block)
        place = (head["place"] or "").strip() if head else ""
        frames = [frame for frame in _FRAME.finditer(block) if "/torch/" not in frame["file"]]
        if not place and frames:
            place = f"{frames[-1]['file']}:{frames[-1]['line']}"
        reason = reason or block.splitlines()[0].partition("Graph break:")[2].strip() or "not given"
        code = frames[-1]["code"].strip() if frames else ""
        before = found.get((reason, place))
        if before is None:
            found[reason, place] = GraphBreak(reason, place, code, _fix(BREAK_FIXES, f"{reason} {code}"))
        else:  # Dynamo shows the code of a repeated break only the first time
            found[reason, place] = replace(before, count=before.count + 1, code=before.code or code)
    return tuple(found.values())


def _recompiles(text: str) -> tuple[Recompile, ...]:
    counted: dict[tuple[str, str], int] = {}
    for found in _RECOMPILE.finditer(text):
        guard = _GUARD.search(text, found.end(), found.end() + 2000)
        key = (f"{found['function']} in {found['place']}", guard["reason"].strip() if guard else "not given")
        counted[key] = counted.get(key, 0) + 1
    return tuple(
        Recompile(function, reason, _fix(RECOMPILE_FIXES, reason), count)
        for (function, reason), count in counted.items()
    )


def _fix(table: tuple[tuple[str, str], ...], reason: str) -> str:
    return next((fix for word, fix in table if word.lower() in reason.lower()), DEFAULT_FIX)
