"""Random numbers with a fixed seed

What: cuRAND generators seeded with a constant. kpt reports them once per file.
Why: cuRAND and hipRAND do not promise equal streams. A result compared with stored numbers differs.
Fix: Store the generated inputs instead of the seed, where results are compared across vendors.
Source: https://rocm.docs.amd.com/projects/hipRAND/en/latest/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP266",
    "random-streams",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"curandSetPseudoRandomGeneratorSeed", b"curand_init"),
)

_SEED = {b"curandSetPseudoRandomGeneratorSeed": 1, b"curand_init": 0}
_CONSTANT = re.compile(rb"(?:0[xX])?[0-9a-fA-F]+[uUlL]*\Z")


def check(src: CxxFile) -> Iterator[Finding]:
    """The first generator with a literal seed."""
    for call in calls(src, *_SEED):
        position = _SEED[call.name]
        if len(call.arguments) > position and _CONSTANT.match(call.argument(src, position)):
            message = "a fixed seed: hipRAND does not give cuRAND's numbers, so results differ from stored ones"
            yield RULE.finding(src, call.span, message)
            return
