"""Headers of kits that do not exist for ROCm: a file that includes one is built with that kit or not at all."""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.directives import Conditional, conditionals, directives
from kernel_pytorch.port.cxx.source import CxxFile, read_once

_KITS = (
    (rb"Nv(?:Infer|OnnxParser|UffParser|CaffeParser|Utils)\w*\.h", "TensorRT"),
    (rb"parrots/.*", "Parrots"),
    (rb"(?:gst-?)?nvds\w*\.h|nvbuf\w*\.h", "DeepStream"),
    (rb"nvcuvid\.h|cuviddec\.h|nvEncodeAPI\.h", "NVIDIA's Video Codec SDK"),
    (rb"optix\w*\.h", "OptiX"),
)
KITS = tuple((re.compile(rb'[<"](?:[\w./-]*/)?(?:' + pattern + rb')[>"]'), name) for pattern, name in _KITS)
TRIGGERS = (
    b"NvInfer", b"NvOnnx", b"NvUff", b"NvCaffe", b"NvUtils", b"parrots/", b"nvds", b"nvbuf", b"cuvid", b"nvEncodeAPI",
    b"optix",
)  # fmt: skip
# Another framework's own files, which no build for torch takes in, on no vendor's GPUs: nothing to report.
OTHER_FRAMEWORKS = frozenset({"Parrots"})
# A guard against a second inclusion holds almost all of a file; a block for one feature does not.
_MOST = 0.8


@read_once
def absent_kit(src: CxxFile) -> tuple[str, Span] | None:
    """The kit that a whole file needs, and the #include that says so."""
    if not any(word in src.data for word in TRIGGERS):
        return None
    for one in directives(src):
        if one.name != b"include" or not one.tokens:
            continue
        header = src.text(one.tokens[0])
        name = next((name for pattern, name in KITS if pattern.fullmatch(header)), None)
        if name is not None and not _is_one_feature(src, one.span.start):
            return name, one.span
    return None


def _is_one_feature(src: CxxFile, offset: int) -> bool:
    """Whether an #include stands in a conditional block that holds a part of the file only."""
    # What a port puts in front of the file's include guard does not make the guard a block of the file.
    gates = [one for one in conditionals(src) if _asks_for_rocm(src, one) and not _holds(one, offset)]
    size = len(src.data) - sum(one.branches[-1].body.end - one.branches[0].directive.span.start for one in gates)
    bodies = (branch.body for one in conditionals(src) for branch in one.branches)
    return any(body.start <= offset < body.end and body.end - body.start < _MOST * size for body in bodies)


def _asks_for_rocm(src: CxxFile, one: Conditional) -> bool:
    return any(src.text(token) in (b"USE_ROCM", b"__HIP_PLATFORM_AMD__") for token in one.branches[0].directive.tokens)


def _holds(one: Conditional, offset: int) -> bool:
    return one.branches[0].directive.span.start <= offset < one.branches[-1].body.end
