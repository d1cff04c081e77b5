"""Textures, surfaces and texture references of a port: what is written where, and what the software ones compute."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.names.shims import shims, with_needed

ROOT = Path(__file__).resolve().parents[3]
FETCH = b"__global__ void k(cudaTextureObject_t image, float* out) { out[0] = tex2D<float>(image, 0.5f, 0.5f); }\n"
OWN = b"__device__ float tex2D(const float* image, int x) { return image[x]; }\n"
HOST = b"void f(cudaArray_t* to, cudaChannelFormatDesc* desc) { cudaMallocArray(to, desc, 8, 8); }\n"
DRIVER = b"void f(CUarray* to, const CUDA_ARRAY_DESCRIPTOR* asked) { cuArrayCreate(to, asked); }\n"
REFERENCE = b"texture<float, 2> image;\nvoid f(cudaArray_t from) { cudaBindTextureToArray(image, from); }\n"


def guards(source: bytes, path: str = "a.cu") -> list[str]:
    text = hipify_file(cxx_file(path, source), None, HipifyOptions(rules=())).after.decode()
    return [line.split()[1] for line in text.splitlines() if line.startswith("#ifndef KPT_SHIM_")]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (FETCH, ["KPT_SHIM_KPT_IMAGE", "KPT_SHIM_KPT_TEX"]),
        (OWN, []),
        (HOST, ["KPT_SHIM_KPT_IMAGE"]),
        (DRIVER, ["KPT_SHIM_KPT_IMAGE", "KPT_SHIM_KPT_DRIVER_TEXTURES"]),
        (REFERENCE, ["KPT_SHIM_KPT_IMAGE", "KPT_SHIM_KPT_TEX", "KPT_SHIM_KPT_BIND_TEXTURE"]),
    ],
)
def test_a_file_carries_what_it_uses_and_what_that_needs(source: bytes, wanted: list[str]) -> None:
    assert guards(source) == wanted


def test_a_shim_stands_behind_what_it_needs() -> None:
    wanted = [shims()[name] for name in (b"kpt_bind_texture", b"surf2Dread", b"kpt_image")]
    names = [shim.names[0] for shim in with_needed(wanted)]
    assert names == ["kpt_image", "kpt_tex", "kpt_bind_texture", "surf1Dread"]


def test_the_part_for_the_host_names_no_device_function() -> None:
    # Plain C++ files read it too: cudaMallocArray is called there.
    assert "__device__" not in shims()[b"kpt_image"].text


@pytest.fixture(scope="module")
def model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("textures_model", ROOT / "benchmarks" / "textures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_model_notices_one_wrong_word(model: ModuleType) -> None:
    name = "surface-1D f32x1 clamp"
    values, _ = model.expected(name)
    words = [f"{word:08x}" for word in values.astype("float32").view("uint32")]
    assert model.differences(f"{name} : {' '.join(words)}")[0][0] == 0.0
    words[5] = "3f800000"
    assert model.differences(f"{name} : {' '.join(words)}")[0][0] > model.tolerance(name)


#: A port's own textures: MI300X has no texture units, and on others they are asked for.
SOFTWARE = ("-D", "KPT_SOFTWARE_TEXTURES")


@pytest.mark.slow
def test_image_units_agree_with_their_model(model: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    output = model.emulated("rx7900xtx", "LIST_REFUSED")
    assert model.judge_image_units(output) == 0
    assert "157 cases, 6 differ from the model of AMD's units, 0 of them without a reason" in capsys.readouterr().out
    assert output.count(" ! hipErrorInvalidValue") == 18, "cube maps"


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_every_case_of_the_table_agrees_with_the_model(gpu: str, model: ModuleType) -> None:
    found = model.differences(model.emulated(gpu, "KPT_SOFTWARE_TEXTURES"))
    assert len(found) > 150
    assert [one for one in found if one[0] > model.tolerance(one[1])] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gpu", "define", "wrong"),
    # HIP's own tex1Dfetch reads two words past the end of the buffer, where CUDA's gives 0.
    [("mi300x", (), 0), ("rx7900xtx", SOFTWARE, 0), ("rx7900xtx", (), 2)],
)
def test_texture_references(gpu: str, define: tuple[str, ...], wrong: int, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["emulate", str(Path(__file__).parent / "references.cu"), "--gpu", gpu, *define])
    assert status == (1 if wrong else 0)
    assert f"offset 0, {wrong} wrong: no error" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_the_drivers_arrays_and_objects(gpu: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", str(Path(__file__).parent / "driver.cu"), "--gpu", gpu, *SOFTWARE]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "0 failed"
