"""A .cu that another source includes is a part of it."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.cxx.fragments import fragments


def test_included_sources_are_parts(tmp_path: Path) -> None:
    texts = {
        "csrc/main.cu": '#include "../common.cu"\n#include <lib/kernels.cu>\n#include "main.cu.h"\n',
        "common.cu": "int a;\n",
        "deep/lib/kernels.cu": '#include "kernels.cu"\n',
        "other/kernels.cu": "int b;\n",
        "alone.cu": "// see common.cu\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert fragments(tmp_path, texts) == {"common.cu", "deep/lib/kernels.cu"}
