"""What every kernel launch needs before a driver is called: dimensions, device, stream."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence

from kernel_pytorch.toolchain.kernel_arguments import is_tensor

Dimensions = int | Sequence[int]


def dimensions(value: Dimensions, what: str) -> tuple[int, int, int]:
    """`value` as three whole numbers >= 1; `what` ("grid", "block") names it in errors."""
    given = (value,) if isinstance(value, int) else tuple(value)
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{what}={value!r}: expected one to three dimensions, got {len(given)}")
    for size in given:
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"{what}={value!r}: dimensions are whole numbers, got {type(size).__name__}")
        if size < 1:
            raise ValueError(f"{what}={value!r}: every dimension is at least 1")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def check_block(
    kernel: str, block: tuple[int, int, int], maximum: int, required: tuple[int, int, int] | None = None
) -> None:
    """Refuse a block the kernel was not compiled for; the driver's own word for it is "invalid value"."""
    threads = block[0] * block[1] * block[2]
    if maximum and threads > maximum:
        raise ValueError(
            f"kernel {kernel!r}: block {block} has {threads} threads, it was compiled for at most {maximum} "
            "(raise it with __launch_bounds__)"
        )
    if required is not None and block != required:
        raise ValueError(f"kernel {kernel!r}: block {block} given, it was compiled for exactly {required}")


def tensor_device(arguments: Sequence[object]) -> int | None:
    """The index of the GPU all tensor arguments lie on; None without tensors."""
    devices = {value.device.index for value in arguments if is_tensor(value) and value.is_cuda}
    if len(devices) > 1:
        listed = ", ".join(str(index) for index in sorted(devices))
        raise ValueError(f"the tensors lie on different GPUs ({listed}); a kernel runs on one")
    return devices.pop() if devices else None


def stream_handle(stream: object, arguments: Sequence[object], device: int) -> int:
    """The raw handle of `stream`: a torch stream, an integer handle, or None.

    None means torch's current stream if a tensor is among the arguments (torch orders its own work there), and
    the default stream otherwise.
    """
    if stream is None:
        if any(is_tensor(value) for value in arguments):
            return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream)
        return 0
    handle = getattr(stream, "cuda_stream", stream)
    if isinstance(handle, ctypes.c_void_p):
        return handle.value or 0
    if isinstance(handle, bool) or not isinstance(handle, int):
        raise TypeError(f"stream={stream!r}: pass a torch stream, an integer handle or None")
    return handle


def keep_until_done(handle: int, arguments: Sequence[object], device: int) -> None:
    """Tell torch that the tensors are in use on the stream `handle`.

    Its allocator hands memory out again as soon as the last reference goes, in the order of its current stream; a
    kernel on another stream may still be reading it.
    """
    tensors = [value for value in arguments if is_tensor(value)]
    if not tensors:
        return
    cuda = sys.modules["torch"].cuda
    if handle == cuda.current_stream(device).cuda_stream:
        return
    stream = cuda.ExternalStream(handle, device=device) if handle else cuda.default_stream(device)
    for tensor in tensors:
        tensor.record_stream(stream)


def check_shared_bytes(shared_bytes: int) -> int:
    """Dynamic shared memory as a whole number of bytes >= 0."""
    if isinstance(shared_bytes, bool) or not isinstance(shared_bytes, int):
        raise TypeError(f"shared_bytes={shared_bytes!r}: expected whole bytes")
    if shared_bytes < 0:
        raise ValueError(f"shared_bytes={shared_bytes}: it cannot be negative")
    return shared_bytes
