"""Which line of the program gave work to a stream: for the report of a race between streams."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from kernel_pytorch.emulate.torch_device.native import Native

_READER = ctypes.CFUNCTYPE(ctypes.c_uint64)
_OWN = str(Path(__file__).parents[2]) + os.sep
_kept: list[object] = []  # what the runtime holds pointers to


def name_places(native: Native) -> None:
    """Where the run looks for races: the runtime asks this process for lines from now on, until Python ends."""
    if "races" not in os.environ.get("KPT_EMULATE_FLAGS", "").split(",") or _kept:
        return
    texts: dict[str, ctypes.Array[ctypes.c_char]] = {}

    def here() -> int:
        text = _place()
        if text not in texts:
            texts[text] = ctypes.create_string_buffer(os.fsencode(text))
        return ctypes.addressof(texts[text])

    reader = _READER(here)
    _kept.extend((reader, texts))
    native.runtime.kptOrderPlaces(reader)
    atexit.register(native.runtime.kptOrderPlaces, None)


def _place() -> str:
    """`file:line` of the innermost frame that is not torch's, Triton's or ours."""
    found = _of_the_program(sys._getframe(1))
    if not found:
        # A thread of torch's own, as in a backward pass: the program waits for it somewhere.
        main = threading.main_thread().ident
        found = _of_the_program(sys._current_frames().get(main or 0))
    return found


def _of_the_program(frame: FrameType | None) -> str:
    libraries = tuple(_libraries(("torch", "triton")))
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(("<", _OWN, *libraries)):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _libraries(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            yield str(Path(file).parent) + os.sep
