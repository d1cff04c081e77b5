"""An emulated GPU for Python: launches kernels of a code object on NumPy arrays and CPU tensors.

The kernels run in a child process, so that a fault in a kernel ends the child and not the caller's program. Arrays
travel through files in memory; each is a device allocation of its own there, with guard pages around it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate
from kernel_pytorch.core.hardware import GPU, base_target
from kernel_pytorch.core.process import ChildProcess, end_child, start_child
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.emulate.events import Events, Fault, read_events
from kernel_pytorch.emulate.run import RunSettings, emulation_environment
from kernel_pytorch.emulate.translate import translate_module
from kernel_pytorch.toolchain.code_object import KernelResources, read_code_object
from kernel_pytorch.toolchain.kernel_arguments import value_bytes
from kernel_pytorch.toolchain.kernel_parameters import POINTER, UNKNOWN, Parameter, kernel_parameters
from kernel_pytorch.toolchain.kernel_symbols import choose_kernel, readable_name


class EmulatedKernelFault(RuntimeError):
    """A kernel did what no kernel may. `faults` are the places, as the emulated GPU reported them."""

    def __init__(self, message: str, faults: tuple[Fault, ...]) -> None:
        super().__init__(message)
        self.faults = faults


@dataclass(frozen=True)
class TensorMemory:
    """A CPU tensor as a GPU kernel is given it: a place in a storage, whatever its strides.

    Tensors that share a storage share it on the emulated GPU too; a plain tensor among the arguments is a buffer of
    its own and must be contiguous.
    """

    tensor: Any

    def storage(self) -> Any:
        """All bytes behind the tensor, as a flat tensor that shares them."""
        import torch

        return torch.empty(0, dtype=torch.uint8).set_(self.tensor.detach().untyped_storage())

    @property
    def offset(self) -> int:
        """Where the first element lies, in bytes."""
        return int(self.tensor.storage_offset()) * int(self.tensor.element_size())


@dataclass(frozen=True)
class EmulatedKernel:
    """A kernel on an emulated GPU; call `launch`."""

    device: EmulatedDevice
    resources: KernelResources
    parameters: tuple[Parameter, ...]
    code_object: bytes

    def launch(self, grid: Any, block: Any, *args: Any, shared_bytes: int = 0) -> Events:
        """Run it once. Arrays and CPU tensors are updated in place; returns what the launch reported."""
        return self.device.launch_loaded(self, _triple(grid, "grid"), _triple(block, "block"), args, shared_bytes)


class EmulatedDevice:
    """One emulated GPU. Use it as a context manager; it holds a child process."""

    def __init__(self, gpu: GPU | str = "mi300x", settings: RunSettings = RunSettings()) -> None:  # noqa: B008 (frozen)
        self.gpu = gpu_to_emulate(gpu) if isinstance(gpu, str) else gpu
        if self.gpu.vendor != "amd":
            raise UsageError(f"{self.gpu.name} is not an AMD GPU: only those are emulated")
        self.settings = settings
        self._scratch = tempfile.TemporaryDirectory(prefix="kpt-device-")
        self._report = Path(self._scratch.name) / "report.jsonl"
        self._process: ChildProcess | None = None
        self._modules: dict[bytes, int] = {}
        self._seen = Events()

    def __enter__(self) -> EmulatedDevice:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child process and remove its files."""
        self._stop()
        self._scratch.cleanup()

    def _stop(self) -> None:
        self._modules.clear()
        self._seen = Events()
        self._report.unlink(missing_ok=True)
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        end_child(process)

    def load(self, code_object: bytes, kernel: str | None = None, assembly: str | None = None) -> EmulatedKernel:
        """A kernel of a code object built for this GPU: by symbol or C++ name, or the only one.

        `assembly` is the text the code object was made from; without it the machine code is decoded.
        """
        found = read_code_object(code_object)
        if base_target(found.target) != self.gpu.target.name:
            raise UsageError(f"the code object is for {found.target}, {self.gpu.name} is {self.gpu.target.name}")
        names = {one.symbol: readable_name(one.symbol) for one in found.kernels}
        try:
            symbol = choose_kernel(kernel or "", names, kernel)
        except ValueError as error:
            raise UsageError(str(error)) from error
        resources = next(one for one in found.kernels if one.symbol == symbol)
        translate_module(code_object, assembly, self.settings.build)
        return EmulatedKernel(self, resources, kernel_parameters(resources), code_object)

    def launch_code_object(
        self,
        code_object: bytes,
        symbol: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[Any],
        *,
        shared_bytes: int = 0,
        assembly: str | None = None,
    ) -> Events:
        """Load and run a kernel: what `CompiledKernel.launch(..., on=device)` calls."""
        return self.load(code_object, symbol, assembly).launch(grid, block, *args, shared_bytes=shared_bytes)

    def _module(self, code_object: bytes) -> int:
        """The number of a code object in the child process; loaded there when it is not yet, or not any more."""
        if code_object not in self._modules:
            path = Path(self._scratch.name) / f"module{len(self._modules)}.hsaco"
            path.write_bytes(code_object)
            self._modules[code_object] = int(self._ask({"do": "load", "path": str(path)})["module"])
        return self._modules[code_object]

    def launch_loaded(
        self,
        kernel: EmulatedKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[Any],
        shared_bytes: int,
    ) -> Events:
        """Run a loaded kernel; arrays are copied to the device and back."""
        arrays, values = _split(kernel, args)
        module = self._module(kernel.code_object)
        folder = Path(self._scratch.name)
        contents = [_bytes(array) for array in arrays]
        described: list[dict[str, Any]] = []
        for parameter, (kind, content) in zip(kernel.parameters, values, strict=True):
            place: dict[str, Any] = {"value": content.hex()} if kind == "value" else {}
            if kind == "array":
                number, first = content
                place = {"array": str(folder / f"array{number}.bin"), "first": first}
            described.append({**place, "offset": parameter.offset})
        try:
            for index, data in enumerate(contents):
                (folder / f"array{index}.bin").write_bytes(data)
            answer = self._ask(
                {
                    "do": "launch",
                    "module": module,
                    "symbol": kernel.resources.symbol,
                    "grid": grid,
                    "block": block,
                    "shared": shared_bytes,
                    "arguments": described,
                    "bytes": max((p.offset + p.size for p in kernel.parameters), default=0),
                }
            )
            new = self._new_events()
            fatal = answer.get("error")
            if fatal:
                # A fault stays with the process it happened in, as on the hardware: the next launch gets a new one.
                self._stop()
                places = "".join(f"\n  {_sentence(fault)}" for fault in new.faults)
                raise EmulatedKernelFault(f"{kernel.resources.name} on {self.gpu.name}: {fatal}{places}", new.faults)
            for index, array in enumerate(arrays):
                _update(array, (folder / f"array{index}.bin").read_bytes())
            return new
        finally:
            for index in range(len(arrays)):
                (folder / f"array{index}.bin").unlink(missing_ok=True)

    def _new_events(self) -> Events:
        known, now = self._seen, read_events(self._report)
        self._seen = now
        return Events(
            now.launches[len(known.launches) :],
            now.faults[len(known.faults) :],
            now.buffers[len(known.buffers) :],
            now.hot_lines[len(known.hot_lines) :],
            now.unsupported[len(known.unsupported) :],
        )

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except OSError:
            return self._ended(process)
        line = process.stdout.readline()
        if not line:
            return self._ended(process)
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise UsageError(str(answer["refused"]))
        return answer

    def _ended(self, process: ChildProcess) -> dict[str, Any]:
        """The child died with the kernel: the next launch starts a new one, and modules are loaded again."""
        code = process.wait()
        self._process = None
        self._modules.clear()
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return {"error": f"the emulated GPU stopped ({how})", "module": -1}

    def _started(self) -> ChildProcess:
        if self._process is None:
            environment = emulation_environment(self.gpu, self.settings, Path(self._scratch.name), self._report)
            self._process = start_child(
                python_module("kernel_pytorch.emulate.device_worker"),
                env=environment,
                stdin=subprocess.PIPE,
                stderr=None,
                text=True,
                own_group=False,
            )
        return self._process


