"""The result as files: a module that applies exactly the kept rungs, and a block of environment variables."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Iterable
from pathlib import Path

from kernel_pytorch.core.whole_file import write_for_user
from kernel_pytorch.perf.ladder.ledger import Ledger
from kernel_pytorch.perf.ladder.recipe import environment_of
from kernel_pytorch.perf.ladder.rung import ENVIRONMENT, Recipe, Rung
from kernel_pytorch.version import VERSION

MODULE = "optimized.py"
BLOCK = "env.sh"

_MODULE = '''\
"""{title}

    from optimized import apply

    fast = apply(model, inputs)  # inputs: what the model is called with, a tuple, a dictionary or one tensor
    with torch.no_grad():
        outputs = fast(*inputs)

The model itself is not changed; its parameters are shared. Measured {when} with torch {torch} on {device}.
Written by kpt {version}; needs the package kernel-pytorch. Other shapes, another GPU or another torch: climb anew.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from kernel_pytorch.perf.ladder.recipe import apply_recipe
from kernel_pytorch.perf.ladder.rung import Step

# Has to be set before torch is imported: `. ./env.sh`
ENVIRONMENT: dict[str, str] = {environment}

STEPS: tuple[Step, ...] = ({steps})


def apply(model: Any, inputs: Any) -> Callable[..., Any]:
    """What to call in place of `model`."""
    missing = [name for name, value in ENVIRONMENT.items() if os.environ.get(name) != value]
    if missing:
        warnings.warn(f"not set, though measured with: {{', '.join(missing)}} (see env.sh)", stacklevel=2)
    return apply_recipe(model, inputs, STEPS)
'''


def write_result(ledger: Ledger, recipe: Recipe, among: Iterable[Rung], folder: Path) -> tuple[Path, Path]:
    """Write both files. Raises UsageError naming the one that cannot be written."""
    known = tuple(among)
    written = []
    for name, text in (
        (MODULE, module_text(ledger, recipe, known)),
        (BLOCK, environment_block(ledger, environment_of(recipe, known))),
    ):
        path = folder / name
        write_for_user(path, text)
        written.append(path)
    return written[0], written[1]


def module_text(ledger: Ledger, recipe: Recipe, among: Iterable[Rung]) -> str:
    """The module, with what each step was measured to gain beside it."""
    known = {rung.name: rung for rung in among}
    lines = []
    for step in recipe:
        if known[step.rung].kind == ENVIRONMENT:
            continue
        entry = ledger.entry(step.rung)
        if entry is not None:
            lines.append(f"    # level {entry.level}, {_one_line(entry.title)}: {_one_line(entry.reason)}")
        options = f", {_literal(step.options, 4 + len('Step('))}" if step.options else ""
        lines.append(f"    Step({step.rung!r}{options}),")
    steps = "\n" + "\n".join(lines) + "\n" if lines else ""
    environment = environment_of(recipe, known.values())
    total = f": {ledger.total.in_words()}" if ledger.total is not None else ""
    return _MODULE.format(
        title=_one_line(f"What `kpt optimize` kept for {ledger.target}{total}")
        .replace('"""', "'''")
        .replace("\\", "/"),
        when=ledger.when,
        torch=ledger.identity.get("torch", "?"),
        device=_one_line(ledger.identity.get("device", "?")).replace('"""', "'''"),
        version=VERSION,
        environment=_literal(environment, 0),
        steps=steps,
    )


def environment_block(ledger: Ledger, variables: dict[str, str]) -> str:
    """Lines to source in a shell."""
    lines = [f"# What `kpt optimize` kept for {_one_line(ledger.target)}: source it before Python starts."]
    if not variables:
        lines.append("# No variable made a difference.")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return "\n".join(lines) + "\n"


def _literal(value: dict[str, object] | dict[str, str], indent: int) -> str:
    json.dumps(value)  # a recipe holds nothing but JSON; anything else is a rung's bug and shows here
    text = pprint.pformat(value, width=110 - indent, sort_dicts=False)
    return text.replace("\n", "\n" + " " * indent)


def _one_line(text: str) -> str:
    return " ".join(text.split())
