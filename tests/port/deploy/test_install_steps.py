"""Install steps of a Dockerfile's twin: through the lists of `kpt deps`, torch from ROCm's index, Triton not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.deploy_files import deploy_patches

HEAD = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
PYPROJECT = '[project]\nname = "my_model"\nversion = "1"\ndependencies = ["torch==2.6.0", "numpy"]\n'
INDEX = "--index-url https://download.pytorch.org/whl/rocm${ROCM_VERSION}"
MOUNT = "--mount=type=bind,source=requirements-rocm.txt,target=/tmp/requirements-rocm.txt"
LISTS = "pip install -r /tmp/requirements-rocm.txt"


def twin(root: Path, steps: str, head: str = HEAD, **files: str) -> tuple[str, str]:
    (root / "Dockerfile").write_text(head + steps)
    for path, text in {"pyproject.toml": PYPROJECT, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    patches, findings = deploy_patches(root, ["Dockerfile", "pyproject.toml", *files])
    (patch,) = [patch for patch in patches if patch.path == "Dockerfile.rocm"]
    return patch.after.decode().split("FROM ${", 1)[1].split("}\n", 1)[1], " ".join(map(_message, findings))


def _message(finding: Finding) -> str:
    return finding.message


@pytest.mark.parametrize(
    ("step", "made"),
    [
        ("pip install -e .", f"pip install torch {INDEX} && {LISTS} && pip install --no-deps -e ."),
        ("pip3 install --no-cache-dir .", f"pip3 install torch {INDEX} && pip3 install --no-cache-dir -r"
         " /tmp/requirements-rocm.txt && pip3 install --no-deps --no-cache-dir ."),
        ("python3 -m pip install my-model", f"python3 -m pip install torch {INDEX} && python3 -m {LISTS}"
         " && python3 -m pip install --no-deps my-model"),
        ("/opt/env/bin/pip install .", f"/opt/env/bin/pip install torch {INDEX} && /opt/env/bin/{LISTS}"
         " && /opt/env/bin/pip install --no-deps ."),
        ("make && pip install .  && rm -r x", f"make && pip install torch {INDEX} && {LISTS}"
         " && pip install --no-deps .  && rm -r x"),
    ],
)  # fmt: skip
def test_the_project_itself(tmp_path: Path, step: str, made: str) -> None:
    text, said = twin(tmp_path, f"RUN {step}\n")
    assert text == f"ARG ROCM_VERSION\nRUN {MOUNT} {made}\n"
    assert "kpt deps . --write" in said and "ROCM_VERSION" in said


def test_extras_have_their_own_lists(tmp_path: Path) -> None:
    text, said = twin(tmp_path, "RUN pip install '.[web_ui]'\n")
    assert "source=requirements-rocm-web-ui.txt" in text and "-r /tmp/requirements-rocm-web-ui.txt" in text
    assert "kpt deps . --write --group web_ui" in said


def test_uv_sync_and_what_runs_later(tmp_path: Path) -> None:
    steps = 'RUN A=1 uv sync --frozen --no-install-project\nCMD uv run serve.py\nENTRYPOINT ["uv", "run", "x"]\n'
    text, said = twin(tmp_path, steps)
    python = '--python "${UV_PROJECT_ENVIRONMENT:-.venv}"'
    assert f"A=1 uv pip install {python} torch {INDEX} && A=1 uv pip install {python} -r /tmp" in text
    assert "--no-deps" not in text, "the project itself was left out before, too"
    assert 'CMD uv run --no-sync serve.py\nENTRYPOINT ["uv", "run", "--no-sync", "x"]\n' in text
    assert "lock file" in said


@pytest.mark.parametrize(
    ("steps", "is_project"),
    [
        ("RUN git clone https://github.com/NVIDIA/apex && cd apex && pip install ./\n", False),
        ("RUN git clone https://github.com/NVIDIA/apex.git /opt/apex\nWORKDIR /opt/apex\nRUN pip install .\n", False),
        ("RUN git clone https://github.com/NVIDIA/apex\nRUN cd apex && uv sync\n", False),
        ("COPY . model/\nRUN cd model/ && pip install .\n", True),
        ("WORKDIR /srv/code\nCOPY . .\nRUN pip install .\n", True),
        ("RUN cd /tmp && make\nRUN pip install .\n", True),
    ],
)
def test_the_dot_is_the_project_only_where_the_project_is(tmp_path: Path, steps: str, is_project: bool) -> None:
    text, _ = twin(tmp_path, steps)
    assert ("requirements-rocm.txt" in text) is is_project


def test_requirement_files_are_followed_through_copies(tmp_path: Path) -> None:
    files = {"serve/requirements.txt": "torch==2.6.0+cu124\nnumpy\n", "plain/requirements.txt": "requests\n"}
    steps = (
        "COPY serve/requirements.txt /tmp/serve.txt\nCOPY plain/requirements.txt /tmp/plain.txt\n"
        "RUN pip install -r /tmp/serve.txt -r /tmp/plain.txt\n"
    )
    text, _ = twin(tmp_path, steps, **files)
    assert "source=serve/requirements-rocm.txt,target=/tmp/serve-requirements-rocm.txt" in text
    assert "-r /tmp/plain.txt -r /tmp/serve-requirements-rocm.txt" in text


def test_a_project_that_can_be_installed_as_it_is_stays(tmp_path: Path) -> None:
    plain = '[project]\nname = "x"\nversion = "1"\ndependencies = ["requests"]\n'
    (tmp_path / "Dockerfile").write_text(HEAD + "RUN pip install -e .\n")
    (tmp_path / "pyproject.toml").write_text(plain)
    patches, _ = deploy_patches(tmp_path, ["Dockerfile", "pyproject.toml"])
    assert patches[0].after.decode().endswith("RUN pip install -e .\n")


@pytest.mark.parametrize(
    ("step", "made"),
    [
        ("pip install triton==3.1.0", "true"),
        ("pip install triton==3.1.0 einops", "pip install einops"),
        ("pip install -U torch==2.6.0+cu124 torchvision", f"pip install torch==2.6.0 torchvision {INDEX}"),
        ("pip install torch==2.6.0 einops", f"pip install torch==2.6.0 {INDEX} && pip install einops"),
    ],
)
def test_torch_and_triton_by_name(tmp_path: Path, step: str, made: str) -> None:
    text, _ = twin(tmp_path, f"RUN {step}\n")
    assert text.removeprefix("ARG ROCM_VERSION\n") == f"RUN {made}\n"


def test_an_image_with_torch_gets_no_second_one(tmp_path: Path) -> None:
    head = "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\n"
    text, said = twin(tmp_path, "RUN pip install torch==2.6.0 && pip install -e .\n", head=head)
    assert text == f"RUN {MOUNT} true && {LISTS} && pip install --no-deps -e .\n"
    assert "torch is there already" in said


def test_other_text_is_not_taken_for_an_install(tmp_path: Path) -> None:
    steps = (
        "RUN echo pip install torch\nRUN pip install ruff 'numpy<2' # torch later\nRUN pip download torchx\n"
        'RUN bash -c "pip install -e ."\n'
    )
    text, _ = twin(tmp_path, steps)
    assert text == steps


def test_drivers_of_nvidia_are_left_out(tmp_path: Path) -> None:
    steps = (
        "RUN mkdir -p /usr/share/glvnd/egl_vendor.d && echo '{}' > /usr/share/glvnd/egl_vendor.d/10_nvidia.json\n"
        "COPY docker/nvidia_icd.json /etc/vulkan/icd.d/nvidia_icd.json\n"
        "RUN make && cp 10_nvidia.json /usr/share/glvnd/egl_vendor.d/ && make install\n"
        "ENV __EGL_VENDOR_LIBRARY_FILENAMES=/usr/share/glvnd/egl_vendor.d/10_nvidia.json\n"
        "ENV VK_ICD_FILENAMES=/x.json\n"
    )
    text, said = twin(tmp_path, steps)
    lines = [line for line in text.splitlines() if not line.startswith("# kpt: not on ROCm")]
    assert lines == ["RUN make && make install", "ENV VK_ICD_FILENAMES=/x.json"]
    assert said.count("Mesa") == 3


def test_a_script_that_writes_a_driver_file_is_not_taken_apart(tmp_path: Path) -> None:
    steps = "RUN if [ -d /x ]; then cp 10_nvidia.json /usr/share/glvnd/egl_vendor.d/; fi\n"
    text, said = twin(tmp_path, steps)
    assert text == steps and "a person takes it out" in said


def test_compose_and_manifests(tmp_path: Path) -> None:
    compose = """\
