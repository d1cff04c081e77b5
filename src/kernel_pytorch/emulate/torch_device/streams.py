"""The base classes of torch.cuda.Stream and torch.cuda.Event, made of torch's own Stream and Event of any device."""

from __future__ import annotations

from typing import Any

from kernel_pytorch.emulate.torch_device.native import Native

_CUDA = 1  # c10::DeviceType::CUDA


def stream_base(native: Native) -> type:
    """torch._C._CudaStreamBase."""
    import torch

    class _CudaStreamBase(torch.Stream):  # type: ignore[misc]
        def __new__(
            cls,
            priority: int = 0,
            stream_id: int = 0,
            device_index: int = 0,
            device_type: int = 0,
            stream_ptr: int = 0,
        ) -> Any:
            if device_type:
                device, number = device_index, stream_id
            elif stream_ptr:
                device, number = native.current_device(), stream_ptr
            else:
                torch.cuda.init()
                device = native.current_device()
                number = native.new_stream(device, priority)
            return torch.Stream.__new__(cls, stream_id=number, device_index=device, device_type=_CUDA)

        @property
        def cuda_stream(self) -> int:
            return int(self.stream_id)

        @property
        def priority(self) -> int:
            return int(native.stream_priority(self.stream_id))

        @staticmethod
        def priority_range() -> tuple[int, int]:
            return (0, -1)

    return _CudaStreamBase


def event_base(native: Native) -> type:
    """torch._C._CudaEventBase. Times between two of them are times of this CPU."""
    import torch

    class _CudaEventBase(torch.Event):  # type: ignore[misc]
        def __new__(
            cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
        ) -> Any:
            if interprocess:
                raise RuntimeError("events of an emulated GPU cannot be shared between processes")
            return torch.Event.__new__(cls, "cuda", enable_timing=enable_timing, blocking=blocking)

        @property
        def cuda_event(self) -> int:
            return int(self.event_id)

        def elapsed_time(self, end_event: Any) -> float:
            # torch.Event's own takes no subclasses.
            if not self.event_id or not end_event.event_id:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            milliseconds = float(native.elapsed(self.event_id, end_event.event_id))
            if milliseconds < 0:
                raise ValueError(native.problem().decode())
            return milliseconds

        @classmethod
        def from_ipc_handle(cls, device: Any, handle: Any) -> Any:
            raise RuntimeError("events of an emulated GPU cannot be shared between processes")

    return _CudaEventBase
