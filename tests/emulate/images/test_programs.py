"""Programs with HIP's own textures and surfaces: from source, as machine code, and with descriptors that are none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["rx6900xt", "rx7900xtx", "rx9070xt", "mi250x"])
def test_textures_surfaces_and_references(gpu: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", str(HERE / "fetches.hip"), "--gpu", gpu]) == 0
    said = capfd.readouterr()
    assert said.out.splitlines()[0] == "offset 0, wrong: 0 0 0 0 0 0 0 0 0 0 0 0", said
    assert "filtered by exact sums of fractions of 1/256" in said.out + said.err


@pytest.mark.slow
@pytest.mark.parametrize(("gpu", "target"), [("rx7900xtx", "gfx1100"), ("mi250x", "gfx90a")])
def test_the_same_as_a_program_that_was_built_before(
    gpu: str, target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its machine code is read by our decoder: a build of its own options, which no cache has the text of."""
    program = tmp_path / "program"
    build = f"hipcc --offload-arch={target} -O1 -DOF={tmp_path.stat().st_ino} {HERE / 'fetches.hip'} -o {program}"
    assert main(["emulate", "--gpu", gpu, "--", "bash", "-c", build]) == 0
    capfd.readouterr()
    for flags in ([], ["--check", "memory"]):
        assert main(["emulate", str(program), "--gpu", gpu, *flags]) == 0
        assert capfd.readouterr().out.splitlines()[0] == "offset 0, wrong: 0 0 0 0 0 0 0 0 0 0 0 0"


@pytest.mark.slow
def test_missing_waits_and_a_profile(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", str(HERE / "fetches.hip"), "--gpu", "rx9070xt", "--check", "waits", "--profile"]) == 0
    said = capfd.readouterr()
    assert "is missing between the two" not in said.out + said.err
    assert "vector memory" in said.out + said.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("zeros", "all its words are 0: no texture or surface object is bound"),
        ("linear", "its type is not an image's: linear memory can be read by tex1Dfetch only"),
        ("array", "its type is not a buffer's"),
        ("freed", "freed in fetch"),
        ("destroyed", "freed in fetch"),
    ],
)
def test_a_texture_that_is_none_is_named(kind: str, why: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", str(HERE / "hostile.hip"), "--gpu", "rx7900xtx", "--", kind]) != 0
    said = capfd.readouterr()
    both = said.out + said.err
    assert why in both and "Traceback" not in both
    assert re.search(r"hipError(IllegalAddress|LaunchFailure)", said.out), both
    if kind in ("zeros", "linear"):
        assert "descriptor in fetch" in both and "image_sample" in both
        assert "hostile.hip:9" in both


@pytest.mark.slow
def test_random_words_end_no_process(capfd: pytest.CaptureFixture[str]) -> None:
    for seed in range(6):
        status = main(["emulate", str(HERE / "hostile.hip"), "--gpu", "rx9070xt", "--", "random", str(seed)])
        said = capfd.readouterr()
        assert status != 0 and re.search(r"^hipError\w+$", said.out, re.MULTILINE), said
        assert "descriptor in fetch" in said.out + said.err or "bounds in fetch" in said.out + said.err


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "check"), [("unwritten", "memory"), ("race", "races")])
def test_checks_see_texels(kind: str, check: str, capfd: pytest.CaptureFixture[str]) -> None:
    main(["emulate", str(HERE / "hostile.hip"), "--gpu", "rx7900xtx", "--check", check, "--", kind])
    said = capfd.readouterr()
    wanted = {"unwritten": r"unwritten( \(\d+ times\))? in fetch", "race": r"race( \(\d+ times\))? in write"}[kind]
    assert re.search(wanted, said.out + said.err) and "image_s" in said.out + said.err
