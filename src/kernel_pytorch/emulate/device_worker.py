"""The child process of an emulated device: loads code objects and launches kernels, one JSON request per line.

Started as `python -m kernel_pytorch.emulate.device_worker` in an environment where `libamdhip64.so` is ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

_EXTRA_BUFFER, _EXTRA_SIZE, _EXTRA_END = 1, 2, 3
_TO_DEVICE, _TO_HOST = 1, 2


class _Hip:
    """The few runtime calls a launch takes."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libamdhip64.so")
        self._library.hipGetErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *args: Any) -> None:
        status = getattr(self._library, name)(*args)
        if status != 0:
            self._library.hipGetLastError()
            raise RuntimeError(f"{name}: {self._library.hipGetErrorString(status).decode()}")

    def allocate(self, size: int) -> ctypes.c_void_p:
        address = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address


def main() -> int:
    """Answer requests until the input ends."""
    # Kernels may print: their text must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    hip = _Hip()
    modules: list[ctypes.c_void_p] = []
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _load(hip, modules, request) if request["do"] == "load" else _launch(hip, modules, request)
        except RuntimeError as error:
            answer = {"error": str(error)} if request["do"] == "launch" else {"refused": str(error)}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


def _load(hip: _Hip, modules: list[ctypes.c_void_p], request: dict[str, Any]) -> dict[str, Any]:
    module = ctypes.c_void_p()
    hip.call("hipModuleLoad", ctypes.byref(module), str(request["path"]).encode())
    modules.append(module)
    return {"module": len(modules) - 1}


def _launch(hip: _Hip, modules: list[ctypes.c_void_p], request: dict[str, Any]) -> dict[str, Any]:
    function = ctypes.c_void_p()
    hip.call("hipModuleGetFunction", ctypes.byref(function), modules[request["module"]], request["symbol"].encode())
    block = ctypes.create_string_buffer(max(int(request["bytes"]), 1))
    allocated: dict[str, tuple[ctypes.c_void_p, int]] = {}
    try:
        for argument in request["arguments"]:
            if "array" in argument:
                if argument["array"] not in allocated:
                    allocated[argument["array"]] = _copied_in(hip, Path(argument["array"]))
                place = int(allocated[argument["array"]][0].value or 0) + int(argument["first"])
                content = place.to_bytes(8, "little")
            else:
                content = bytes.fromhex(argument["value"])
            ctypes.memmove(ctypes.addressof(block) + argument["offset"], content, len(content))
        size = ctypes.c_size_t(int(request["bytes"]))
        extra = (ctypes.c_void_p * 5)(
            _EXTRA_BUFFER, ctypes.addressof(block), _EXTRA_SIZE, ctypes.addressof(size), _EXTRA_END
        )
        numbers = [ctypes.c_uint(number) for number in (*request["grid"], *request["block"], request["shared"])]
        hip.call("hipModuleLaunchKernel", function, *numbers, None, None, extra)
        hip.call("hipDeviceSynchronize")
        for name, (address, length) in allocated.items():
            _copied_out(hip, Path(name), address, length)
    finally:
        for address, _ in allocated.values():
            # After a fault every call fails; what the launch said is what matters.
            with contextlib.suppress(RuntimeError):
                hip.call("hipFree", address)
    return {}


def _copied_in(hip: _Hip, path: Path) -> tuple[ctypes.c_void_p, int]:
    content = path.read_bytes()
    address = hip.allocate(len(content))
    hip.call("hipMemcpy", address, content, ctypes.c_size_t(len(content)), _TO_DEVICE)
    return address, len(content)


def _copied_out(hip: _Hip, path: Path, address: ctypes.c_void_p, length: int) -> None:
    content = ctypes.create_string_buffer(max(length, 1))
    hip.call("hipMemcpy", content, address, ctypes.c_size_t(length), _TO_HOST)
    path.write_bytes(content.raw[:length])


if __name__ == "__main__":
    sys.exit(main())
