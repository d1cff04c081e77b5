"""num_stages of three or more for a Triton kernel

What: `num_stages` of 3 or more at a launch, or in every configuration an autotuner may choose from.
Why: each stage keeps its tiles in shared memory, and CDNA3 has 64 KiB of it for a block (H100: 227): the kernel does
    not fit, OutOfResources. AMD's advice is 2 for one product and 1 for two fused ones.
Fix: 2 on ROCm. A list of configurations in which one has 2 stages or fewer, or tiles that fit by the numbers written
    down, is left alone: the autotuner passes over those that do not fit.
Source: catalogue row 144, https://github.com/vllm-project/vllm/pull/17744
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.python.triton_source import (
    CONFIG,
    Option,
    literal_lists,
    literal_numbers,
    numbers,
    options,
    shown,
)
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP561", "num-stages", ("python",), Safety.SAFE, (b"num_stages", b"Config"))

MOST = 2
SHARED_BYTES = 64 * 1024


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    for option in options(module, "num_stages"):
        if option.is_config and _something_fits(module, option):
            continue
        for number in literal_numbers(module, option.value):
            if isinstance(number.value, int) and number.value > MOST and not _asks_for_room(module, number):
                if not is_editable(module, number):
                    continue
                message = f"{number.value} stages of tiles may not fit the 64 KiB of shared memory"
                yield RULE.finding(module.src, module.span(number), message, [choice(module, number, b"%d" % MOST)])
        for listed in literal_lists(module, option.value):
            values = numbers(listed)
            if not values or min(values) <= MOST or id(listed) in seen or not module.reached_on_rocm(listed):
                continue
            seen.add(id(listed))
            if is_editable(module, listed):
                edit = choice(module, listed, shown([MOST], isinstance(listed, ast.Tuple)))
                message = "no configuration has less than 3 stages: they may not fit the 64 KiB of shared memory"
                yield RULE.finding(module.src, module.span(listed), message, [edit])


def _something_fits(module: PythonModule, option: Option) -> bool:
    """Whether a Config of the same list has two stages or fewer, or tiles that fit by the numbers in it."""
    lists = [item for item in module.parents(option.call) if isinstance(item, (ast.List, ast.Tuple))]
    configs = lists[0].elts if lists else [option.call]
    return any(
        isinstance(config, ast.Call) and module.qualified(config.func) in CONFIG and _fits(config) for config in configs
    )


def _fits(config: ast.Call) -> bool:
    """Two operands of 4 bytes an element, kept stages - 1 times: what Triton's AMD back end asks for at most."""
    value = next((item.value for item in config.keywords if item.arg == "num_stages"), None)
    if value is None and len(config.args) > 2:
        value = config.args[2]
    stages = constant(value)
    if not isinstance(stages, int):
        return False
    if stages <= MOST:
        return True
    tiles = config.args[0] if config.args else None
    sides: dict[str, int] = {}
    if isinstance(tiles, ast.Dict):
        for key, item in zip(tiles.keys, tiles.values, strict=True):
            name, side = constant(key), constant(item)
            if isinstance(name, str) and isinstance(side, int) and "GROUP" not in name.upper():
                sides[name] = side
    if len(sides) < 2:
        return False
    inner = next((side for name, side in sides.items() if name.upper().endswith("K")), max(sides.values()))
    others = list(sides.values())
    others.remove(inner)
    return sum(inner * side for side in others) * 4 * (stages - 1) <= SHARED_BYTES


def _asks_for_room(module: PythonModule, node: ast.expr) -> bool:
    """`3 if check_shared_mem() else 1`: the file asks how much there is."""
    tests = (ast.unparse(item.test).lower() for item in module.parents(node) if isinstance(item, (ast.If, ast.IfExp)))
    return any("shared_mem" in test or "smem" in test for test in tests)
