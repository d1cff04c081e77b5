"""Agent skills: a SKILL.md with references that are read when needed, filled from the code where the code knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import gpus, targets
from kernel_pytorch.core.pages import all_pages
from kernel_pytorch.core.whole_file import write_for_user

TEMPLATES = Path(__file__).parent / "skills"
# The words of the command line, and the folders they stand for.
SKILLS = {"port": "amd-rocm-porting", "optimize": "amd-kernel-optimization"}
_PLACE = re.compile(r"^\{\{(\w+)\}\}$", re.MULTILINE)


def render(skill: str, verbs: Mapping[str, str]) -> dict[str, str]:
    """The files of a skill by path, `amd-rocm-porting/SKILL.md` first. `verbs` are kpt's, with their summaries."""
    folder = TEMPLATES / SKILLS[skill]
    names = sorted(path.relative_to(TEMPLATES).as_posix() for path in folder.rglob("*.md"))
    parts = {"verbs": _verbs(verbs), "codes": _codes(), "targets": _targets(), "products": _products()}

    def part(found: re.Match[str]) -> str:
        return parts[found[1]]

    return {name: _PLACE.sub(part, (TEMPLATES / name).read_text(encoding="utf-8")) for name in names}


def write(files: Mapping[str, str], out: Path, *, force: bool = False) -> list[Path]:
    """Writes the files below `out`; one that was changed by somebody is not replaced without `force`."""
    paths = {out / name: text for name, text in files.items()}
    changed = [path for path, text in paths.items() if path.is_file() and path.read_text(encoding="utf-8") != text]
    if changed and not force:
        raise UsageError(f"{changed[0]}: exists and differs; --force replaces it")
    for path, text in paths.items():
        write_for_user(path, text)
    return list(paths)


def _verbs(verbs: Mapping[str, str]) -> str:
    return _table(("verb", "what it does"), [(f"`kpt {name}`", summary) for name, summary in verbs.items()])


def _codes() -> str:
    return _table(("code", "name", "what"), [(page.code, page.name, page.title) for page in all_pages().values()])


def _targets() -> str:
    rows = [
        (one.name, one.arch, one.wave_size, one.matrix, one.fp8_format or "none", one.max_lds_bytes_per_workgroup >> 10)
        for one in targets("amd")
    ]
    return _table(("target", "architecture", "wave", "matrix units", "FP8", "LDS per workgroup, KiB"), rows)


def _products() -> str:
    rows = [
        (gpu.name, gpu.target.name, gpu.compute_units, f"{gpu.memory_gib:g}", f"{gpu.bandwidth_gbs:g}")
        for gpu in gpus("amd")
    ]
    return _table(("product", "target", "compute units", "memory, GiB", "bandwidth, GB/s"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
