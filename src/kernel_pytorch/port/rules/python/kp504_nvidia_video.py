"""NVIDIA's video engines named for ffmpeg

What: The encoders `h264_nvenc`, `hevc_nvenc` and `av1_nvenc`, the decoders `h264_cuvid` and the like, and
    `-hwaccel cuda` (`cuvid`, `nvdec`) in a program that starts or links ffmpeg.
Why: They are NVIDIA's engines. On an AMD machine ffmpeg stops with "Cannot load libcuda.so.1" or "Unknown encoder".
Fix: VAAPI on AMD's consumer and workstation GPUs (`-hwaccel vaapi`, `h264_vaapi`), or AMF. The Instinct GPUs decode
    video and have no encoder: encode on the CPU there (`libx264`).
Source: https://trac.ffmpeg.org/wiki/HWAccelIntro; https://rocm.docs.amd.com/projects/rocDecode/en/latest/
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP504", "nvidia-video", ("python",), Safety.MANUAL, (b"_nvenc", b"_cuvid", b"hwaccel"))
_ENGINE = re.compile(r"\b((?:h264|hevc|av1)_nvenc|(?:h264|hevc|av1|vp9|mpeg2|mpeg4|mjpeg)_cuvid)\b")
_OPTION = re.compile(r"-hwaccel[= ]+(?:cuda|cuvid|nvdec)\b")
_WORDS = ("cuda", "cuvid", "nvdec")


def check(module: PythonModule) -> Iterator[Finding]:
    docstrings = {id(node.value) for node in nodes_of(module, ast.Expr) if isinstance(node.value, ast.Constant)}
    follows = _after_hwaccel(module)
    for node in nodes_of(module, ast.Constant):
        if not isinstance(node.value, str) or id(node) in docstrings or not module.reached_on_rocm(node):
            continue
        found = _ENGINE.search(node.value) or _OPTION.search(node.value)
        shown = found.group() if found else f"-hwaccel {node.value}" if id(node) in follows else ""
        if shown:
            message = f"{shown} is one of NVIDIA's video engines: on AMD use vaapi, or the CPU on Instinct GPUs"
            yield RULE.finding(module.src, module.span(node), message)


def _after_hwaccel(module: PythonModule) -> set[int]:
    """`"cuda"` behind `"-hwaccel"` in a list of arguments."""
    found: set[int] = set()
    lists = [node.elts for node in nodes_of(module, ast.List)] + [node.elts for node in nodes_of(module, ast.Tuple)]
    for items in lists:
        for first, second in pairwise(items):
            values = [one.value if isinstance(one, ast.Constant) else None for one in (first, second)]
            if values[0] == "-hwaccel" and values[1] in _WORDS:
                found.add(id(second))
    return found
