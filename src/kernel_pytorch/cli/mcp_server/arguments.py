"""One argument of a tool: its JSON schema, and the words it becomes on kpt's command line.

Values never stand alone after an option: `--option=value` cannot be taken for another option, whatever the value is,
and a path is absolute by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.cli.mcp_server.rooted import Root

# A subject is a target or a file. A list is joined by commas; texts, paths and targets repeat their option.
FORMS = ("path", "paths", "target", "targets", "subject", "text", "texts", "list", "switch", "number", "after-dashes")
REPEATED = ("paths", "targets", "texts")


@dataclass(frozen=True)
class Argument:
    """`option` is empty for a positional one. `form` is one of FORMS."""

    name: str
    form: str
    about: str
    option: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    pattern: str = ""
    writes: bool = False  # given, the call changes files

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value."""
        text: dict[str, Any] = {"type": "string", "minLength": 1}
        if self.choices:
            text = {"type": "string", "enum": list(self.choices)}
        elif self.pattern:
            text["pattern"] = self.pattern
        if self.form in (*REPEATED, "list"):
            return {"type": "array", "items": text, "minItems": 1, "description": self.about}
        if self.form == "after-dashes":
            return {"type": "array", "items": {"type": "string"}, "description": self.about}
        if self.form == "switch":
            return {"type": "boolean", "description": self.about}
        if self.form == "number":
            return {"type": "number", "exclusiveMinimum": 0, "description": self.about}
        return {**text, "description": self.about}

    def words(self, value: Any, root: Root) -> list[str]:
        """The words for a value that fits the schema."""
        if self.form == "switch":
            return [self.option] if value else []
        if self.form == "after-dashes":
            return ["--", *value] if value else []
        if self.form == "list":
            return [self._with(",".join(value))]
        if self.form in REPEATED:
            return [self._with(self._one(item, root)) for item in value]
        return [self._with(self._one(value, root))]

    def _one(self, value: Any, root: Root) -> str:
        if self.form in ("path", "paths"):
            return str(root.inside(value))
        if self.form in ("target", "targets"):
            return root.target(value)
        if self.form == "subject":
            is_file = (root.folder / value).exists() or ":" not in value
            return str(root.inside(value)) if is_file else root.target(value)
        return f"{value:g}" if self.form == "number" else str(value)

    def _with(self, text: str) -> str:
        if not self.option:
            return text
        return f"{self.option}={text}" if self.option.startswith("--") else f"{self.option}{text}"


def command_words(arguments: tuple[Argument, ...], given: Mapping[str, Any], root: Root) -> list[str]:
    """All words of a call; what follows `--` comes last."""
    ordered = sorted(arguments, key=lambda argument: argument.form == "after-dashes")
    return [
        word for argument in ordered if argument.name in given for word in argument.words(given[argument.name], root)
    ]