def _split(kernel: EmulatedKernel, args: Sequence[Any]) -> tuple[list[Any], list[tuple[str, Any]]]:
    """The arrays among the arguments (each once), and what every parameter gets.

    That is ("array", (number, first byte)) or ("value", bytes).
    """
    if len(args) != len(kernel.parameters):
        wanted = ", ".join(str(parameter) for parameter in kernel.parameters)
        raise TypeError(
            f"{kernel.resources.name} takes {counted(len(kernel.parameters), 'argument')} ({wanted}), {len(args)} given"
        )
    arrays: list[Any] = []
    values: list[tuple[str, Any]] = []
    storages: dict[int, int] = {}
    for parameter, value in zip(kernel.parameters, args, strict=True):
        if isinstance(value, TensorMemory):
            address = int(value.tensor.untyped_storage().data_ptr())
            if address not in storages:
                storages[address] = len(arrays)
                arrays.append(value.storage())
            values.append(("array", (storages[address], value.offset)))
        elif hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0:
            if parameter.kind not in (POINTER, UNKNOWN):
                raise TypeError(f"{kernel.resources.name}, {parameter}: expected a value, got an array")
            index = next((i for i, known in enumerate(arrays) if known is value), len(arrays))
            if index == len(arrays):
                arrays.append(value)
            values.append(("array", (index, 0)))
        elif parameter.kind == POINTER and value is not None:
            raise TypeError(f"{kernel.resources.name}, {parameter}: expected an array, got {type(value).__name__}")
        else:
            values.append(
                ("value", b"\0" * 8 if value is None else value_bytes(kernel.resources.name, parameter, value))
            )
    return arrays, values


def _bytes(array: Any) -> bytes:
    if hasattr(array, "detach"):  # a torch tensor
        if array.device.type != "cpu":
            raise TypeError(f"the tensor is on {array.device}: the emulated GPU takes CPU tensors")
        array = _tensor_view(array)
    if not array.flags["C_CONTIGUOUS"]:
        raise TypeError("arrays must be contiguous: what the kernel writes goes back into the same memory")
    return bytes(array.tobytes())


def _update(array: Any, content: bytes) -> None:
    import numpy

    target = _tensor_view(array) if hasattr(array, "detach") else array
    if target.flags.writeable:
        target.reshape(-1).view(numpy.uint8)[:] = numpy.frombuffer(content, numpy.uint8)


def _tensor_view(tensor: Any) -> Any:
    """A tensor's own memory as bytes: NumPy does not know bfloat16 and float8."""
    import torch

    if not tensor.is_contiguous():
        raise TypeError("tensors must be contiguous: what the kernel writes goes back into the same memory")
    return tensor.detach().reshape(-1).view(torch.uint8).numpy()


def _triple(value: Any, what: str) -> tuple[int, int, int]:
    numbers = (value,) if isinstance(value, int) else tuple(int(number) for number in value)
    if not 1 <= len(numbers) <= 3 or any(number < 1 for number in numbers):
        raise ValueError(f"{what} must be one to three positive numbers, got {value!r}")
    x, y, z = (*numbers, 1, 1)[:3]
    return (x, y, z)


def _sentence(fault: Fault) -> str:
    where = f"{fault.kind} at {fault.place}, {fault.thread}"
    return f"{where}: {fault.detail} {fault.hardware}".strip()
