"""`kpt scan` and `kpt port` on small projects, end to end."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

KERNEL = """\
#include <cuda_runtime.h>
#include "lanes.cuh"

__global__ void sum(float* values) {
  values[threadIdx.x] = warp_sum(values[threadIdx.x]);
}
int launch(float* values) {
  sum<<<1, 64>>>(values);
  return cudaDeviceSynchronize() == cudaSuccess;
}
"""
HEADER = """\
#pragma once
__device__ inline float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset >>= 1)
    v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}
"""
MODEL = """\
import torch


def build(model):
    return torch.compile(model, mode="reduce-overhead")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in {
        "kernels/sum.cu": KERNEL,
        "kernels/lanes.cuh": HEADER,
        "model.py": MODEL,
        "third_party/other.cu": KERNEL,
        "README.md": "text",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def texts(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_scan(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = texts(project)
    assert main(["scan", str(project)]) == 1
    said = capsys.readouterr()
    assert "kernels/lanes.cuh:4:10: KP301" in said.out
    assert "model.py:5:38: KP601" in said.out
    assert "third_party" not in said.out
    assert "left alone: third_party" in said.err
    assert "6 torch.compile" in said.err and "phase 6" not in said.err
    assert "hours" not in said.err  # nothing is left for a person
    assert main(["scan", str(project), "-v"]) == 1
    assert "phase 6 torch.compile             yes" in capsys.readouterr().err
    assert texts(project) == before


def test_one_of_a_thing_is_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    main(["scan", str(tmp_path), "--select", "KP601", "-v"])
    said = capsys.readouterr().err
    assert "1 file looked at, 1 finding\n" in said and "torch.compile in 1 file, 1 place to look at" in said


def test_a_copied_helper_header_of_nvidias_takes_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guards = "".join(f"#ifdef {name}\nint f{name}();\n#endif\n" for name in ("_CUFFT_H_", "CUSPARSEAPI", "CURAND_H_"))
    for name in ("helper_cuda.h", "own.h"):
        (tmp_path / name).write_text(f"#include <cuda_runtime.h>\n{guards}")
    main(["scan", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    (helper,) = [line for line in lines if line.startswith("helper_cuda.h")]
    assert helper == "helper_cuda.h: NVIDIA's helper header, 3 findings: KP277 3 [3 automatic]"
    assert sum(line.startswith("own.h:") for line in lines) == 3


def test_scan_json_and_sarif(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(project), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {finding["code"] for finding in document["findings"]} >= {"KP301", "KP601"}
    assert {finding["action"] for finding in document["findings"]} == {"automatic"}
    assert document["effort"]["person"] == 0
    assert [phase["applies"] for phase in document["phases"] if phase["number"] == 7] == [False]
    assert main(["scan", str(project), "--sarif", "--select", "KP6"]) == 1
    log = json.loads(capsys.readouterr().out)
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["KP601"]
    assert log["runs"][0]["tool"]["driver"]["rules"][0]["shortDescription"]["text"].startswith("torch.compile")


def test_port_shows_a_diff_and_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = texts(project)
    assert main(["port", str(project), "--no-build"]) == 0
    said = capsys.readouterr()
    assert '+    return torch.compile(model, mode="default" if IS_ROCM else "reduce-overhead")' in said.out
    assert "+++ b/kernels/kpt_hip_compat.h" in said.out
    assert "proven unchanged" in said.err
    assert texts(project) == before


def test_the_diff_applies_with_patch(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("patch") is None:
        pytest.skip("no patch(1) on this machine")
    main(["port", str(project), "--no-build"])
    by_hand = tmp_path / "by_hand"
    shutil.copytree(project, by_hand)
    subprocess.run(["patch", "-p1", "-s", "-d", str(by_hand)], input=capsys.readouterr().out, text=True, check=True)
    main(["port", str(project), "--no-build", "--write"])
    assert texts(by_hand) == texts(project)


def test_write_is_isolated_and_idempotent(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = tmp_path / "original"
    shutil.copytree(project, original)
    assert main(["port", str(project), "--write", "--no-build"]) == 0
    ported = texts(project)
    assert ported != texts(original)
    assert ported["third_party/other.cu"] == KERNEL
    assert main(["verify", str(project), "--isolation", "--old", str(original)]) == 0
    capsys.readouterr()
    assert main(["port", str(project), "--write", "--no-build"]) == 0
    said = capsys.readouterr().err
    assert ": nothing to change\n" in said and "proven" not in said
    assert texts(project) == ported


def test_out_makes_a_copy(project: Path, tmp_path: Path) -> None:
    before = texts(project)
    out = tmp_path / "ported"
    assert main(["port", str(project), "--out", str(out), "--no-build", "--layout", "copy"]) == 0
    assert texts(project) == before
    ported = texts(out)
    assert "hip/hip_runtime.h" in ported["kernels/sum.hip"]
    assert "__shfl_down(v, offset, 32)" in ported["kernels/lanes.cuh"]
    assert ported["README.md"] == "text"


def test_what_was_ported_is_built(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    assert main(["port", str(project), "--arch", "gfx942"]) == 0
    assert "built for gfx942: 1, failed 0" in capsys.readouterr().err
    (project / "kernels/sum.cu").write_text(KERNEL.replace("warp_sum(values", "undefined_sum(values"))
    assert main(["port", str(project), "--arch", "gfx942", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    (check,) = document["build"]
    assert check["status"] == "fail"
    assert "undefined_sum" in check["detail"]


def test_suppressed_and_unparsable(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "model.py").write_text(
        MODEL.replace('"reduce-overhead")', '"reduce-overhead")  # kpt: ignore[KP601] measured')
    )
    (project / "broken.py").write_text("def (")
    main(["scan", str(project), "--select", "KP6,KP0"])
    said = capsys.readouterr().out
    assert "KP601" not in said
    assert "broken.py:1:1: KP001" in said
    (project / "model.py").write_text(MODEL.replace('"reduce-overhead")', '"reduce-overhead")  # kpt: ignore[KP601]'))
    main(["scan", str(project), "--select", "KP6,KP0"])
    said = capsys.readouterr().out
    assert "KP601" in said
    assert "KP004 `kpt: ignore` without a reason" in said


def test_suppressed_in_cuda(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked = HEADER.replace("offset);", "offset);  // kpt: ignore[KP301, KP310] only ever built for gfx1100")
    (project / "kernels/lanes.cuh").write_text(marked)
    main(["scan", str(project), "--select", "KP3"])
    assert "lanes.cuh" not in capsys.readouterr().out


def test_the_projects_table_and_the_command_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = '[tool.kernel_pytorch]\nselect = ["KP3"]\nexclude = ["kernels/sum.cu"]\ntargets = ["gfx90a", "gfx1100"]\n'
    (project / "pyproject.toml").write_text(table)
    main(["scan", str(project)])
    said = capsys.readouterr()
    assert "KP301" in said.out and "KP601" not in said.out
    assert "kernels/sum.cu" in said.err
    main(["scan", str(project), "--select", "KP6", "--exclude", "nothing"])
    said = capsys.readouterr()
    assert "KP601" in said.out and "KP301" not in said.out
    assert "sum.cu" not in said.err
    (project / "pyproject.toml").write_text("[tool.kernel_pytorch]\ntarget = 1\n")
    assert main(["port", str(project)]) == 2
    assert "pyproject.toml: [tool.kernel_pytorch] has no key 'target'; did you mean targets?" in capsys.readouterr().err


def test_layout_unsafe_and_targets_from_the_table(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text('[tool.kernel_pytorch]\nlayout = "torch-extension"\nunsafe = true\n')
    (project / "model.py").write_text(MODEL.replace('"reduce-overhead"', "model.mode"))  # KP602, for review
    assert main(["port", str(project), "--no-build", "--select", "KP6"]) == 0
    said = capsys.readouterr()
    assert "layout torch-extension" in said.err
    assert "if IS_ROCM else model.mode" in said.out
    assert main(["port", str(project), "--no-build", "--select", "KP6", "--no-unsafe", "--layout", "auto"]) == 1
    said = capsys.readouterr()
    assert "layout single-source" in said.err
    assert "held for a review (--unsafe applies them): 1 finding\n  " in said.err
    assert "model.py" not in said.out


def test_built_for_every_target(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    (project / "pyproject.toml").write_text('[tool.kernel_pytorch]\ntargets = ["gfx90a", "gfx1100"]\n')
    assert main(["port", str(project)]) == 0
    assert "built for gfx90a, gfx1100: 2, failed 0" in capsys.readouterr().err


HOUSE = """\
import torch
from house import fused, nvtools

nvtools.mark("start")
out = fused(1, causal=True)
"""
RULES = """\
rules:
  - {code: U101, kind: guard, import: house.nvtools}
  - {code: U102, kind: guard, call: house.nvtools.mark}
  - {code: U103, kind: replace-call, from: house.fused, to: house_rocm.fused, keywords: {causal: is_causal}}
"""


def test_rules_of_the_users_own(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "house_use.py").write_text(HOUSE)
    (project / "pyproject.toml").write_text('[tool.kernel_pytorch]\nrules = ["kpt-rules.yaml"]\nselect = ["U"]\n')
    (project / "kpt-rules.yaml").write_text(RULES)
    original = tmp_path / "original"
    shutil.copytree(project, original)
    assert main(["scan", str(project)]) == 1
    assert "house_use.py:2:1: U101 house.nvtools is not imported on ROCm [automatic]" in capsys.readouterr().out
    main(["scan", str(project), "--sarif"])
    rules = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["shortDescription"]["text"] for rule in rules][2] == "house.fused is house_rocm.fused on ROCm"
    assert main(["port", str(project), "--write", "--no-build"]) == 0  # two rules change one import: in two passes
    capsys.readouterr()
    assert main(["port", str(project), "--write", "--no-build"]) == 0
    assert ": nothing to change" in capsys.readouterr().err
    assert main(["verify", str(project), "--isolation", "--old", str(original)]) == 0
    ported = (project / "house_use.py").read_text()
    assert "house_rocm.fused(1, is_causal=True) if IS_ROCM else fused(1, causal=True)" in ported
    assert "if not IS_ROCM:\n    nvtools.mark" in ported
    (project / "kpt-rules.yaml").write_text("rules:\n  - code: U1\n")
    assert main(["scan", str(project)]) == 2
    assert "kpt-rules.yaml:2: 'U1' is not a code" in capsys.readouterr().err
    (tmp_path / "own.yaml").write_text(RULES)
    assert main(["scan", str(original), "--rules", str(tmp_path / "own.yaml"), "--select", "U102"]) == 1


def test_html(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    before = texts(project)
    page = tmp_path / "scan.html"
    assert main(["scan", str(project), "--html", str(page)]) == 1
    text = page.read_text()
    assert 'href="#KP601"' in text and 'id="KP601"' in text
    assert "third_party" in text and 'id="patches"' not in text
    page = tmp_path / "port.html"
    assert main(["port", str(project), "--html", str(page), "--no-build"]) == 0
    text = page.read_text()
    assert "not built: --no-build was given" in text
    assert '<td class="r">    return torch.compile(model, mode=&#34;default&#34; if IS_ROCM' in text
    assert '<span class="tag good">proven</span>' in text
    assert main(["port", str(project), "--write", "--no-build", "--html", str(tmp_path / "absent" / "p.html")]) == 2
    assert texts(project) == before
    assert "there is no folder" in capsys.readouterr().err


def test_compile_guard(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = tmp_path / "original"
    shutil.copytree(project, original)
    arguments = ["port", str(project), "--write", "--no-build", "--select", "KP6"]
    assert main([*arguments, "--compile-guard"]) == 0
    assert "def install()" in (project / "rocm_compile_guard.py").read_text()
    assert "call install() of rocm_compile_guard before" in capsys.readouterr().err
    assert main(["verify", str(project), "--isolation", "--old", str(original)]) == 0
    assert main([*arguments, "--compile-guard"]) == 0
    assert ": nothing to change" in capsys.readouterr().err
    (project / "src/pkg/deep").mkdir(parents=True)
    for name in ("src/pkg/__init__.py", "src/pkg/deep/__init__.py", "tests/__init__.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("")
    main([*arguments, "--compile-guard"])
    assert "call install() of pkg.rocm_compile_guard before" in capsys.readouterr().err
    assert (project / "src/pkg/rocm_compile_guard.py").is_file()


def test_dependencies_are_named_and_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["port", str(project), "--no-build", "--select", "KP6"])
    assert "kpt deps" not in capsys.readouterr().err
    (project / "requirements.txt").write_text("torch==2.7.1\n")
    main(["port", str(project), "--write", "--no-build", "--select", "KP6"])
    said = f"(requirements.txt) are not changed: `kpt deps {project} --write` makes requirements-rocm.txt"
    assert said in capsys.readouterr().err
    assert (project / "requirements.txt").read_text() == "torch==2.7.1\n"
    assert not (project / "requirements-rocm.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scan", ".", "--select", "KP6,E501"], "--select: 'E501' is not a code"),
        (["scan", ".", "--rules", "absent.yaml"], "absent.yaml: cannot be read"),
        (["port", ".", "--arch", ""], "unknown target"),
        (["scan", "absent"], "no such file or folder"),
        (["port", "absent"], "no such folder"),
        (["port", ".", "--layout", "copy", "--write"], "--out DIR"),
        (["port", ".", "--out", "."], "already exists"),
        (["port", ".", "--out", "ported"], "ported: lies inside the project"),
        (["port", ".", "--out", "new/ported"], "name a folder outside"),
        (["port", ".", "--arch", "gfx9999"], "unknown target"),
    ],
)
def test_bad_usage(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_git_ignores_is_looked_at(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The user pointed at it: an enclosing repository's .gitignore has no say."""
    around = project.parent
    subprocess.run(["git", "init", "-q", str(around)], check=True)
    (around / ".gitignore").write_text("project/\n")
    assert main(["scan", str(project), "--select", "KP6"]) == 1
    assert "model.py:5:38: KP601" in capsys.readouterr().out
    assert main(["verify", str(project), "--isolation", "--old", str(project)]) == 0
    assert "5 identical" in capsys.readouterr().err


def test_an_empty_folder_is_clean(tmp_path: Path) -> None:
    assert main(["scan", str(tmp_path)]) == 0
    assert main(["port", str(tmp_path)]) == 0


def test_a_library_is_not_ported_away_from_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """flash-attention's own tests must go on testing flash-attention."""
    root = tmp_path / "library"
    (root / "flash_attn").mkdir(parents=True)
    (root / "flash_attn" / "__init__.py").write_text("")
    (root / "tests").mkdir()
    test = "import torch\nfrom flash_attn import flash_attn_func\nflash_attn_func(1, 2, 3)\n"
    (root / "tests" / "test_it.py").write_text(test)
    assert main(["scan", str(root), "--select", "KP52"]) == 0
    (root / "flash_attn" / "__init__.py").rename(root / "flash_attn" / "other.txt")
    assert main(["scan", str(root), "--select", "KP52"]) == 1
    assert "KP520" in capsys.readouterr().out


def test_makefile_twin(project: Path, tmp_path: Path) -> None:
    makefile = "sum: kernels/sum.cu\n\tnvcc -O3 -arch=sm_80 -o $@ $<\n"
    (project / "Makefile").write_text(makefile)
    out = tmp_path / "ported"
    main(["port", str(project), "--out", str(out), "--no-build", "--layout", "copy"])
    assert (out / "Makefile").read_text() == makefile
    twin = (out / "Makefile.hip").read_text()
    assert "hipcc" in twin
    assert "kernels/sum.hip" in twin
    assert "nvcc -O3" not in twin


def test_makefile_twin_of_the_layout_that_kpt_chooses(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    makefile = "sum: kernels/sum.cu\n\tnvcc -O3 -arch=sm_80 -o $@ $<\n"
    (project / "Makefile").write_text(makefile)
    out = tmp_path / "ported"
    main(["port", str(project), "--out", str(out), "--no-build"])
    assert "layout single-source" in capsys.readouterr().err
    assert (out / "Makefile").read_text() == makefile
    twin = (out / "Makefile.hip").read_text()
    assert "sum: kernels/sum.cu\n\thipcc -DUSE_ROCM -O3 --offload-arch=$(HIP_ARCH) -o $@ $<\n" in twin
    assert main(["verify", str(out), "--isolation", "--old", str(project)]) == 0
    # A second run finds the twin and writes nothing.
    main(["port", str(out), "--write", "--no-build"])
    assert ": nothing to change" in capsys.readouterr().err


def test_a_copy_keeps_links_to_folders(tmp_path: Path) -> None:
    (tmp_path / "old" / "extensions").mkdir(parents=True)
    (tmp_path / "old" / "extensions" / "a.py").write_text("x = 1\n")
    (tmp_path / "old" / "pkg").mkdir()
    (tmp_path / "old" / "pkg" / "extensions").symlink_to("../extensions")
    main(["port", str(tmp_path / "old"), "--out", str(tmp_path / "new"), "--no-build"])
    assert (tmp_path / "new" / "pkg" / "extensions").is_symlink()
    assert (tmp_path / "new" / "pkg" / "extensions" / "a.py").read_text() == "x = 1\n"


def test_a_submodule_is_left_alone_by_name_and_copied(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """git lists a submodule as one entry, a folder."""
    module = project / "kernels/third_party/vectors"
    module.mkdir(parents=True)
    (module / "vectors.hpp").write_text("struct vec3 { float x, y, z; };\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    for folder in (module, project):
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
            subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)
    assert main(["port", str(project), "--no-build", "--out", str(project.parent / "ported")]) in (0, 1)
    assert (project.parent / "ported/kernels/third_party/vectors/vectors.hpp").is_file()
    assert not list((project.parent / "ported").rglob(".git"))
    ported = str(project.parent / "ported")
    assert main(["verify", ported, "--old", str(project), "--isolation"]) == 0
    capsys.readouterr()
    main(["scan", str(project)])
    assert "left alone: kernels/third_party, third_party" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan"])
def test_a_build_limit_is_a_number_of_seconds(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["port", str(tmp_path), f"--build-limit={text}"]) == 2
    assert f"{text} is not a number of seconds above 0" in capsys.readouterr().err


def test_a_new_file_settles_the_finding_that_promises_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scan counts it as automatic, the port leaves it to nobody, and the ported copy no longer promises it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Makefile").write_text("sum: sum.cu\n\tnvcc -O2 -o $@ $<\n")
    (tmp_path / "in" / "sum.cu").write_text("__global__ void sum(float* x) { *x = 1; }\n")
    (tmp_path / "in" / "Dockerfile").write_text('FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nCMD ["./sum"]\n')
    promises = [
        "`kpt port` writes Makefile.hip for hipcc [automatic]",
        "`kpt port` writes the twin Dockerfile.rocm [automatic]",
    ]
    assert main(["scan", str(tmp_path / "in")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [promise for promise in promises if any(line.endswith(promise) for line in lines)] == promises
    main(["port", str(tmp_path / "in"), "--no-build", "--out", str(tmp_path / "out")])
    assert "writes" not in capsys.readouterr().err
    main(["scan", str(tmp_path / "out")])
    assert "writes" not in capsys.readouterr().out
