"""The skills: complete, filled in, and every command in them is one that kpt takes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kernel_pytorch.cli.main import main, parser_for, verb_summaries
from kernel_pytorch.core.hardware import targets
from kernel_pytorch.core.pages import all_pages
from kernel_pytorch.report.skill import SKILLS, render

FILES = {path: text for skill in SKILLS for path, text in render(skill, verb_summaries()).items()}
# What stands for a thing of the reader's, and may stand in a command as it is.
STAND_INS = {"CODE": "KP301", "FILE": "kernel.hip", "VERB": "scan"}


def commands(text: str) -> Iterator[str]:
    """Inline code and lines of code blocks that begin with `kpt`."""
    yield from (found for found in re.findall(r"`(kpt [^`]+)`", text.replace("\n", " ")) if "..." not in found)
    for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", text, re.DOTALL):
        yield from (
            line.removeprefix("$ ") for line in block.splitlines() if line.removeprefix("$ ").startswith("kpt ")
        )


COMMANDS = sorted({command for text in FILES.values() for command in commands(text)})


def test_there_are_commands_to_check() -> None:
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_parses(command: str) -> None:
    words = [STAND_INS.get(word, word) for word in shlex.split(command)]
    assert words[1] in verb_summaries(), command
    if len(words) > 2:
        parser_for(words[1]).parse_args(words[2:])


@pytest.mark.parametrize("skill", SKILLS.values())
def test_front_matter_and_references(skill: str) -> None:
    text = FILES[f"{skill}/SKILL.md"]
    _, front, body = text.split("---\n", 2)
    fields = yaml.safe_load(front)
    assert fields["name"] == skill
    assert re.fullmatch(r"[a-z0-9-]{1,64}", skill)
    assert 50 < len(fields["description"]) < 1024
    assert len(body.splitlines()) < 500
    named = set(re.findall(r"references/[\w-]+\.md", body))
    there = {path.removeprefix(f"{skill}/") for path in FILES if path.startswith(f"{skill}/references/")}
    assert named == there


def test_nothing_is_left_to_fill_in_and_codes_exist() -> None:
    for path, text in FILES.items():
        assert "{{" not in text, path
        unknown = set(re.findall(r"\bKP\d{3}\b", text)) - all_pages().keys()
        assert not unknown, f"{path}: {unknown}"


def test_generated_parts_are_the_codes_own() -> None:
    codes = FILES["amd-rocm-porting/references/codes.md"]
    assert all(f"| {code} |" in codes for code in all_pages())
    hardware = FILES["amd-kernel-optimization/references/hardware.md"]
    assert all(f"| {one.name} | {one.arch} | {one.wave_size} |" in hardware for one in targets("amd"))
    assert all(f"`kpt {verb}`" in FILES["amd-rocm-porting/SKILL.md"] for verb in verb_summaries())


def test_what_does_not_hold_is_not_taught() -> None:
    """Claims that are widely copied and wrong; the skills may only name them to correct them."""
    everything = "\n".join(FILES.values())
    for claim in ("export HIP_CACHE_ENABLED", "wavefronts are 64-wide", "AttributeError", "= _safe_preserve"):
        assert claim not in everything


def test_writes_keeps_and_replaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skill", "port", "--out", str(tmp_path), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    skill = tmp_path / "amd-rocm-porting" / "SKILL.md"
    assert str(skill) in written
    assert skill.read_text() == FILES["amd-rocm-porting/SKILL.md"]
    assert main(["skill", "port", "--out", str(tmp_path)]) == 0  # the same again changes nothing
    skill.write_text("mine\n")
    assert main(["skill", "port", "--out", str(tmp_path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert skill.read_text() == "mine\n"
    assert main(["skill", "port", "--out", str(tmp_path), "--force"]) == 0
    assert skill.read_text() != "mine\n"


def test_print_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["skill", "optimize", "--print"]) == 0
    assert capsys.readouterr().out.startswith("---\nname: amd-kernel-optimization\n")
    assert list(tmp_path.iterdir()) == []
