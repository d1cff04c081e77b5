"""When a difference between source and machine code is laid to lockstep."""

from __future__ import annotations

from kernel_pytorch.emulate.events import Events, Fault
from kernel_pytorch.emulate.run import Outcome
from kernel_pytorch.emulate.source.lockstep import verdict


def outcome(name: str, code: int = 0, *kinds: str) -> Outcome:
    faults = tuple(Fault(kind, "k", (0, 0, 0), 0, 0, "", "a.cu", line, "", "") for line, kind in enumerate(kinds, 1))
    return Outcome(name, code, "", "", 0.0, Events(faults=faults))


def test_right_in_both() -> None:
    assert not verdict(outcome("source"), outcome("MI300X"), None, differs=False).depends_on_lockstep


def test_wrong_from_source_only() -> None:
    said = verdict(outcome("source", 1), outcome("MI300X"), outcome("source", 1, "race"), differs=True)
    assert said.depends_on_lockstep and said.text.startswith("depends on lockstep")
    assert [fault.place for fault in said.places] == ["a.cu:1"]


def test_a_fault_of_one_thread_is_not_lockstep() -> None:
    said = verdict(outcome("source", 0, "bounds"), outcome("MI300X"), None, differs=False)
    assert not said.depends_on_lockstep and "bounds at a.cu:1, which MI300X hides" in said.text


def test_wrong_in_both_is_not_lockstep() -> None:
    said = verdict(outcome("source", 1), outcome("MI300X", 1), None, differs=False)
    assert not said.depends_on_lockstep and "not one of lockstep" in said.text


def test_another_output_is_enough() -> None:
    assert verdict(outcome("source"), outcome("MI300X"), outcome("source"), differs=True).depends_on_lockstep
