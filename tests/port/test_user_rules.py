"""Rules of the user's own: what they find, what they write, that it runs on both sides, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.source import source_file
from kernel_pytorch.port.user_rules import UserRule, load_user_rules
from kernel_pytorch.verify.isolation import Isolation, compare_file

RENAME = UserRule("U101", "rename", "house.ops.gelu", "house_rocm.ops.fast_gelu")
RENAME_MODULE = UserRule("U102", "rename", "house", "house_rocm")
GUARD_IMPORT = UserRule("U103", "guard-import", "house.nvtools")
GUARD_CALL = UserRule("U104", "guard-call", "house.ops.prefetch", why="there is no such cache")
REPLACE = UserRule(
    "U105", "replace-call", "house.ops.attend", "house_rocm.ops.attention", (("causal", "is_causal"), ("drop", None))
)


def port(text: str, *rules: UserRule, unsafe: bool = False) -> tuple[str, tuple[Finding, ...]]:
    """The ported text, its NVIDIA path proven and a second port a no-op, and the findings."""
    options = PortOptions(select=("U",), user_rules=rules, unsafe=unsafe)
    done = port_plain_file(source_file("app/model.py", text.encode()), options)
    after = done.patch.after if done.patch else text.encode()
    assert compare_file("app/model.py", text.encode(), after).verdict in (Isolation.PROVEN, Isolation.IDENTICAL)
    again = port_plain_file(source_file("app/model.py", after), options)
    assert again.patch is None, again.patch.after.decode()
    return after.decode(), done.findings


def run(text: str, monkeypatch: pytest.MonkeyPatch, hip: str | None) -> dict[str, Any]:
    """What the code binds, with house libraries that say who was called and with what."""

    def teller(name: str) -> Any:
        return lambda *args, **kwargs: (name, args, kwargs)

    modules = {name: ModuleType(name) for name in ("torch", "house", "house.ops", "house_rocm", "house_rocm.ops")}
    modules["torch"].version = SimpleNamespace(hip=hip, cuda=None if hip else "13")  # type: ignore[attr-defined]
    for root in ("house", "house_rocm"):
        ops = modules[f"{root}.ops"]
        modules[root].ops = ops  # type: ignore[attr-defined]
        for name in ("gelu", "fast_gelu", "attend", "attention", "prefetch", "other"):
            setattr(ops, name, teller(f"{root}.{name}"))
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    names: dict[str, Any] = {}
    exec(compile(text, "model.py", "exec"), names)
    return names


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """`out` on NVIDIA and on ROCm."""
    return run(text, monkeypatch, None)["out"], run(text, monkeypatch, "6.4")["out"]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nfrom house.ops import gelu\n\nout = gelu(1)\n",
        "import torch\nfrom house.ops import other, gelu as g  # fast\n\nout = g(other and 1)\n",
        "import torch\nimport house.ops\n\nout = house.ops.gelu(1)\n",
        "import torch\nimport house.ops as o\n\nout = list(map(o.gelu, [1]))[0]\n",
        "import torch\nfrom house import ops\n\n\ndef f(x):\n    return ops.gelu(x)\n\n\nout = f(1)\n",
        "import torch\n\n\ndef f(x):\n\tfrom house.ops import gelu\n\treturn gelu(x)\n\n\nout = f(1)\n",
    ],
)
def test_rename(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    after, (finding,) = port(text, RENAME)
    assert finding.code == "U101"
    assert finding.message == "house.ops.gelu is house_rocm.ops.fast_gelu on ROCm"
    nvidia, rocm = both(after, monkeypatch)
    assert nvidia == ("house.gelu", (1,), {})
    assert rocm == ("house_rocm.fast_gelu", (1,), {})


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nimport house\n\nout = house.ops.gelu(1)\n",
        "import torch\nimport house.ops\n\nout = house.ops.gelu(1)\n",
        "import torch\nimport house.ops as o\n\nout = o.gelu(1)\n",
        "import torch\nfrom house.ops import gelu\n\nout = gelu(1)\n",
        "import torch\nfrom house import ops\n\nout = ops.gelu(1)\n",
        "import torch\nfrom house.ops import *\n\nout = gelu(1)\n",
    ],
)
def test_rename_of_a_whole_module(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    after, _ = port(text, RENAME_MODULE)
    nvidia, rocm = both(after, monkeypatch)
    assert (nvidia[0], rocm[0]) == ("house.gelu", "house_rocm.gelu")


def test_rename_leaves_other_things_alone() -> None:
    text = '"""house.ops.gelu"""\nimport torch\nfrom mouse.ops import gelu\n\nx = gelu("house.ops.gelu")  # house.ops\n'
    assert port(text, RENAME) == (text, ())
    shadowed = "import torch\nimport house.ops\n\n\ndef f(house):\n    return house.ops.gelu\n"
    assert port(shadowed, RENAME) == (shadowed, ())


def test_rename_of_several_places_is_one_finding() -> None:
    text = "import torch\nimport house.ops\n\na = house.ops.gelu\nb = house.ops.gelu\n"
    after, (finding,) = port(text, RENAME)
    assert finding.message.endswith("(2 places)")
    assert after.count("house_rocm.ops.fast_gelu if IS_ROCM else house.ops.gelu") == 2
    assert after.count("import house_rocm.ops") == 1


def test_what_cannot_be_renamed_is_for_a_person() -> None:
    text = "import torch\nimport house.ops\n\nhouse.ops.gelu = None\n"
    after, (finding,) = port(text, RENAME)
    assert after == text
    assert finding.safety is Safety.MANUAL
    assert "it is assigned to" in finding.message
    taken = "import torch\nimport house.ops\n\nhouse_rocm = 1\nx = house.ops.gelu\n"
    assert "the name house_rocm means something else here" in port(taken, RENAME)[1][0].message


def test_guarded_import_and_its_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import torch\nimport os, house.nvtools as nv\n\nout = os.sep\nif out == 'never':\n    nv.mark()\n"
    after, (imported, used) = port(text, GUARD_IMPORT)
    assert "if IS_ROCM:\n    import os\nelse:\n    import os, house.nvtools as nv\n" in after
    assert imported.edits and not used.edits
    assert (used.line, used.message) == (6, "house.nvtools is not imported on ROCm, and used here: guard the use too")
    assert run(after, monkeypatch, "6.4")["out"] == "/"


def test_a_guarded_call_covers_the_use_of_a_guarded_import() -> None:
    text = "import torch\nfrom house import nvtools\n\nnvtools.mark(1)\n"
    after, findings = port(text, GUARD_IMPORT, UserRule("U106", "guard-call", "house.nvtools.mark"))
    assert [finding.code for finding in findings] == ["U103", "U106"]
    assert after.endswith("if not IS_ROCM:\n    nvtools.mark(1)\n")
    assert "if not IS_ROCM:\n    from house import nvtools\n" in after


def test_guarded_call(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import torch\nfrom house.ops import prefetch\n\nprefetch(1)\nout = prefetch(2)\n"
    after, (statement, value) = port(text, GUARD_CALL)
    assert statement.message == "house.ops.prefetch is not called on ROCm: there is no such cache"
    assert "not rewritten: its value is used" in value.message
    assert "if not IS_ROCM:\n    prefetch(1)\nout = prefetch(2)\n" in after


@pytest.mark.parametrize(
    ("call", "on_nvidia", "on_rocm"),
    [
        ("attend(1, 2)", ((1, 2), {}), ((1, 2), {})),
        ("attend(1, causal=True)", ((1,), {"causal": True}), ((1,), {"is_causal": True})),
        (
            "attend(\n    1,  # one\n    drop=0.1,\n    scale=(2),\n)",
            ((1,), {"drop": 0.1, "scale": 2}),
            ((1,), {"scale": 2}),
        ),
        ("attend(*[1], causal=(y := 3))", ((1,), {"causal": 3}), ((1,), {"is_causal": 3})),
        ("attend(causal=1) and attend(drop=1, causal=2)", ((), {"drop": 1, "causal": 2}), ((), {"is_causal": 2})),
    ],
)
def test_replaced_call(call: str, on_nvidia: object, on_rocm: object, monkeypatch: pytest.MonkeyPatch) -> None:
    after, _ = port(f"import torch\nfrom house.ops import attend\n\nout = {call}\n", REPLACE)
    nvidia, rocm = both(after, monkeypatch)
    assert nvidia == ("house.attend", *on_nvidia)  # type: ignore[misc]
    assert rocm == ("house_rocm.attention", *on_rocm)  # type: ignore[misc]


def test_a_call_inside_a_replaced_call(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import torch\nfrom house.ops import attend\n\nout = attend([attend(1, causal=2)], causal=attend(3))\n"
    after, _ = port(text, REPLACE)
    nvidia, rocm = both(after, monkeypatch)
    assert nvidia == (
        "house.attend",
        ([("house.attend", (1,), {"causal": 2})],),
        {"causal": ("house.attend", (3,), {})},
    )
    inner = ("house_rocm.attention", (1,), {"is_causal": 2})
    assert rocm == ("house_rocm.attention", ([inner],), {"is_causal": ("house_rocm.attention", (3,), {})})


def test_keywords_that_cannot_be_seen_are_for_a_person() -> None:
    text = "import torch\nfrom house.ops import attend\n\nout = attend(1, **options)\n"
    after, (finding,) = port(text, REPLACE)
    assert after == text
    assert "**keywords may hold one that is renamed" in finding.message


def test_review_is_held_unless_asked_for() -> None:
    rule = UserRule("U101", "rename", "house.ops.gelu", "house_rocm.gelu", safety=Safety.REVIEW)
    text = "import torch\nfrom house.ops import gelu\n"
    assert port(text, rule)[0] == text
    assert "from house_rocm import gelu" in port(text, rule, unsafe=True)[0]


def test_a_rule_can_be_silenced_and_deselected() -> None:
    text = "import torch\nfrom house.ops import gelu  # kpt: ignore[U101] measured\n"
    assert port(text, RENAME) == (text, ())
    src = source_file("m.py", b"import torch\nfrom house.ops import gelu\n")
    assert port_plain_file(src, PortOptions(ignore=("U1",), user_rules=(RENAME,))).findings == ()


YAML = """\
rules:
  - code: U101
    kind: rename
    from: house.ops.gelu
    to: house_rocm.ops.fast_gelu
  - {code: U103, kind: guard, import: house.nvtools}
  - {code: U104, kind: guard, call: house.ops.prefetch, why: there is no such cache}
  - code: U105
    kind: replace-call
    from: house.ops.attend
    to: house_rocm.ops.attention
    keywords: {causal: is_causal, drop: null}
    safety: safe
