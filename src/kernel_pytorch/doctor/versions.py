"""Version numbers without the `packaging` library, which a broken environment may not have."""

from __future__ import annotations

import re


def release(version: str | None) -> tuple[int, ...]:
    """`2.10.0+rocm7.1` is (2, 10, 0); what has no number is ()."""
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", version or "")
    return tuple(int(part) for part in match.group(1).split(".")) if match else ()


def minor(version: str | None) -> str:
    """`7.1.52802` is 7.1; empty where there is no such number."""
    parts = release(version)
    return f"{parts[0]}.{parts[1]}" if len(parts) > 1 else ""


def local_part(version: str | None) -> str:
    """`2.10.0+rocm7.1` has rocm7.1."""
    return (version or "").partition("+")[2]


def satisfies(version: str, specifier: str) -> bool | None:
    """Whether a version meets a specifier such as `>=3.10,!=3.14.0`. None if the specifier cannot be read."""
    outcomes = [_clause(version, clause.strip()) for clause in specifier.split(",") if clause.strip()]
    return None if None in outcomes else all(outcomes)


def _clause(version: str, clause: str) -> bool | None:
    match = re.fullmatch(r"(===|==|!=|>=|<=|~=|>|<)\s*([0-9][^\s]*)", clause)
    if match is None:
        return None
    operator, wanted = match.groups()
    if operator in ("==", "===", "!="):
        return _equal(version, wanted) is (operator != "!=")
    have, want = _padded(release(version), release(wanted))
    if operator == "~=":
        prefix = release(wanted)[:-1]
        return have >= want and have[: len(prefix)] == prefix
    return {">=": have >= want, "<=": have <= want, ">": have > want, "<": have < want}[operator]


def _equal(version: str, wanted: str) -> bool:
    if wanted.endswith(".*"):
        prefix = release(wanted[:-2])
        return release(version)[: len(prefix)] == prefix
    if local_part(wanted):
        return version.strip() == wanted
    # PEP 440: a pin without a local part accepts any local part.
    public, wanted_public = version.partition("+")[0], wanted
    have, want = _padded(release(public), release(wanted_public))
    return have == want and _suffix(public) == _suffix(wanted_public)


def _suffix(version: str) -> str:
    return re.sub(r"^\s*v?\d+(?:\.\d+)*", "", version).strip()


def _padded(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    size = max(len(a), len(b))
    return a + (0,) * (size - len(a)), b + (0,) * (size - len(b))
