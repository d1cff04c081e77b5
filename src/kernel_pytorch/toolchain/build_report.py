"""What `kpt build` found out, as JSON data and as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernel_pytorch.toolchain.build import BuildOutcome, key
from kernel_pytorch.toolchain.find import Candidate, Toolchain
from kernel_pytorch.toolchain.resource_table import resource_rows

SCHEMA = 1


def build_json(
    results: Sequence[BuildOutcome],
    toolchain: Toolchain | None,
    written: Mapping[str, str],
    workgroup_size: int | None = None,
    dynamic_lds_bytes: int = 0,
) -> dict[str, object]:
    """The whole outcome; `written` gives the path of each code object that was written."""
    return {
        "schema": SCHEMA,
        "toolchain": None if toolchain is None else _toolchain(toolchain),
        "results": [
            {
                "file": built.file,
                "arch": built.arch,
                "kind": built.kind,
                "status": "built" if built.ok else "failed",
                "output": written.get(key(built)),
                "code_object_bytes": len(built.payload),
                "messages": [dict(vars(message)) for message in built.messages],
                "kernels": [row.to_json() for row in resource_rows(built, workgroup_size, dynamic_lds_bytes)],
                "assembly": built.assembly,
                "disassembly": built.disassembly,
                "note": built.note,
            }
            for built in results
        ],
    }


def toolchain_json(looked: Sequence[Candidate], chosen: Candidate | None) -> dict[str, object]:
    """Every place a compiler was looked for, and the one that would be used."""
    return {
        "schema": SCHEMA,
        "chosen": None if chosen is None or chosen.toolchain is None else _toolchain(chosen.toolchain),
        "candidates": [
            {"kind": one.kind, "found": one.found, "lacks": list(one.lacks), "note": one.note} for one in looked
        ],
    }


def _toolchain(toolchain: Toolchain) -> dict[str, object]:
    return {
        "kind": toolchain.kind,
        "compiler": list(toolchain.compiler),
        "linker": None if toolchain.linker is None else list(toolchain.linker),
        "version": toolchain.version,
        "headers": toolchain.headers,
        "include_dirs": [str(path) for path in toolchain.include_dirs],
        "device_libs": [str(path) for path in (*toolchain.device_libs, *filter(None, (toolchain.device_lib_dir,)))],
        "notes": list(toolchain.notes),
        "reason": toolchain.reason,
    }


def problem_lines(file: str, results: Sequence[BuildOutcome]) -> tuple[str, ...]:
    """Each compiler message once, however many targets it came up for, then which targets did not build."""
    failed = [built for built in results if not built.ok]
    if not failed:
        return ()
    messages = dict.fromkeys(str(message) for built in failed for message in built.messages)
    built_for = ", ".join(built.arch for built in results if built.ok)
    rest = f"; it does for {built_for}" if built_for else ""
    return (*messages, f"{file}: does not compile for {', '.join(built.arch for built in failed)}{rest}")
