"""`python -m kernel_pytorch.emulate.build_stand_in NAME` builds the stand-in of a library and prints its path.

The first call of a function of that library starts it (on_call.py).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.libraries import built_stand_in
from kernel_pytorch.emulate.outside import step_outside


def main(arguments: Sequence[str]) -> int:
    """Builds one stand-in. Its path goes to standard output; what is said while it is built to standard error."""
    step_outside()
    try:
        print(built_stand_in(arguments[0]))
    except (UsageError, OSError) as problem:
        print(f"kpt: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main(sys.argv[1:]))
