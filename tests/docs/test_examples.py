"""The examples in the documentation do what the pages show."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from examples import demo
from kernel_pytorch.cli.main import parser_for, verb_summaries
from tests.docs.blocks import ROOT, RUN, Block, Command, blocks, commands, first_missing, pages, statuses

ALL = [block for page in pages() for block in blocks(page) if block.language in RUN]
WITH_BLOCKS = sorted({block.page for block in ALL if not block.skip})
SAMPLES = ("examples",)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    for name in SAMPLES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """`kpt` and `python` are the ones under test."""
    tools = folder / ".bin"
    tools.mkdir(exist_ok=True)
    kpt = tools / "kpt"
    kpt.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernel_pytorch "$@"\n')
    kpt.chmod(0o755)
    (tools / "python").unlink(missing_ok=True)
    (tools / "python").symlink_to(sys.executable)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    ours = {"PATH": path, "PYTHONPATH": str(ROOT / "src"), "ROOT": str(ROOT), "COLUMNS": "160", "NO_COLOR": "1"}
    return {**os.environ, **ours}


def run_page(page: str, folder: Path, *, slow: bool) -> int:
    """Runs the blocks of a page in order; gives back how many ran. In the quick run slow ones are passed over."""
    env = environment(folder)
    chosen = [block for block in ALL if block.page == page and not block.skip and (slow or not block.slow)]
    script: list[Block] = []
    for block in chosen:
        if block.given:
            name, _, source = block.given.partition(" = ")
            shutil.copy(ROOT / source, folder / name)
        if block.file:
            (folder / block.file).write_text(block.text)
        if block.language == "python":
            script.append(block)
            continue
        run_python(script, folder, env)
        script = []
        run_shell(block, folder, env)
    run_python(script, folder, env)
    return len(chosen)


def run_shell(block: Block, folder: Path, env: dict[str, str]) -> None:
    listed = commands(block) if block.language == "console" else [Command(block.text, ())]
    if block.setup:
        subprocess.run(["bash", "-ec", block.setup], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    for command, expected in zip(listed, statuses(block, listed), strict=True):
        done = subprocess.run(
            ["bash", "-ec", command.text], cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900,
        )  # fmt: skip
        assert done.returncode in expected, f"{block}: $ {command.text}\nended with {done.returncode}\n{done.stdout}"
        missing = first_missing(command.shown, done.stdout)
        assert missing is None, f"{block}: $ {command.text}\ndoes not print: {missing}\nbut:\n{done.stdout}"


def run_python(script: list[Block], folder: Path, env: dict[str, str]) -> None:
    """The Python blocks between two console blocks are one program: a later one uses the names of an earlier one."""
    if not script:
        return
    lines = ["import linecache, sys", "space = {'__name__': '__main__'}"]
    for block in script:
        text = "\n" * block.line + textwrap.dedent(block.text)
        lines.append(f"exec({block.setup!r}, space)")
        # Triton and inspect look a function's source up by the name of its file.
        lines.append(f"linecache.cache[{str(block)!r}] = (0, None, {text.splitlines(keepends=True)!r}, {str(block)!r})")
        lines.append(f"exec(compile({text!r}, {str(block)!r}, 'exec'), space)")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=folder, env=env, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, f"{script[0]}:\n{done.stderr}"


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_page(page: str, samples: Path) -> None:
    run_page(page, samples, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in WITH_BLOCKS if any(b.slow for b in ALL if b.page == page)])
def test_page_with_its_slow_parts(page: str, samples: Path) -> None:
    assert run_page(page, samples, slow=True)


@pytest.mark.parametrize("block", [block for block in ALL if block.skip], ids=str)
def test_what_is_not_run_is_at_least_well_formed(block: Block) -> None:
    if block.language == "python":
        ast.parse(textwrap.dedent(block.text))
        return
    listed = [command.text for command in commands(block)] if block.language == "console" else block.text.splitlines()
    for text in listed:
        parses(text)


def usages() -> list[str]:
    """Lines with `kpt` in plain blocks: lists of ways to call a verb, with remarks two spaces apart."""
    found = set()
    for page in pages():
        for block in blocks(page):
            if block.language in ("", "text"):
                lines = (line.removeprefix("$ ").strip() for line in block.text.splitlines())
                found |= {re.split(r"\s{2,}", line)[0] for line in lines if line.startswith("kpt ")}
    return sorted(line for line in found if not re.search(r"[|\[]|\.\.\.|^kpt VERB", line))


@pytest.mark.parametrize("line", usages())
def test_every_listed_usage_is_one_that_kpt_takes(line: str) -> None:
    parses(line)


def parses(line: str) -> None:
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"\w+=\S*", words[0]):  # a variable for this command
        words.pop(0)
    if not words or words[0] != "kpt":
        return
    words = words[: next((at for at, word in enumerate(words) if word in (">", "|", "||", "&&")), len(words))]
    assert words[1] in verb_summaries(), line
    parser_for(words[1]).parse_args(words[2:])


def spoken(page: Path) -> list[str]:
    """Commands within sentences and tables; those with a placeholder for several things are left out."""
    text = re.sub(r"^```.*?^```[ \t]*$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = {" ".join(line.split()) for line in re.findall(r"`(kpt [a-z][^`]*)`", text)}
    return sorted(line for line in found if not re.search(r"[|\[<]|\.\.\.", line))


@pytest.mark.parametrize("page", [page for page in pages() if spoken(page)], ids=lambda page: page.stem)
def test_commands_within_sentences_are_ones_that_kpt_takes(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in spoken(page):
        try:
            parses(line)
        except SystemExit:  # a sentence may leave the path out; an option that is not there is wrong
            assert "the following arguments are required" in capsys.readouterr().err, line


def test_every_step_of_the_demo_is_one_that_kpt_takes() -> None:
    for step in demo.STEPS:
        parses(shlex.join(["kpt", *step.arguments]))
    asked = [line.split("  ")[1] for line in demo.ENDING.splitlines() if line.startswith(f"  {demo.KPT}")]
    assert len(asked) == 3
    for line in asked:
        parses(line.replace(str(demo.KPT), "kpt"))


def test_there_is_something_to_run() -> None:
    assert len([block for block in ALL if not block.skip]) > 20
    assert len(usages()) > 30


@pytest.mark.parametrize(
    ("shown", "output", "missing"),
    [
        (("a b", "...", "c"), "x\na   b\ny\nc\n", None),
        (("a ... z",), "a then z\n", None),
        (("c", "a"), "a\nc\n", "a"),
        (("a",), "ab\n", "a"),
    ],
)
def test_the_comparison_can_fail(shown: tuple[str, ...], output: str, missing: str | None) -> None:
    assert first_missing(shown, output) == missing


def test_every_command_of_a_block_may_have_a_status_of_its_own() -> None:
    page = ROOT / "docs" / "made-up.md"
    for mark, expected in (("1", [(0,), (1,)]), ("any", [(0,), (0, 1)]), ("any 2", [(0, 1), (2,)])):
        text = f"<!-- exit: {mark} -->\n<!-- with: PATH = mine -->\n```console\n$ kpt scan PATH\n$ kpt port PATH\n```\n"
        (block,) = blocks(page, text)
        assert [command.text for command in commands(block)] == ["kpt scan mine", "kpt port mine"]
        assert statuses(block, commands(block)) == expected


def test_a_wrong_example_is_noticed(tmp_path: Path) -> None:
    page = ROOT / "docs" / "made-up.md"
    for text in (
        "```console\n$ kpt explain KP303\nno such line\n```\n",
        "```console\n$ kpt explain KP999\n```\n",
        "<!-- exit: 1 -->\n```console\n$ kpt --version\n```\n",
    ):
        (block,) = blocks(page, text)
        with pytest.raises(AssertionError, match="made-up"):
            run_shell(block, tmp_path, environment(tmp_path))
    (block,) = blocks(page, "```python\nassert undefined\n```\n")
    with pytest.raises(AssertionError, match="undefined"):
        run_python([block], tmp_path, environment(tmp_path))
    with pytest.raises(AssertionError, match="without a reason"):
        blocks(page, "<!-- skip: -->\n```python\n```\n")
