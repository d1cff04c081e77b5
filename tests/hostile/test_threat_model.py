"""The threat model page says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from kernel_pytorch.cli.main import EXIT_INTERNAL, EXIT_USAGE, parser_for, verb_summaries
from kernel_pytorch.cli.mcp_server.tools import TOOLS, offered
from kernel_pytorch.core.standard_streams import EXIT_CLOSED_PIPE, EXIT_NOT_WRITTEN
from tests.hostile.test_nothing_runs import READ_ONLY

PAGE = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()


def rows(heading: str) -> dict[str, list[str]]:
    """The rows of the table below a heading, by what stands in the first cell in back quotes."""
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")
    ]
    return {found[1]: row for row in cells if (found := re.match(r"`([^`]+)`", row[0]))}


def test_every_verb_is_on_the_page() -> None:
    assert set(rows("Verb by verb")) == set(verb_summaries())


def test_what_runs_project_code_is_what_a_careful_server_leaves_out() -> None:
    table = rows("Verb by verb")
    for tool in TOOLS:
        says_so = "project code" in table[tool.name][3]
        # `build` runs it for a Triton kernel only, `port` to try the install: KPT_NO_RUN refuses that, the tools stay.
        assert tool.runs_code == (says_so and tool.name not in ("build", "port")), tool.name
    assert not any(tool.runs_code for tool in offered(no_run=True).values())
    assert not any(tool.writes for tool in offered(no_run=True, read_only=True).values())


def test_a_verb_that_writes_nothing_has_no_option_to_write() -> None:
    for verb, (_, _, writes, _) in rows("Verb by verb").items():
        options = {option for action in parser_for(verb)._actions for option in action.option_strings}
        if writes == "nothing":
            assert not options & {"--write", "--out", "--html", "--output", "-o"}, verb
        for option in re.findall(r"`(--?[\w-]+)", writes):
            assert option in options or verb in ("golden", "bench"), (verb, option)


def test_verbs_that_are_called_safe_are_tried_on_the_traps() -> None:
    tried = {words[0] for words in READ_ONLY}
    for verb, row in rows("Verb by verb").items():
        if "project code" not in row[3] and verb not in ("mcp", "skill"):
            assert verb in tried, verb


def test_the_exit_statuses_of_the_page_are_those_of_the_code() -> None:
    for status in (EXIT_USAGE, EXIT_INTERNAL, EXIT_NOT_WRITTEN, EXIT_CLOSED_PIPE):
        assert re.search(rf"\b{status}\b", PAGE)


def test_the_modes_of_the_server() -> None:
    table = rows("What `kpt mcp` promises")
    named = set(re.findall(r"`(\w+)`", table["kpt mcp"][1]))
    assert named == {tool.name for tool in TOOLS if tool.runs_code}
    assert set(table) == {"kpt mcp", "--no-run", "--read-only"}
