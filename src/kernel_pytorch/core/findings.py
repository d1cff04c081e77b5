"""The dataclasses that pass between the rooms (findings, edits, patches, checks), and the JSON form of any dataclass.

All are frozen and survive a JSON round trip.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import types
import typing
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any, TypeVar

from kernel_pytorch.core.printable import on_one_line

SCHEMA_VERSION = 1

T = TypeVar("T")


class Safety(Enum):
    """How far a finding's edit may be trusted."""

    SAFE = "safe"  # isolation proved: applied
    REVIEW = "review"  # applied only when asked for
    MANUAL = "manual"  # no edit: a person has to decide


class Status(Enum):
    """The outcome of a check. Not run is never passed."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    INFO = "info"
    NOT_RUN = "not_run"


@dataclass(frozen=True)
class Span:
    """A half-open range of bytes in a file."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"span {self.start}..{self.end} is not a range")


@dataclass(frozen=True)
class Edit:
    """Replace a span by text: the only way source changes."""

    span: Span
    text: bytes


@dataclass(frozen=True)
class Finding:
    """One thing that breaks, or will, at one place."""

    code: str
    path: str
    line: int
    col: int
    message: str
    safety: Safety = Safety.MANUAL
    edits: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        return on_one_line(f"{self.path}:{self.line}:{self.col}: {self.code} {self.message}")


@dataclass(frozen=True)
class Held:
    """A finding that will not be applied, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Patch:
    """One file before and after. `before` is None for a new file."""

    path: str
    before: bytes | None
    after: bytes
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check: what was seen, what follows, and what to do about it."""

    check: str
    status: Status
    detail: str
    code: str | None = None
    fix: tuple[str, ...] = ()
    artefact: str | None = None


def action(finding: Finding) -> str:
    """Who settles a finding: "automatic" (`kpt port`), "review" (`kpt port --unsafe`) or "a person"."""
    if finding.safety is Safety.SAFE:
        return "automatic"  # by its edits, or by a new file that the port writes
    return "review" if finding.edits else "a person"


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding as every `--json` shows it: without the bytes of its edits, with who settles it."""
    plain: dict[str, Any] = to_plain(finding)
    del plain["edits"]
    return {**plain, "action": action(finding)}


def to_json(value: object, *, indent: int | None = 2) -> str:
    """Any of these dataclasses as JSON text."""
    return json.dumps(to_plain(value), indent=indent)


def from_json(kind: type[T], text: str) -> T:
    """The dataclass back from its JSON text. Raises ValueError naming what does not fit."""
    return typing.cast(T, _from_plain(kind, json.loads(text), kind.__name__))


def to_plain(value: object) -> Any:
    """Dictionaries, lists, strings and numbers only."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _from_plain(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        if data is None:
            return None
        (kind,) = (option for option in typing.get_args(kind) if option is not type(None))
        return _from_plain(kind, data, where)
    if origin is tuple:
        item_kind = typing.get_args(kind)[0]
        return tuple(_from_plain(item_kind, item, f"{where}[{i}]") for i, item in enumerate(data))
    if origin is dict:
        return {key: _from_plain(typing.get_args(kind)[1], item, f"{where}.{key}") for key, item in data.items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass_from(kind, data, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is bytes:
        return base64.b64decode(data["base64"])
    if kind is float and isinstance(data, int):
        return float(data)
    if isinstance(kind, type) and not isinstance(data, kind):
        raise ValueError(f"{where}: {data!r} is not {kind.__name__}")
    return data


def _dataclass_from(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{where}: {data!r} is not an object")
    unknown = data.keys() - _hints(kind).keys()
    if unknown:
        raise ValueError(f"{where}: unknown field {', '.join(sorted(unknown))}")
    try:
        return kind(**{name: _from_plain(_hints(kind)[name], item, f"{where}.{name}") for name, item in data.items()})
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error
