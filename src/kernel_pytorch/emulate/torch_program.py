"""What is adjusted inside a torch program on an emulated GPU, each when the program imports the module it concerns.

Triton's own driver for AMD and Inductor work as they are: they find our libamdhip64. What is left: choosing by measured
times, and building C++ extensions, which need torch's headers and libraries in their ROCm form.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

from kernel_pytorch.emulate import torch_locks
from kernel_pytorch.emulate.first_configuration import (
    compile_first_that_fits,
    one_run,
    one_run_as,
    run_first_that_fits,
    time_first_that_fits,
)

COMPLETE_COMMAND = "KPT_EMULATE_TORCH_EXTENSION"
# What a ROCm torch has and a CPU torch lacks. A C++ extension is linked against them.
TORCH_LIBRARIES = ("libc10_hip.so", "libtorch_hip.so")


def adjust_on_import(more: Mapping[str, Callable[[Any], None]] = MappingProxyType({})) -> None:
    """From now on the modules named below and in `more` are adjusted right after they are imported.

    A second call does nothing.
    """
    if any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        return
    every = {**more, **ADJUSTMENTS}
    pending = {name: _in_turn(name, more) for name in every if name not in sys.modules}
    for name in every.keys() - pending.keys():
        _in_turn(name, more)(sys.modules[name])
    sys.meta_path.insert(0, _AfterImport(pending))
    modules: Any = importlib.machinery.ExtensionFileLoader
    modules.create_module = _with_torch_libraries(modules.create_module)


def _in_turn(name: str, more: Mapping[str, Callable[[Any], None]]) -> Callable[[Any], None]:
    def adjust(module: Any) -> None:
        for table in (ADJUSTMENTS, more):
            if name in table:
                table[name](module)

    return adjust


def _triton_autotuner(module: Any) -> None:
    module.Autotuner.run = run_first_that_fits


def _triton_testing(module: Any) -> None:
    for name in ("do_bench", "do_bench_cudagraph", "do_bench_proton"):
        if hasattr(module, name):
            setattr(module, name, one_run_as(getattr(module, name)))


def _inductor_kernels(module: Any) -> None:
    import torch

    # Compiled code allocates with a function that a CPU build of torch has only as a refusal.
    guards: Any = torch._C._dynamo.guards
    guards._empty_strided_cuda = lambda size, stride, dtype: torch.empty_strided(
        size, stride, dtype=dtype, device="cuda"
    )
    tuner = module.CachingAutotuner
    compile_all = tuner._precompile_worker
    tuner._precompile_worker = functools.wraps(compile_all)(lambda self: compile_first_that_fits(compile_all, self))


def _inductor_config(module: Any) -> None:
    # mode="reduce-overhead": torch.cuda.graph is there; the trees of graphs also want to set torch's allocator back to
    # an earlier state, and ours has none.
    if hasattr(module, "triton") and hasattr(module.triton, "cudagraph_trees"):
        module.triton.cudagraph_trees = False


def _inductor_graphs(module: Any) -> None:
    record = module.cudagraphify_impl

    @functools.wraps(record)
    def record_at_once(model: Callable[..., Any], *rest: Any, **named: Any) -> Any:
        # A run to warm up comes first, and may write to what the program still needs. Here nothing has to warm up.
        runs = iter((lambda given: None,))
        return record(lambda given: next(runs, model)(given), *rest, **named)

    module.cudagraphify_impl = record_at_once


def _inductor_benchmarks(module: Any) -> None:
    for name in ("Benchmarker", "TritonBenchmarker", "InductorBenchmarker"):
        kind = getattr(module, name, None)
        if kind is not None and "benchmark_gpu" in vars(kind):
            kind.benchmark_gpu = lambda self, fn, *rest, **named: one_run(fn)


def _inductor_choices(module: Any) -> None:
    cache = module.AlgorithmSelectorCache
    cache.benchmark_choices = classmethod(time_first_that_fits(vars(cache)["benchmark_choices"].__func__))


def _cpp_extension(module: Any) -> None:
    plain = module.include_paths

    @functools.wraps(plain)
    def include_paths(device_type: str = "cpu", *rest: Any, **named: Any) -> Any:
        if device_type == "cuda":
            _complete(module)
        return plain(device_type, *rest, **named)

    module.include_paths = include_paths


def _complete(cpp_extension: Any) -> None:
    """Headers and libraries are made when an extension is first built: most programs build none."""
    command, rocm = os.environ.get(COMPLETE_COMMAND), cpp_extension.ROCM_HOME
    if not command or not rocm or cpp_extension._TORCH_PATH.startswith(rocm):
        return
    # Their talk goes to standard error; standard output is the program's.
    done = subprocess.run([*shlex.split(command), cpp_extension._TORCH_PATH, rocm], stdout=2, check=False)
    if done.returncode != 0:
        raise RuntimeError("a C++ extension cannot be built for the emulated GPU: the reason is above")
    # By their names an extension finds them, also in a process that could not be told a search path at its start.
    for name in TORCH_LIBRARIES:
        ctypes.CDLL(f"{rocm}/lib/{name}", mode=ctypes.RTLD_GLOBAL)
    cpp_extension._TORCH_PATH = f"{rocm}/torch"


def _loaded_libraries(module: Any) -> None:
    module._Ops.load_library = _with_torch_libraries(module._Ops.load_library)


def _with_torch_libraries(load: Callable[..., Any]) -> Callable[..., Any]:
    """`load`, tried again with torch's ROCm libraries where it fails because they are not there.

    An extension may have been built in an earlier run, for another GPU or on another machine: nothing was built in this
    one, so its libraries were not either.
    """

    @functools.wraps(load)
    def loaded(*arguments: Any, **named: Any) -> Any:
        try:
            return load(*arguments, **named)
        except (ImportError, OSError) as problem:
            words = f"{problem} {problem.__cause__}"  # torch.ops puts the loader's words behind its own
            if not any(f"{name}: cannot open shared object file" in words for name in TORCH_LIBRARIES):
                raise
        _complete(importlib.import_module("torch.utils.cpp_extension"))
        return load(*arguments, **named)

    return loaded


ADJUSTMENTS: dict[str, Callable[[Any], None]] = {
    "triton.runtime.autotuner": _triton_autotuner,
    "triton.testing": _triton_testing,
    "torch._inductor.config": _inductor_config,
    "torch._inductor.compile_fx": _inductor_graphs,
    "torch._inductor.runtime.triton_heuristics": _inductor_kernels,
    "torch._inductor.runtime.benchmarking": _inductor_benchmarks,
    "torch._inductor.select_algorithm": _inductor_choices,
    "torch.utils.cpp_extension": _cpp_extension,
    "torch._ops": _loaded_libraries,
    "torch.utils.file_baton": torch_locks.adjust,
}


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds the named modules as Python would, and adjusts each once it has run."""

    def __init__(self, pending: dict[str, Callable[[Any], None]]) -> None:
        self.pending = pending

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        adjust = self.pending.pop(fullname, None)
        if adjust is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run, loader = spec.loader.exec_module, spec.loader

            def run_and_adjust(module: ModuleType) -> None:
                run(module)
                adjust(module)

            loader.exec_module = run_and_adjust  # type: ignore[method-assign]
        return spec
