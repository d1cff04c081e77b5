"""`python -m kernel_pytorch` is `kpt`."""

from __future__ import annotations

import sys

from kernel_pytorch.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
