"""Compiles a generated kernel for the target with Triton, in every configuration Inductor would try."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.perf.inspect.nvidia_kernel import ptxas_resources
from kernel_pytorch.perf.inspect.view import Configuration, Resources
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.occupancy import occupancy

if TYPE_CHECKING:
    from triton import Config
    from triton.compiler import CompiledKernel


class _Compiled(BaseException):
    """Carries the compiled kernel out of Inductor's own compile function, before it looks for a device."""

    def __init__(self, binary: CompiledKernel) -> None:
        super().__init__()
        self.binary = binary


@dataclass(frozen=True)
class BuiltConfiguration:
    """A compiled configuration. `binary` is Triton's compiled kernel, None where it did not compile."""

    configuration: Configuration
    config: Config
    binary: CompiledKernel


def build_all(tuner: Any, gpu: GPU, only_first: bool = False) -> list[BuiltConfiguration]:
    """Every configuration of an Inductor autotuner, compiled for the GPU's target."""
    configs = tuner.configs[:1] if only_first else tuner.configs
    return [build_one(tuner, config, gpu) for config in configs]


def build_one(tuner: Any, config: Any, gpu: GPU) -> BuiltConfiguration:
    """One configuration: Inductor's own call of Triton's compiler, with its signature, attributes and options."""
    import torch._inductor.runtime.triton_heuristics as heuristics

    triton = heuristics.triton
    original = triton.compile

    def stop_after(*args: object, **kwargs: object) -> Any:
        raise _Compiled(original(*args, **kwargs))

    triton.compile = stop_after
    failure, binary = None, None
    try:
        tuner._precompile_config(config)
        failure = "Inductor did not call Triton's compiler"
    except _Compiled as done:
        binary = done.binary
    except Exception as error:  # Triton raises many types; all say why in words
        failure = first_words(error)
    finally:
        triton.compile = original
    resources = resources_of(binary, gpu) if binary is not None else None
    return BuiltConfiguration(
        Configuration(config_name(config), int(config.num_warps), int(config.num_stages), resources, failure),
        config,
        binary,
    )


def config_name(config: Config) -> str:
    """ "XBLOCK=1024 num_warps=4": what differs between configurations."""
    parts = [f"{name}={value}" for name, value in config.kwargs.items()]
    return " ".join([*parts, f"num_warps={config.num_warps}", f"num_stages={config.num_stages}"])


def resources_of(binary: CompiledKernel, gpu: GPU) -> Resources:
    """Registers, spills and LDS of a compiled Triton kernel."""
    threads = int(binary.metadata.num_warps) * gpu.target.wave_size
    shared = int(binary.metadata.shared)
    if gpu.target.vendor != "amd":
        return ptxas_resources(binary.asm["ptx"], gpu, threads, shared)
    kernel = next(one for one in read_code_object(binary.asm["hsaco"]).kernels if one.symbol == binary.metadata.name)
    lds = max(shared, kernel.lds_bytes)
    waves, most, limiter = None, None, None
    if threads <= gpu.target.max_threads_per_workgroup:
        found = occupancy(kernel, gpu.target, threads, lds - kernel.lds_bytes)
        waves, most, limiter = found.waves_per_simd, found.max_waves_per_simd, found.limiter
    return Resources(
        kernel.vgprs, kernel.agprs, sgprs=kernel.sgprs, spills=kernel.vgpr_spills, sgpr_spills=kernel.sgpr_spills,
        scratch_bytes=kernel.scratch_bytes, lds_bytes=lds, threads=threads, waves_per_simd=waves,
        max_waves_per_simd=most, limiter=limiter,
    )  # fmt: skip


def choose(built: list[BuiltConfiguration], gpu: GPU) -> int | None:
    """The first configuration that compiles, fits and does not spill; else the first that compiles."""
    fits = [n for n, one in enumerate(built) if one.configuration.resources and _fits(one.configuration.resources, gpu)]
    for number in fits:
        resources = built[number].configuration.resources
        if resources is not None and resources.spills == 0:
            return number
    return fits[0] if fits else None


def _fits(resources: Resources, gpu: GPU) -> bool:
    target = gpu.target
    return resources.lds_bytes <= target.max_lds_bytes_per_workgroup and (
        resources.threads <= target.max_threads_per_workgroup
    )


def first_words(error: BaseException) -> str:
    """What an exception says, without the pages some compilers add."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not re.match(r"^[\s^~]+$", line)]
    text = " ".join(lines[:4]) if lines else type(error).__name__
    return f"{type(error).__name__}: {text}"[:400]