services:
  sim:
    build: {context: docker, dockerfile: Dockerfile}
    gpus: all
    environment: ["__EGL_VENDOR_LIBRARY_FILENAMES=/usr/share/glvnd/egl_vendor.d/10_nvidia.json", "A=1"]
    volumes: ["/usr/share/nvidia:/usr/share/nvidia:ro", "./data:/data"]
    command: bash -c "pip install -e . && python serve.py"
"""
    manifest = """\
apiVersion: v1
kind: Pod
metadata: {name: sim}
spec:
  containers:
    - name: sim
      image: sim
      env: [{name: __GLX_VENDOR_LIBRARY_NAME, value: nvidia}]
      resources: {limits: {nvidia.com/gpu: 1}}
  volumes: [{name: driver, hostPath: {path: /usr/lib/nvidia}}]
"""
    files = {"compose.yml": compose, "k8s/pod.yaml": manifest, "docker/Dockerfile": HEAD + "RUN pip install -e .\n"}
    for path, text in {"pyproject.toml": PYPROJECT, **files}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    patches, findings = deploy_patches(tmp_path, [*files, "pyproject.toml"])
    made = {patch.path: patch.after.decode() for patch in patches}
    assert "      __EGL_VENDOR_LIBRARY_FILENAMES: !reset null\n" in made["compose.rocm.yml"]
    said = [finding.message for finding in findings]
    for part in ("mounts /usr/share/nvidia", "its command installs", "from there", "mounts /usr/lib/nvidia", "__GLX"):
        assert any(part in message for message in said), part
