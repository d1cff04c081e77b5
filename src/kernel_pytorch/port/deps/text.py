"""The plan as text for a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable

from kernel_pytorch.core.counted import counted
from kernel_pytorch.port.deps.model import Decision, JaxUse, Plan, Project

_WIDTH = 110
_ORDER = ("drop", "substitute", "person", "protected", "keep")
_LABELS = {"person": "a person decides"}
_MAX_MODULES = 12


def plan_text(plan: Plan) -> str:
    """The whole plan: what each project's requirements become, and what to know besides."""
    lines = [_environment(plan)]
    for project in plan.projects:
        lines += ["", *_project(project)]
    if not plan.projects:
        lines += ["", f"no dependency files found in {plan.root}: nothing to install, nothing to plan"]
    if plan.jax is not None:
        lines += ["", *_jax(plan.jax)]
    if plan.python_notes:
        lines += ["", "python version"]
        lines += [
            line
            for note in plan.python_notes
            for line in _wrapped(f"{note.origin}: {note.specifier}: {note.text}", "  ")
        ]
    if plan.not_read:
        lines += ["", "not read"]
        lines += [line for note in plan.not_read for line in _wrapped(f"{note.path}:{note.line}: {note.reason}", "  ")]
    if plan.skipped:
        lines += ["", *_wrapped("passed over: " + ", ".join(plan.skipped), "  ")]
    counts = Counter(decision.action for decision in plan.decisions)
    total = ", ".join(f"{counts[action]} {_LABELS.get(action, action)}" for action in _ORDER if counts[action])
    dropped = sum(option.action == "drop" for project in plan.projects for option in project.options)
    indexes = f"; {counted(dropped, 'index line or channel', 'index lines or channels')} left out" if dropped else ""
    if plan.projects:
        lines += ["", f"{counted(len(plan.decisions), 'requirement')}{': ' if total else ''}{total}{indexes}"]
    return "\n".join(lines)


def _environment(plan: Plan) -> str:
    torch = plan.environment.torch
    if torch is None:
        state = "no torch"
    else:
        kind = f"HIP {torch.hip}" if torch.hip else f"CUDA {torch.cuda}" if torch.cuda else "CPU"
        state = f"torch {torch.version} ({kind})"
    return f"{plan.root} for Python {plan.environment.version} with {state}"


def _project(project: Project) -> list[str]:
    lines = [f"{project.folder} ({', '.join(project.files)})"]
    for action in _ORDER[:-1]:
        for same in _same_place(decision for decision in project.decisions if decision.action == action):
            lines += _decision(same[0], [decision.requirement.group for decision in same])
    keep = [decision for decision in project.decisions if decision.action == "keep"]
    if keep:
        lines += _keep(keep)
    for option in project.options:
        if option.action == "drop":
            text = f"left out: {option.kind} {option.value} ({option.path}:{option.line}): {option.reason}"
            lines += _wrapped(text, "  ")
    lines += [line for note in project.notes for line in _wrapped(f"note: {note}", "  ")]
    return lines


def _same_place(decisions: Iterable[Decision]) -> list[list[Decision]]:
    """One requirement that several groups share is shown once."""
    places: dict[tuple[str, str], list[Decision]] = {}
    for decision in decisions:
        requirement = decision.requirement
        places.setdefault((requirement.origin, requirement.written), []).append(decision)
    return list(places.values())


def _decision(decision: Decision, groups: list[str]) -> list[str]:
    requirement = decision.requirement
    named = ", ".join(group or "main" for group in dict.fromkeys(groups)) if any(groups) else ""
    where = f"{requirement.origin}{f' [{named}]' if named else ''}"
    if requirement.role != "runtime":
        where += f" ({requirement.role})"
    written = " ".join(requirement.written.split())
    head = f"  {_LABELS.get(decision.action, decision.action):<16} {written}  ({where})"
    lines = [head]
    if decision.action == "substitute" and decision.line:
        lines.append(f"{'':19}-> {decision.line}")
    lines += _wrapped(decision.reason, " " * 19)
    lines += _wrapped(decision.how, " " * 19)
    lines += [line for note in decision.notes for line in _wrapped(f"note: {note}", " " * 19)]
    return lines


def _keep(decisions: list[Decision]) -> list[str]:
    lines = []
    plain = [d for d in decisions if not d.requires_torch and not d.how and not d.notes]
    torch = [d for d in decisions if d.requires_torch and not d.how and not d.notes]
    rest = [d for d in decisions if d.how or d.notes]
    if plain:
        lines += _wrapped(f"keep: {_names(plain)}", "  ", "      ")
    if torch:
        text = f"keep, but install with --no-deps or the constraints, because they ask for torch: {_names(torch)}"
        lines += _wrapped(text, "  ", "      ")
    for same in _same_place(rest):
        lines += _decision(same[0], [decision.requirement.group for decision in same])
    return lines


def _names(decisions: Iterable[Decision]) -> str:
    return ", ".join(dict.fromkeys(decision.requirement.name for decision in decisions))


def _jax(jax: JaxUse) -> list[str]:
    if not jax.pytorch_only:
        return _wrapped(
            f"JAX first: {len(jax.unconditional) + len(jax.guarded)} modules import the JAX stack, {jax.torch_modules} "
            "import torch. There is no PyTorch path to keep, so JAX stays in the list and a person decides about it.",
            "",
        )
    lines = _wrapped(
        f"JAX and PyTorch: the PyTorch-only path. {len(jax.unconditional)} modules import the JAX stack when they are "
        "imported and will not work without it; "
        f"{len(jax.guarded)} use it behind a guard or inside functions.",
        "",
    )
    if jax.both:
        lines += _wrapped(
            "These import torch as well, so the PyTorch path may run through them (guard the import, or install plain "
            f"`jax`, the CPU build without extras, to keep them importable): {_some(jax.both)}",
            "  ",
        )
    others = [module for module in jax.unconditional if module not in jax.both]
    if others:
        lines += _wrapped(f"JAX only: {_some(others)}", "  ")
    return lines


def _some(modules: Iterable[str]) -> str:
    names = list(modules)
    more = f" and {len(names) - _MAX_MODULES} more (see --json)" if len(names) > _MAX_MODULES else ""
    return ", ".join(names[:_MAX_MODULES]) + more


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=first + "  " if rest is None else rest,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
