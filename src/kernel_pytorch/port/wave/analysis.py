"""All wave hazards of a file, and how a rule makes findings of those with its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from kernel_pytorch.core.findings import Finding, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import is_compiled, is_within, left_out_on_cuda
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.block_reduce import block_reductions
from kernel_pytorch.port.wave.collectives import is_wave_file
from kernel_pytorch.port.wave.divergence import divergence_hazards
from kernel_pytorch.port.wave.facts import Facts
from kernel_pytorch.port.wave.hazard import Hazard
from kernel_pytorch.port.wave.libraries import file_library_hazards, library_hazards
from kernel_pytorch.port.wave.lockstep import lockstep_hazards
from kernel_pytorch.port.wave.model import WaveModel, has_collective, wave_model
from kernel_pytorch.port.wave.native import native_hazards
from kernel_pytorch.port.wave.rows import row_hazards
from kernel_pytorch.port.wave.votes import collective_hazards
from kernel_pytorch.port.wave.widths import (
    mixed_width_hazards,
    query_hazards,
    vendor_width_hazards,
    wave_size_hazards,
)

_BY_FUNCTION: tuple[Callable[[WaveModel, Facts], Iterator[Hazard]], ...] = (
    collective_hazards,
    wave_size_hazards,
    mixed_width_hazards,
    query_hazards,
    divergence_hazards,
    lockstep_hazards,
    library_hazards,
    row_hazards,
)

# What the widened form of a function takes the place of.
_WIDENING = (collective_hazards, wave_size_hazards, mixed_width_hazards)


def _widened(model: WaveModel) -> dict[int, list[Hazard]]:
    """The functions that may use whole waves, where the user asked for it."""
    if model.wave != "native":
        return {}
    found = block_reductions(model)
    for group in model.groups:
        if any(has_collective(one) for one in group) and not any(id(one) in found for one in group):
            found.update(native_hazards(model, group) or {})
    return found


@lru_cache(maxsize=2)  # asked for by one rule after another; more would keep whole units alive
def hazards(source: CxxFile, unit: Unit, wave: str = "logical32") -> tuple[Hazard, ...]:
    """Every wave hazard of one file of a unit, in the order of the text."""
    if not source.is_parsable or not is_wave_file(source):
        return ()
    model = wave_model(unit if unit.file(source.path) is not None else Unit((source, *unit.files)), wave)
    syntax = model.syntax_of(source)
    if syntax is None:
        return ()
    widened = _widened(model)
    found: list[Hazard] = []
    for facts in model.facts_in(source):
        own = widened.get(id(facts))
        found.extend(own or ())
        for check in _BY_FUNCTION:
            if own is None or check not in _WIDENING:
                found.extend(check(model, facts))
    for_amd = left_out_on_cuda(source)
    kept = [one for one in found if not is_within(one.start, for_amd) and is_compiled(source, one.start)]
    kept.extend(file_library_hazards(model, syntax))
    kept.extend(vendor_width_hazards(model, syntax))
    return tuple(sorted(set(kept), key=lambda one: (one.start, one.end, one.code)))


def wave_findings(source: CxxFile, unit: Unit, rule: Rule) -> Iterator[Finding]:
    """The findings of one rule."""
    for one in hazards(source, unit, unit.wave):
        if one.code == rule.code:
            yield rule.finding(source, Span(one.start, one.end), one.message, one.edits, one.safety)
