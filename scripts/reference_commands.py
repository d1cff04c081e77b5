"""docs/commands.md from the verbs' own parsers."""

from __future__ import annotations

import argparse

from kernel_pytorch.cli.main import parser_for, verb_summaries

# Where a verb's options are explained at length.
GUIDES = {
    "scan": "porting.md",
    "port": "porting.md",
    "skill": "agents.md",
    "mcp": "agents.md",
    "explain": "rules/README.md",
}

HEAD = """\
# Every command

Generated from the commands' own parsers by `make docs`; `kpt VERB --help` prints the same on a terminal.

Exit status: 0 clean, 1 findings or failed checks, 2 usage or tool error. Data goes to standard output,
messages to standard error.

| command | |
|---|---|
"""


def page(pages: set[str]) -> str:
    """The page. `pages` are the files in docs/, so that links lead somewhere."""
    verbs = verb_summaries()
    rows = "\n".join(f"| [`kpt {name}`](#kpt-{name}) | {summary} |" for name, summary in verbs.items())
    return HEAD + rows + "\n\n" + "\n".join(_verb(name, pages) for name in verbs)


def _verb(name: str, pages: set[str]) -> str:
    parser = parser_for(name)
    lines = [f"## kpt {name}", "", "```text", (parser.description or "").strip(), "```", ""]
    lines += _table(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines += [line for sub in action.choices.values() for line in _sub(sub)]
    guide = GUIDES.get(name, f"{name}.md")
    if guide in pages or "/" in guide:
        lines += [f"More: [{guide.removesuffix('.md').removesuffix('/README')}]({guide}).", ""]
    return "\n".join(lines)


def _table(parser: argparse.ArgumentParser) -> list[str]:
    actions = [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and action.dest != "help"
        and not isinstance(action, argparse._SubParsersAction)
    ]
    return ["| argument | |", "|---|---|", *(_row(action) for action in actions), ""] if actions else []


def _sub(parser: argparse.ArgumentParser) -> list[str]:
    """One of a verb's actions; where two have one name, the required option tells them apart."""
    required = [action.option_strings[0] for action in parser._actions if action.option_strings and action.required]
    shown = " ".join([parser.prog, *(option for option in required if option != "--out")])
    about = [" ".join((parser.description or "").split()), ""] if parser.description else []
    return [f"### {shown}", "", *about, *_table(parser)]


def _row(action: argparse.Action) -> str:
    names = [option for option in action.option_strings if not option.startswith("--no-")] or action.option_strings
    value = _value(action)
    shown = ", ".join(f"{name} {value}".strip() for name in names) if names else value
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return f"| `{_cell(shown)}` | {_cell(text)} |"


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices is not None and action.metavar is None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    metavar = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    return str(metavar) + ("..." if action.nargs in ("+", "*") else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
