"""`python -m kernel_pytorch` is `kpt`."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # `python -m` puts the current folder in front of the path; what is imported from here on must not come from it.
    if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 (pathlib would be imported from that folder)
        del sys.path[0]
    from kernel_pytorch.cli.main import main

    sys.exit(main())
