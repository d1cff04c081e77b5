"""A compiled HIP source: the code object, what is in it, and its launch on an AMD GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kernel_pytorch.backends.launch import Dimensions
    from kernel_pytorch.toolchain.code_object import KernelResources
    from kernel_pytorch.toolchain.kernel_parameters import Parameter


class KernelRunner(Protocol):
    """What `CompiledKernel.launch(on=...)` takes: something other than a GPU that runs code objects.

    `kernel_pytorch.emulate.device.EmulatedDevice` is one. Nothing here makes one: the caller does, by its name.
    """

    def launch_code_object(
        self,
        code_object: bytes,
        symbol: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[object],
        *,
        shared_bytes: int = 0,
        assembly: str | None = None,
    ) -> Any:
        """Run a kernel to its end, and say what it reported."""


@dataclass(frozen=True)
class CompiledKernel:
    """One compiled source. `binary` is the AMD code object, `architecture` the gfx target it was built for.

    `compile_time_ms` is what the compiler took when the binary was made; with `cache_hit` that was an earlier call.
    `assembly` is the compiler's text of the binary, where `compile_kernel` was asked to keep it.
    """

    name: str
    source_hash: str
    binary: bytes
    architecture: str
    optimization_flags: tuple[str, ...]
    compile_time_ms: float
    cache_hit: bool
    architecture_reason: str
    toolchain: str
    assembly: str | None = None

    @cached_property
    def resources(self) -> tuple[KernelResources, ...]:
        """Registers, spills, LDS, scratch and arguments of every kernel in the binary, as its metadata states."""
        from kernel_pytorch.toolchain.code_object import read_code_object

        return read_code_object(self.binary).kernels

    def kernel(self, name: str | None = None) -> KernelResources:
        """One kernel of the binary: by symbol or C++ name; the one called like this object, or the only one.

        Raises ValueError listing the kernels where that does not name exactly one.
        """
        return self._chosen(name)[0]

    def launch(
        self,
        grid: Dimensions,
        block: Dimensions,
        args: Sequence[object],
        stream: object = None,
        shared_bytes: int = 0,
        *,
        kernel: str | None = None,
        device: int | None = None,
        on: KernelRunner | None = None,
        cooperative: bool = False,
    ) -> Any:
        """Queue a kernel on an AMD GPU; it has not run yet when this returns.

        `grid` counts blocks and `block` threads, as one to three numbers. `args` are GPU tensors, ints, floats,
        bools, numpy scalars, ctypes values or structures; each is checked against the code object's own metadata.
        `stream` is a torch stream or a handle (None: torch's current stream if a tensor is passed, else the
        default one); `shared_bytes` is dynamic LDS; `kernel` names the kernel where there are several; `device` is
        the GPU where no tensor says it. `cooperative` is for kernels whose blocks wait for each other: all of them run
        at the same time, or the runtime refuses.

        `on=EmulatedDevice("mi300x")` runs it on the CPU instead: the same machine code on an emulated GPU, which must
        be of the kernel's architecture. `args` are then NumPy arrays and CPU tensors, updated in place when this
        returns what that device reported. Only an `on` given here ever does that.

        Raises AMDDeviceError without an AMD GPU or when the runtime refuses, TypeError, ValueError or
        OverflowError for arguments that do not fit.
        """
        from kernel_pytorch.backends.amd.hip_driver import hip_runtime
        from kernel_pytorch.backends.launch import (
            check_block,
            check_shared_bytes,
            dimensions,
            keep_until_done,
            stream_handle,
            tensor_device,
        )
        from kernel_pytorch.toolchain.kernel_arguments import pack_arguments

        chosen, parameters = self._chosen(kernel)
        grid_size, block_size = dimensions(grid, "grid"), dimensions(block, "block")
        check_block(chosen.name, block_size, chosen.max_workgroup_size, chosen.required_workgroup_size)
        shared = check_shared_bytes(shared_bytes)
        self._check_lds(chosen, shared)
        if on is not None:
            if stream is not None or device is not None:
                raise ValueError("on= names another device: it has no stream= and no device= of this machine")
            return on.launch_code_object(
                self.binary,
                chosen.symbol,
                grid_size,
                block_size,
                args,
                shared_bytes=shared,
                assembly=self.assembly,
            )
        runtime = hip_runtime()
        packed = pack_arguments(chosen.name, parameters, args)
        where = tensor_device(args)
        if where is not None and device is not None and where != device:
            raise ValueError(f"the tensors lie on GPU {where}, the launch asks for GPU {device}")
        if where is None:
            where = device if device is not None else runtime.current_device()
        function = runtime.function(self.binary, self._digest, chosen.symbol, where)
        handle = stream_handle(stream, args, where)
        runtime.launch(
            function,
            grid_size,
            block_size,
            packed,
            shared_bytes=shared,
            stream=handle,
            device=where,
            cooperative=cooperative,
        )
        keep_until_done(handle, args, where)
        return None

    def _chosen(self, name: str | None) -> tuple[KernelResources, tuple[Parameter, ...]]:
        # A launch is to take microseconds: names are resolved once.
        if name not in self._choices:
            from kernel_pytorch.toolchain.kernel_parameters import kernel_parameters
            from kernel_pytorch.toolchain.kernel_symbols import choose_kernel, readable_name

            symbol = choose_kernel(self.name, {one.symbol: readable_name(one.symbol) for one in self.resources}, name)
            kernel = next(one for one in self.resources if one.symbol == symbol)
            self._choices[name] = (kernel, kernel_parameters(kernel))
        return self._choices[name]

    @cached_property
    def _choices(self) -> dict[str | None, tuple[KernelResources, tuple[Parameter, ...]]]:
        return {}

    def _check_lds(self, kernel: KernelResources, shared_bytes: int) -> None:
        from kernel_pytorch.core.hardware import target

        limit = target(self.architecture).max_lds_bytes_per_workgroup
        if kernel.lds_bytes + shared_bytes > limit:
            raise ValueError(
                f"kernel {kernel.name!r}: {kernel.lds_bytes} bytes of static and {shared_bytes} of dynamic LDS are "
                f"more than the {limit} bytes a workgroup has on {self.architecture}"
            )

    @cached_property
    def _digest(self) -> str:
        import hashlib

        return hashlib.sha256(self.binary).hexdigest()

    def __getstate__(self) -> dict[str, object]:
        computed = ("resources", "_choices", "_digest")
        return {name: value for name, value in self.__dict__.items() if name not in computed}
