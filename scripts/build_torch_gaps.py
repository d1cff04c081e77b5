"""Writes port/tables/torch_hipify_gaps.txt: names and headers our table maps and torch.utils.hipify leaves alone.

    python scripts/build_torch_gaps.py

The torch-extension layout leaves names to torch's own build; these it has to write itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

TARGET = ROOT / "src" / "kernel_pytorch" / "port" / "tables" / "torch_hipify_gaps.txt"


def table() -> str:
    """The two tables compared: the text of the file."""
    import torch
    from torch.utils.hipify.cuda_to_hip_mappings import CUDA_TO_HIP_MAPPINGS

    from kernel_pytorch.port.names.table import all_names, header_rows

    known = {key for mapping in CUDA_TO_HIP_MAPPINGS for key in mapping}
    for key in tuple(known):
        known.add(key.removeprefix("include ").strip('<">'))
    mapped = [name.cuda for name in all_names() if name.hip and name.kind != "namespace"]
    mapped += [name for name, row in header_rows().items() if row.hip]
    gaps = sorted({name for name in mapped if name not in known})
    version = torch.__version__.partition("+")[0]
    head = f"# Mapped by our table, left alone by torch.utils.hipify of torch {version}. scripts/build_torch_gaps.py"
    return "\n".join([head, *gaps]) + "\n"


def main() -> int:
    """Write the difference."""
    text = table()
    TARGET.write_text(text, encoding="utf-8")
    print(f"{text.count(chr(10)) - 1} names and headers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
