"""The files for CI: they parse, have the shape their readers expect, and every kpt command in them is one kpt takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from kernel_pytorch.cli.main import parser_for

ROOT = Path(__file__).parents[1]


def blocks() -> list[Any]:
    text = (ROOT / "docs/ci.md").read_text()
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


def commands() -> list[str]:
    workflow, _ = blocks()
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = [*workflow["jobs"]["kpt"]["steps"], *action["runs"]["steps"]]
    scripts = [str(step.get("run", "")) for step in steps]
    lines = [line.strip() for script in scripts for line in script.splitlines() if line.strip().startswith("kpt ")]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return [*lines, *(" ".join([hook["entry"], *hook["args"]]) for hook in hooks)]


def test_the_workflow_has_the_shape_of_one() -> None:
    workflow, pre_commit = blocks()
    assert workflow[True] == ["pull_request"]  # YAML 1.1 reads the key `on` as true
    steps = workflow["jobs"]["kpt"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    upload = next(step for step in steps if "upload-sarif" in str(step.get("uses")))
    assert any(f"> {upload['with']['sarif_file']}" in str(step.get("run")) for step in steps)
    assert workflow["permissions"]["security-events"] == "write"
    known = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {hook["id"] for hook in pre_commit["repos"][0]["hooks"]} <= known


def test_the_hooks_and_the_action_have_what_is_required() -> None:
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert hook["language"] == "python"
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in action["runs"]["steps"] if "run" in step)
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(action["inputs"])


def test_no_input_becomes_text_of_a_script() -> None:
    """`${{ inputs.base }}` in a script is pasted before the shell reads it: a branch called `$(x)` would run."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    for step in action["runs"]["steps"]:
        script = str(step.get("run", ""))
        assert "${{" not in script
        variables = set(re.findall(r"\$\{(\w+)\}", script))
        assert variables - {"GITHUB_ACTION_PATH"} <= set(step.get("env", {}))
        # In quotes, and behind `=` or `--`: what begins with a dash is no option.
        safe = re.findall(r'(?:=|-- |install |matcher::)"?\$\{\w+\}', script)
        assert len(safe) == script.count("${")


def test_the_action_installs_its_own_checkout() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (install,) = [step["run"] for step in action["runs"]["steps"] if "pip" in str(step.get("run", ""))]
    assert install == 'pip install "${GITHUB_ACTION_PATH}[toolchain,report]"'


def test_a_crash_is_not_taken_for_findings() -> None:
    """The only status that a step may accept besides success is 1."""
    workflow, _ = blocks()
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    for step in [*workflow["jobs"]["kpt"]["steps"], *action["runs"]["steps"]]:
        accepted = re.findall(r"\|\|\s*(.+)", str(step.get("run", "")))
        assert set(accepted) <= {"test $? -eq 1"}
        assert "continue-on-error" not in step
    assert action["inputs"]["no-run"]["default"] == "true"


@pytest.mark.parametrize("line", commands())
def test_every_command_is_one_that_kpt_takes(line: str) -> None:
    plain = re.sub(r"\$\{\w+\}", "x", line.replace("${KPT_REQUIRE}", "build"))
    words = shlex.split(re.split(r"\s(?:>|\|\|)\s", plain)[0])
    assert words[0] == "kpt"
    parser_for(words[1]).parse_args(words[2:])