"""


def test_yaml(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(YAML)
    assert load_user_rules([tmp_path / "rules.yaml"]) == (RENAME, GUARD_IMPORT, GUARD_CALL, REPLACE)


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("", 1, "empty"),
        ("- a\n", 1, "a rules file is a list under `rules:`"),
        ("rules: {}\n", 1, "`rules:` is a list"),
        ("rules:\n  - code: [\n", 3, "not valid YAML"),
        ("rules:\n  - text\n", 2, "a rule is a table"),
        ("rule: []\n", 1, "no key 'rule'; did you mean rules?"),
        ("rules:\n  - {kind: rename}\n", 2, "the rule has no `code`"),
        ("rules:\n  - code: KP601\n    kind: rename\n", 2, "U and three digits"),
        ("rules:\n  - code: U101\n    kind: renam\n", 3, "no kind 'renam'; did you mean rename?"),
        ("rules:\n  - code: U101\n    kind: rename\n    form: a\n", 4, "no key 'form'; did you mean from?"),
        ("rules:\n  - code: U101\n    kind: rename\n    call: a\n", 4, "a rename rule has no `call`"),
        ("rules:\n  - code: U101\n    kind: rename\n    from: a b\n    to: c\n", 4, "not a dotted Python name"),
        ("rules:\n  - code: U101\n    kind: rename\n    from: a\n    to: a\n", 5, "are both a"),
        ("rules:\n  - code: U101\n    kind: rename\n    from: a\n    to:\n", 5, "`to` is a piece of text"),
        ("rules:\n  - code: U101\n    kind: guard\n    import: a\n    call: b\n", 2, "names one thing"),
        ("rules:\n  - code: U101\n    kind: replace-call\n    from: a.b\n    to: c\n", 5, "names no module"),
        ("rules:\n  - code: U101\n    code: U102\n", 3, "given twice"),
        (
            "rules:\n  - code: U101\n    kind: replace-call\n    from: a.b\n    to: c.d\n    keywords: {x: 1y}\n",
            6,
            "'1y' is not a name",
        ),
        (
            "rules:\n  - {code: U101, kind: guard, call: a}\n  - {code: U101, kind: guard, call: b}\n",
            3,
            "U101 is taken",
        ),
        ("rules:\n  - {code: U101, kind: guard, call: a, safety: sure}\n", 2, "safe or review"),
    ],
)
def test_refused_yaml(tmp_path: Path, text: str, line: int, fact: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        load_user_rules([file])
    assert str(refused.value).startswith(f"{file}:{line}: ")
    assert fact in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.yaml: cannot be read"):
        load_user_rules([tmp_path / "absent.yaml"])
