"""Break the NVIDIA path of ported fixtures in many small ways: the isolation check must catch every one.

The fixtures of the rules are ported; then one token on the NVIDIA side is changed, dropped or added. A mutant that
still counts as proven would be a hole in the proof.
"""

from __future__ import annotations

import ast
import random
import re

import pytest

from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.verify.isolation import Isolation, compare_file
from tests.port.rules import fixture_files
from tests.port.rules.fixture_files import Fixture

GATE = b"#if defined(USE_ROCM)"
PER_FIXTURE = 4
# Its code stands inside a ROCm conditional of the user's own: a mutant there never reaches NVIDIA, and is no mutant.
INSIDE_ROCM_ALREADY = {"KP309"}
_CODE = re.compile(rb"[A-Za-z_]\w*|\d+")


def gated_cxx() -> list[tuple[Fixture, bytes, bytes]]:
    found = []
    for fixture in fixture_files.fixtures():
        if fixture.is_compiled_source and fixture.code not in INSIDE_ROCM_ALREADY:
            src = fixture_files.read(fixture.source)
            options = HipifyOptions(layout="torch-extension", rules=(fixture.code,))
            after = hipify_file(src, unit_of(src), options).after
            if GATE in after:
                found.append((fixture, src.data, after))
    return found


def gated_python() -> list[tuple[Fixture, bytes, bytes]]:
    found = []
    for fixture in fixture_files.fixtures():
        src = fixture_files.read(fixture.source)
        if src.language == "python":
            after = fixture_files.result_of(fixture, src)
            if after != src.data:
                found.append((fixture, src.data, after))
    return found


def nvidia_words(after: bytes) -> list[re.Match[bytes]]:
    """Words in the #else branches of the gates, comments left out. Shims have conditionals of their own in a gate."""
    words: list[re.Match[bytes]] = []
    at = 0
    gates: list[bool] = []  # of each open conditional
    sides: list[bool] = []  # whether its NVIDIA side has begun
    for line in after.splitlines(keepends=True):
        text = line.strip()
        if text.startswith(b"#if"):
            gates.append(text.startswith(GATE))
            sides.append(False)
        elif text.startswith(b"#endif") and gates:
            gates.pop()
            sides.pop()
        elif text == b"#else" and gates:
            sides[-1] = gates[-1]
        elif any(sides) and b"//" not in line and b"/*" not in line and b'"' not in line and not text.startswith(b"#"):
            words += list(_CODE.finditer(after, at, at + len(line)))
        at += len(line)
    return words


def mutate(data: bytes, word: re.Match[bytes], kind: int) -> bytes:
    text = word.group()
    if kind == 0:
        new = b"%d" % (int(text) + 1) if text.isdigit() and not text.startswith(b"0") else text + b"_"
    elif kind == 1:
        new = b""
    elif kind == 2:
        new = text + b" x"
    else:
        new = text + b" " + text
    return data[: word.start()] + new + data[word.end() :]


CXX = gated_cxx()
PYTHON = gated_python()


@pytest.mark.parametrize(("fixture", "before", "after"), CXX, ids=[item[0].folder.name for item in CXX])
def test_every_mutant_of_a_cxx_fixture_is_caught(fixture: Fixture, before: bytes, after: bytes) -> None:
    assert compare_file("a.cu", before, after).verdict is Isolation.PROVEN
    words = nvidia_words(after)
    chooser = random.Random(fixture.code)
    for kind in range(PER_FIXTURE):
        if not words:
            return
        mutant = mutate(after, chooser.choice(words), kind)
        assert compare_file("a.cu", before, mutant).verdict in (Isolation.CHANGED, Isolation.NOT_PROVEN), (
            mutant.decode()
        )


@pytest.mark.parametrize(("fixture", "before", "after"), PYTHON, ids=[item[0].folder.name for item in PYTHON])
def test_every_mutant_of_a_python_fixture_is_caught(fixture: Fixture, before: bytes, after: bytes) -> None:
    """The other way round: the original is changed, so what the port keeps of it must not match."""
    assert compare_file("a.py", before, after).verdict is Isolation.PROVEN
    chooser = random.Random(fixture.code)
    for kind in range(PER_FIXTURE):
        tree = ast.parse(before)
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings are no code
        kinds = (ast.Constant, ast.Attribute, ast.Call)
        nodes = [node for node in ast.walk(tree) if isinstance(node, kinds) and id(node) not in prose]
        node = chooser.choice(nodes)
        if isinstance(node, ast.Constant):
            node.value = f"{node.value}?" if isinstance(node.value, str) else 987654321
        elif isinstance(node, ast.Attribute):
            node.attr += "_"
        else:
            node.keywords.append(ast.keyword("added", ast.Constant(kind)))
        mutant = ast.unparse(ast.fix_missing_locations(tree)).encode()
        assert compare_file("a.py", mutant, after).verdict in (Isolation.CHANGED, Isolation.NOT_PROVEN), mutant.decode()


def test_there_are_enough_of_them() -> None:
    assert sum(PER_FIXTURE for _, _, after in CXX if nvidia_words(after)) + PER_FIXTURE * len(PYTHON) >= 50
