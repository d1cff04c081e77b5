"""Lowers a model with Inductor for the GPU stood in for, and replays what Inductor wrote on fake tensors.

Inductor writes a Python wrapper: buffers, kernel launches, library calls, in order. It is run here as it is, with the
launches replaced by a note of them. So the list is what would run, not a reading of the source. Library calls are seen
by a dispatch mode. After a graph break the fake results go on into the rest of the user's code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.perf.inspect.origins import kernel_origins, user_line
from kernel_pytorch.perf.inspect.view import GraphBreak, SourceLine

if TYPE_CHECKING:
    from torch import Tensor
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    from torch._ops import OpOverload
    from torch._subclasses.fake_tensor import FakeTensorMode

# Operators of the wrapper that launch nothing: allocation and views.
SILENT = {
    "empty_strided", "empty", "as_strided", "view", "_unsafe_view", "reshape", "permute", "t", "transpose", "expand",
    "detach", "alias", "slice", "select", "squeeze", "unsqueeze", "_reshape_alias", "set_", "lift_fresh", "split",
    "split_with_sizes", "unbind", "view_as_real", "view_as_complex",
}  # fmt: skip


@dataclass
class KernelFacts:
    """What Inductor knew about a kernel while writing it."""

    bytes: int | None
    space: int | None  # points of the iteration space
    operators: tuple[str, ...]
    lines: tuple[SourceLine, ...]


@dataclass
class GeneratedKernel:
    """A generated kernel: its source and Inductor's autotuner for it, which holds the configurations to try."""

    name: str
    source: str
    tuner: CachingAutotuner
    capture: Capture
    facts: KernelFacts | None

    def run(self, *args: object, **kwargs: object) -> None:
        """Note the launch; carry it out where somebody does."""
        self.capture.launches.append(Launch(self.name, self.capture.current, args))
        if self.capture.on_launch is not None:
            self.capture.on_launch(self, args)


@dataclass(frozen=True)
class Launch:
    """One launch of a generated kernel, with its arguments."""

    name: str
    graph: int
    args: tuple[object, ...]


@dataclass(frozen=True)
class Call:
    """One call of a library operator, with its arguments."""

    operator: OpOverload
    graph: int
    args: tuple[object, ...]
    kwargs: dict[str, object]
    result: object


@dataclass
class Capture:
    """Everything seen so far. `on_launch` and `on_call` let the emulated run take part."""

    kernels: dict[str, GeneratedKernel] = field(default_factory=dict)
    facts: dict[tuple[int, str], KernelFacts] = field(default_factory=dict)  # by graph: names are used again
    launches: list[Launch | Call] = field(default_factory=list)
    breaks: list[GraphBreak] = field(default_factory=list)
    wrappers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    graphs: int = 0
    current: int = 0
    on_launch: Callable[[GeneratedKernel, tuple[Any, ...]], None] | None = None
    on_call: Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None] | None = None
    on_enter: Callable[[list[Any]], None] | None = None


def install(capture: Capture) -> None:
    """Patch Inductor and Dynamo of this process to report to `capture`. Only ever called in a child process."""
    _define_kernel(capture)
    _async_compile(capture)
    _compile_to_module(capture)
    _graph_breaks(capture)
    _padding(capture)


def compile_and_replay(subject: Subject, mode: FakeTensorMode) -> object:
    """Run the subject once, compiled, on fake tensors. Returns its fake result."""
    import torch

    compiled = torch.compile(subject.function)
    with mode, torch.no_grad():
        return compiled(*subject.args, **subject.kwargs)


def _define_kernel(capture: Capture) -> None:
    import torch._inductor.codegen.triton as codegen

    original = codegen.TritonScheduling.define_kernel

    def define_kernel(self: Any, src_code: str, node_schedule: Any, kernel: Any, *rest: object) -> Any:
        name = original(self, src_code, node_schedule, kernel, *rest)
        if (capture.graphs, name) not in capture.facts:
            operators, lines = kernel_origins(node_schedule)
            capture.facts[capture.graphs, name] = KernelFacts(_bytes(kernel), _space(kernel), operators, lines)
        return name

    codegen.TritonScheduling.define_kernel = define_kernel


def _bytes(kernel: Any) -> int | None:
    try:
        return int(kernel.estimate_kernel_num_bytes())
    except (AttributeError, TypeError, ValueError):  # a symbolic size, or a kind of kernel without an estimate
        return None


def _space(kernel: Any) -> int | None:
    points = 1
    try:
        for extent in kernel.numels.values():
            points *= int(extent)
    except (AttributeError, TypeError, ValueError):
        return None
    return points


