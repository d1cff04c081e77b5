"""Work of a generated kernel: its bytes as Inductor counts them, and the operations written in its source."""

from __future__ import annotations

import math
import re

from kernel_pytorch.perf.inspect.view import TritonKernel
from kernel_pytorch.perf.roofline.forms import Rows, Streamed
from kernel_pytorch.perf.roofline.functions import instructions
from kernel_pytorch.perf.roofline.work import Work

_OPERATION = re.compile(r"^\s+tmp\d+ = (.*)$", re.MULTILINE)
_NO_WORK = ("tl.load", "tl.broadcast_to", "tl.full", "tl.where", "tl.reshape")
_SIZE = re.compile(r"^\s+(\w+)numel = (\d+)$", re.MULTILINE)  # sizes that do not change are written into the kernel
_FUNCTION = re.compile(r"(?:tl|tl_math|libdevice)\.(\w+)\(")
_CAST = re.compile(r"^\(?tmp\d+\)?\.to\(")


def generated_flops(source: str, space: int) -> int:
    """Operations of a generated kernel: those written in its source, once per point of its iteration space.

    A transcendental function counts once. It is a floor, and small beside the bytes in all but odd kernels.
    """
    written = [found.strip() for found in _OPERATION.findall(source)]
    working = [text for text in written if not text.startswith(_NO_WORK) and not _CAST.match(text)]
    return len(working) * space


def generated_work(kernel: TritonKernel) -> Work | None:
    """None where Inductor does not say how much the kernel moves."""
    if kernel.bytes is None:
        return None
    space = math.prod(int(size) for _, size in _SIZE.findall(kernel.source))
    steps = space * instructions(_FUNCTION.findall(kernel.source))
    form: Streamed | Rows = Streamed("generated pointwise", "same", steps)
    sizes = {name: int(size) for name, size in _SIZE.findall(kernel.source)}
    length = math.prod(size for name, size in sizes.items() if name.startswith("r"))
    if "reduction" in kernel.category:
        rows = math.prod(size for name, size in sizes.items() if not name.startswith("r"))
        form = Rows("generated row" if "persistent" in kernel.category else "generated loop", rows, length)
    return Work(kernel.flops or 0, kernel.bytes, "fp32", form=form)
