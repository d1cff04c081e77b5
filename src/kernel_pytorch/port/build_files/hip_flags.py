"""The function that KP420 writes into a build file: nvcc's flags in hipcc's terms, for the flags that file names."""

from __future__ import annotations

import re
from textwrap import indent

from kernel_pytorch.port.build_files.nvcc_flags import FlagRow, flag_table

HALF = ("__CUDA_NO_HALF_OPERATORS__", "__CUDA_NO_HALF_CONVERSIONS__")
NEWER_STANDARD = {
    f"-std={kind}{old}": f"-std={kind}17" for kind in ("c++", "gnu++") for old in ("11", "0x", "14", "1y")
}
"""torch's headers need C++17."""

_WIDTH = 88  # what most formatters keep to

_HEAD = '''\
def _hip_flags(flags):
    """nvcc's flags in hipcc's terms. The architecture is torch's business: PYTORCH_ROCM_ARCH."""
'''
_WORDS = """\
    for flag in map(str, flags):
        # "-O3 -Xptxas -O3" in one string is three words; "-DNAME=a b" is one.
        many = " -" in flag and flag[:2] != "-D" and '"' not in flag
        left += flag.split() if many or flag.split(" ")[0] in with_value else [flag]
"""
_PLAIN_WORDS = """\
    for flag in map(str, flags):
        many = " -" in flag and flag[:2] != "-D" and '"' not in flag
        left += flag.split() if many else [flag]
"""
_UNWRAP = """\
        {branch} name in {unwrapped}:
            value = (value if joined else left.pop(0)).strip("'\\"")
            kept += value.replace(",", " ").split()
"""
_RELOCATABLE = """\
        {branch} name in {relocatable}:
            if (value if joined else left.pop(0)).lower() != "false":
                kept.append("-fgpu-rdc")
"""
_RESPELL = """\
        {branch} name in {respelled}:
            kept.append("{hip}=" + (value if joined else left.pop(0)))
"""
_KIND = """\
        {branch} word in ("-Werror", "--Werror"):
            kept.append("-Werror")
            left = left[1:] if set(left[:1]) & {kinds} else left
"""
_DROPPED = """\
        {branch} name in with_value:
            left = left if joined else left[1:]
"""
_OTHER = """\
        {branch} word in other:
            kept += other[word]
"""
_HALF_ON = """\
    if word.startswith("-U__CUDA_NO_HALF_"):
        kept.append(word.replace("__CUDA_NO_", "__HIP_NO_"))
"""
KINDS = ("all-warnings", "cross-execution-space-call", "reorder", "deprecated-declarations")


def hip_flags_function(text: str) -> str:
    """The function's source, with the rows for the flags that are named in `text`, the build file it goes into."""
    rows = [row for flag, row in flag_table().items() if _is_named(flag, text)]
    by_action: dict[str, list[FlagRow]] = {}
    for row in rows:
        by_action.setdefault("kind" if row.value == "nvcc-kind" else row.action, []).append(row)
    with_value = [
        row.flag for row in rows if row.value == "joined-or-next" and row.action in ("drop", "replace", "host-compiler")
    ]
    plain = {
        row.flag: row.hip.split()
        for row in rows
        if row.value == "none" and row.action in ("drop", "replace", "relocatable")
    }
    plain |= {old: [new] for old, new in NEWER_STANDARD.items() if _is_named(old, text)}
    lists = {
        "unwrapped": [row.flag for row in by_action.get("unwrap", ())],
        "relocatable": [row.flag for row in by_action.get("relocatable", ()) if row.value == "joined-or-next"],
    }
    respelled: dict[str, list[str]] = {}
    for row in by_action.get("respell", ()):
        respelled.setdefault(row.hip, []).append(row.flag)
    valued = [flag for flags in (with_value, *lists.values(), *respelled.values()) for flag in flags]
    kinds = [kind for kind in KINDS if kind in text] or ["all-warnings"]
    parts = [_HEAD]
    parts += [_wrapped("    with_value = {", [f'"{flag}"' for flag in valued], "}")] if valued else []
    parts += [_table("other", plain)] if plain else []
    parts += [
        "    left, kept = [], []\n",
        _WORDS if valued else _PLAIN_WORDS,
        "    while left:\n        word = left.pop(0)\n",
    ]
    parts += ['        name, joined, value = word.partition("=")\n'] if valued else []
    templates = [(_UNWRAP, "unwrapped"), (_RELOCATABLE, "relocatable")]
    branches = [(template, name) for template, name in templates if lists[name]]
    branches += [(_RESPELL, hip) for hip in respelled]
    branches += [(_KIND, "kinds")] if "kind" in by_action else []
    branches += [(_DROPPED, "")] if with_value else []
    branches += [(_OTHER, "")] if plain else []
    for number, (template, name) in enumerate(branches):
        if name in respelled:
            words = {"hip": name, "respelled": _tuple(respelled[name])}
        elif name in lists:
            words = {name: _tuple(lists[name])}
        else:
            words = {"kinds": f"{{{_tuple(kinds)[1:-1].rstrip(',')}}}"}
        parts.append(template.format(branch="elif" if number else "if", **words))
    rest = "    kept.append(word)\n" + (_HALF_ON if any(f"-U{name}" in text for name in HALF) else "")
    parts.append("        else:\n" + indent(rest, " " * 8) if branches else indent(rest, " " * 4))
    return "".join(parts) + "    return kept\n"


def _is_named(flag: str, text: str) -> bool:
    """Whether a string of the file begins with this flag, or has it after a space."""
    return re.search(rf"""["' ]{re.escape(flag)}(?=["' =])""", text) is not None


def _tuple(flags: list[str]) -> str:
    inner = ", ".join(f'"{flag}"' for flag in flags)
    return f"({inner},)" if len(flags) == 1 else f"({inner})"


def _table(name: str, rows: dict[str, list[str]]) -> str:
    note = ""
    if any("-ffp-contract=fast" in words for words in rows.values()):
        note = "    # Not -ffast-math for -use_fast_math: it would also assume that there is no NaN.\n"
    items = [f'"{flag}": [{", ".join(chr(34) + word + chr(34) for word in words)}]' for flag, words in rows.items()]
    return note + _wrapped(f"    {name} = {{", items, "}")


def _wrapped(head: str, items: list[str], close: str) -> str:
    """One line, or one item a line as formatters write it."""
    line = head + ", ".join(items) + close
    if len(line) <= _WIDTH:
        return line + "\n"
    return head + "\n" + "".join(f"        {item},\n" for item in items) + f"    {close}\n"