def _async_compile(capture: Capture) -> None:
    import torch._inductor.async_compile as compiling
    import torch._inductor.codecache as cache

    def triton(self: Any, kernel_name: str, source_code: str, device_str: str = "cuda") -> GeneratedKernel:
        tuner = getattr(cache.PyCodeCache.load(source_code), kernel_name)
        # Two graphs may use one name for different kernels.
        key = kernel_name
        while key in capture.kernels and capture.kernels[key].source != source_code:
            key += "'"
        facts = capture.facts.get((capture.graphs, kernel_name))
        loaded = capture.kernels.get(key) or GeneratedKernel(key, source_code, tuner, capture, facts)
        capture.kernels[key] = loaded
        return loaded

    compiling.AsyncCompile.triton = triton
    compiling.AsyncCompile.wait = lambda self, scope: None


def _compile_to_module(capture: Capture) -> None:
    import torch
    import torch._inductor.graph as inductor_graph

    lowering = inductor_graph.GraphLowering
    original = lowering._compile_to_module

    def compile_to_module(self: Any) -> Any:
        module = original(self)
        capture.wrappers.append(Path(module.__file__).read_text(encoding="utf-8"))
        number = capture.graphs
        capture.graphs += 1
        _replace_names(torch, module)
        call = module.call

        def replay(args: list[object]) -> object:
            capture.current = number
            if capture.on_enter is not None:
                capture.on_enter(args)
            with _recorder(capture):
                return call(args)

        module.call = replay
        return module

    lowering._compile_to_module = compile_to_module


def _replace_names(torch: ModuleType, module: ModuleType) -> None:
    """The wrapper's fast paths go around the dispatcher, straight to a device: give it the plain operators."""

    def reinterpret(tensor: Tensor, size: Sequence[int], stride: Sequence[int], offset: int = 0) -> Tensor:
        return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset)

    replaced: dict[str, Callable[..., object]] = {
        "empty_strided_cuda": lambda size, stride, dtype: torch.empty_strided(size, stride, dtype=dtype, device="cuda"),
        "empty_strided_cpu": lambda size, stride, dtype: torch.empty_strided(size, stride, dtype=dtype),
        "reinterpret_tensor": reinterpret,
        "assert_size_stride": lambda *args, **kwargs: None,
        "assert_alignment": lambda *args, **kwargs: None,
        "copy_if_misaligned": lambda tensor: tensor,
        "get_raw_stream": lambda device: 0,
    }
    for name, value in replaced.items():
        if hasattr(module, name):
            setattr(module, name, value)


def _recorder(capture: Capture) -> Any:
    import torch.utils._python_dispatch as modes

    class Recorder(modes.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: OpOverload, types: object, args: Any = (), kwargs: Any = None) -> object:
            result = func(*args, **(kwargs or {}))
            space, _, name = func._schema.name.partition("::")
            if space != "prim" and name not in SILENT:
                capture.launches.append(Call(func, capture.current, args, kwargs or {}, result))
            if capture.on_call is not None:
                capture.on_call(func, args, kwargs or {}, result)
            return result

    return Recorder()


def _graph_breaks(capture: Capture) -> None:
    import torch._dynamo.output_graph as graphs

    reasons = graphs.GraphCompileReason
    original = graphs.OutputGraph.compile_subgraph

    def compile_subgraph(self: Any, *args: object, **kwargs: object) -> object:
        for reason in (*args, *kwargs.values()):
            if isinstance(reason, reasons) and reason.graph_break:
                frames = [(f.filename, f.lineno or 0, f.line or "") for f in reason.user_stack]
                text = str(reason.reason).strip().splitlines()
                capture.breaks.append(GraphBreak(" ".join(text[:3]).strip(), user_line(frames)))
        return original(self, *args, **kwargs)

    graphs.OutputGraph.compile_subgraph = compile_subgraph


def _padding(capture: Capture) -> None:
    """Inductor times on the device whether a product runs faster on padded operands. Nothing can be timed here."""
    import torch._inductor.fx_passes.pad_mm as padding

    def should_pad(match: object, first: Tensor, second: Tensor, *rest: object) -> bool:
        shapes = " x ".join("x".join(str(size) for size in one.shape) for one in (first, second))
        note = f"product {shapes}: Inductor would time whether padding it pays; taken as not padded"
        if note not in capture.notes:
            capture.notes.append(note)
        return False

    padding._should_pad = should_pad
