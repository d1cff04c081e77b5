"""The files for CI: they parse, have the shape their readers expect, and every kpt command in them is one kpt takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from kernel_pytorch.cli.main import parser_for
from kernel_pytorch.core.toml_file import read_toml

ROOT = Path(__file__).parents[1]


def blocks() -> list[Any]:
    text = (ROOT / "docs/ci.md").read_text()
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


def users_workflow() -> dict[Any, Any]:
    (workflow,) = [block for block in blocks() if "jobs" in block]
    return workflow  # type: ignore[no-any-return]


def own_workflows() -> dict[str, dict[Any, Any]]:
    return {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}


def steps_of(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def action() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "action.yml").read_text())  # type: ignore[no-any-return]


def all_steps() -> list[dict[str, Any]]:
    """Every step that a runner takes: of the workflow for users, of our own ones, of the action."""
    own = [step for workflow in own_workflows().values() for step in steps_of(workflow)]
    return [*steps_of(users_workflow()), *own, *action()["runs"]["steps"]]


def script_lines() -> list[str]:
    return [line.strip() for step in all_steps() for line in str(step.get("run", "")).splitlines()]


def commands() -> list[str]:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    lines = [line for line in script_lines() if line.startswith("kpt ")]
    return [*lines, *(" ".join([hook["entry"], *hook["args"]]) for hook in hooks)]


def test_the_workflow_for_users_has_the_shape_of_one() -> None:
    workflow = users_workflow()
    assert workflow[True] == ["pull_request"]  # YAML 1.1 reads the key `on` as true
    steps = workflow["jobs"]["scan"]["steps"]
    upload = next(step for step in steps if "upload-sarif" in str(step.get("uses")))
    assert any(f"> {upload['with']['sarif_file']}" in str(step.get("run")) for step in steps)
    # Only the job that uploads may write, and only there.
    assert workflow["permissions"] == {"contents": "read"}
    allowed = {name: job.get("permissions", {}) for name, job in workflow["jobs"].items()}
    assert [name for name, given in allowed.items() if "write" in given.values()] == ["scan"]
    assert allowed["scan"] == {"contents": "read", "security-events": "write"}
    lines = [str(step.get("run", "")) for step in steps_of(workflow)]
    assert any("kpt verify" in line and "--base" in line for line in lines)
    assert any("kpt emulate" in line for line in lines)


def test_every_step_uses_or_runs() -> None:
    assert all(("uses" in step) != ("run" in step) for step in all_steps())


def test_actions_are_pinned_to_a_release() -> None:
    used = [step["uses"] for step in all_steps() if "uses" in step]
    assert used and all(re.fullmatch(r"[\w.-]+/[\w./-]+@(v\d+|release/v\d+)", name) for name in used)


def test_hooks_in_the_page_are_there() -> None:
    known = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    shown = [hook["id"] for block in blocks() for repo in block.get("repos", []) for hook in repo["hooks"]]
    assert sorted(shown) == sorted(known)
    assert "porting branches only" in known["kpt-isolation"]["name"]


def test_our_own_workflows() -> None:
    workflows = own_workflows()
    ci, release = workflows["ci.yml"], workflows["release.yml"]
    assert ci["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.10", "3.11", "3.12", "3.13", "3.14"]
    classifiers = read_toml(ROOT / "pyproject.toml")["project"]["classifiers"]
    said = [text.rpartition(" :: ")[2] for text in classifiers if re.search(r":: 3\.\d+$", text)]
    assert said == ci["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert release[True] == {"push": {"tags": ["v*"]}}
    publish = release["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"} and publish["environment"] == "pypi"
    assert publish["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert not re.search(r"secrets\.|password", (ROOT / ".github/workflows/release.yml").read_text().split("name:")[1])
    # What builds is not what may publish.
    assert "permissions" not in release["jobs"]["build"] and release["permissions"] == {"contents": "read"}


def test_every_make_target_and_script_of_a_workflow_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line.split() for line in script_lines()]
    made = {word for line in lines if line[:1] == ["make"] for word in line[1:]}
    assert made and made <= targets
    scripts = {word for line in lines for word in line if word.startswith("scripts/")}
    assert scripts and all((ROOT / script).is_file() for script in scripts)


def test_the_hooks_and_the_action_have_what_is_required() -> None:
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert hook["language"] == "python"
    assert action()["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in action()["runs"]["steps"] if "run" in step)
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(action()["inputs"])


def test_no_input_becomes_text_of_a_script() -> None:
    """`${{ inputs.base }}` in a script is pasted before the shell reads it: a branch called `$(x)` would run."""
    for step in action()["runs"]["steps"]:
        script = str(step.get("run", ""))
        assert "${{" not in script
        variables = set(re.findall(r"\$\{(\w+)\}", script))
        assert variables - {"GITHUB_ACTION_PATH"} <= set(step.get("env", {}))
        # In quotes, and behind `=` or `--`: what begins with a dash is no option.
        safe = re.findall(r'(?:=|-- |install |matcher::)"?\$\{\w+\}', script)
        assert len(safe) == script.count("${")


def test_the_action_installs_its_own_checkout() -> None:
    (install,) = [step["run"] for step in action()["runs"]["steps"] if "pip" in str(step.get("run", ""))]
    assert install == 'pip install "${GITHUB_ACTION_PATH}[toolchain,report]"'


def test_a_crash_is_not_taken_for_findings() -> None:
    """The only status that a step may accept besides success is 1."""
    for step in all_steps():
        accepted = re.findall(r"\|\|\s*(.+)", str(step.get("run", "")))
        assert set(accepted) <= {"test $? -eq 1"}
        assert "continue-on-error" not in step
    assert action()["inputs"]["no-run"]["default"] == "true"


@pytest.mark.parametrize("line", commands())
def test_every_command_is_one_that_kpt_takes(line: str) -> None:
    plain = re.sub(r"\$\{\w+\}", "x", line.replace("${KPT_REQUIRE}", "build"))
    words = shlex.split(re.split(r"\s(?:>|\|\|)\s", plain)[0])
    assert words[0] == "kpt"
    parser_for(words[1]).parse_args(words[2:])
