"""New files beside a project's deploy files: what they say, and that nothing else changes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.deploy.places import twin_path
from kernel_pytorch.port.deploy_files import deploy_patches
from kernel_pytorch.port.rules.deploy.kp440_dockerfile import instructions, is_dockerfile
from kernel_pytorch.port.rules.deploy.kp443_run_script import DEVICES, script_twin

DOCKERFILE = """\
# syntax=docker/dockerfile:1
ARG CUDA=12.4.1
ARG BASE=nvidia/cuda:${CUDA}-devel-ubuntu22.04
# the builder
FROM python:3.11 AS tools
RUN pip install ruff
FROM nvidia/cuda:${CUDA}-devel-ubuntu22.04 AS build
ENV NVIDIA_VISIBLE_DEVICES=all \\
    LANG=C.UTF-8 \\
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENV NVIDIA_REQUIRE_CUDA="cuda>=12"
ENV LD_LIBRARY_PATH=/usr/local/cuda-12.4/lib64:${LD_LIBRARY_PATH}
RUN apt-get update && apt-get install -y --no-install-recommends \\
    # needed for builds
    git libcudnn8-dev libnccl-dev=2.20.5-1+cuda12.4 \\
    cuda-keyring && rm -rf /var/lib/apt/lists/*
RUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124
RUN pip install einops nvidia-nccl-cu12==2.21.5 && nvcc --version
FROM build
COPY --from=tools /usr/local/bin/ruff /bin/
RUN <<EOF
echo FROM nvidia/cuda:1
EOF
CMD ["python", "serve.py"]
"""


def made(tmp_path: Path, files: dict[str, str]) -> tuple[dict[str, str], list[Finding]]:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    patches, findings = deploy_patches(tmp_path, list(files))
    assert all(patch.before is None for patch in patches), "new files only"
    return {patch.path: patch.after.decode() for patch in patches}, findings


def test_pieces_are_the_file_again() -> None:
    assert "".join(item.text for item in instructions(DOCKERFILE)) == DOCKERFILE
    words = [item.word for item in instructions(DOCKERFILE) if item.word]
    assert words.count("FROM") == 3 and words.count("RUN") == 5 and words[-1] == "CMD"


def test_dockerfile(tmp_path: Path) -> None:
    files, findings = made(tmp_path, {"Dockerfile": DOCKERFILE})
    text = files["Dockerfile.rocm"]
    assert "ARG ROCM_DEV_IMAGE\n" in text and "FROM ${ROCM_DEV_IMAGE} AS build\n" in text
    assert text.index("ARG ROCM_DEV_IMAGE\n") < text.index("FROM python:3.11"), "before all stages"
    assert "FROM build\n" in text and "FROM python:3.11 AS tools\n" in text
    assert "ENV LANG=C.UTF-8" in text and "NVIDIA_VISIBLE_DEVICES" not in text
    assert "# kpt: not on ROCm: ENV NVIDIA_REQUIRE_CUDA" in text
    assert "LD_LIBRARY_PATH=/opt/rocm/lib:${LD_LIBRARY_PATH}" in text
    assert "git miopen-hip rccl-dev" in text and "cuda-keyring" not in text and "# needed for builds" in text
    install = "RUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm${ROCM_VERSION}"
    assert "ARG ROCM_VERSION\n" + install in text
    assert "nvidia-nccl-cu12" not in text and "RUN <<EOF\necho FROM nvidia/cuda:1\nEOF\n" in text
    said = " ".join(finding.message for finding in findings)
    assert "rocm/dev-ubuntu-22.04" in said and "nvcc" in said and "ROCM_VERSION" in said
    assert ":latest" not in text, "a tag is chosen, not guessed"


def test_lines_without_nvidia_keep_their_bytes(tmp_path: Path) -> None:
    text = "FROM nvidia/cuda:12.1.0-runtime-ubuntu22.04\n\n# hello\nWORKDIR /app\nRUN  make   all\n"
    files, _ = made(tmp_path, {"serve.Dockerfile": text})
    assert files["serve.rocm.Dockerfile"].endswith("FROM ${ROCM_DEV_IMAGE}\n\n# hello\nWORKDIR /app\nRUN  make   all\n")


@pytest.mark.parametrize("text", ["FROM python:3.11\nRUN pip install torch\n", "FROM ubuntu\n", ""])
def test_other_images_get_no_twin(tmp_path: Path, text: str) -> None:
    files, findings = made(tmp_path, {"Dockerfile": text})
    assert not files and not findings


def test_a_project_with_its_own_twin_is_left_alone(tmp_path: Path) -> None:
    nvidia = "FROM nvidia/cuda:12.1.0-runtime-ubuntu22.04\n"
    files, _ = made(
        tmp_path, {"Dockerfile": nvidia, "Dockerfile_amd": "FROM rocm/pytorch:x\n", "Dockerfile_gaudi": nvidia}
    )
    assert not files


def test_an_image_without_a_counterpart_is_said(tmp_path: Path) -> None:
    files, findings = made(tmp_path, {"Dockerfile": "FROM nvcr.io/nvidia/tritonserver:24.01-py3\n"})
    assert "NVIDIA only" in files["Dockerfile.rocm"] and any("tritonserver" in one.message for one in findings)


def test_running_again_adds_nothing(tmp_path: Path) -> None:
    files, _ = made(tmp_path, {"Dockerfile": DOCKERFILE})
    again, _ = made(tmp_path, {"Dockerfile": DOCKERFILE, **files})
    assert not again


COMPOSE = """\
services:
  server:
    image: acme/server
    build:
      context: ..
      dockerfile: docker/serve.Dockerfile
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: 1
              capabilities: [gpu]
  old:
    image: nvidia/cuda:12.1.0-base-ubuntu22.04
    runtime: nvidia
  database:
    image: postgres
"""


def test_compose(tmp_path: Path) -> None:
    files, findings = made(
        tmp_path,
        {"docker/compose.yml": COMPOSE, "docker/serve.Dockerfile": "FROM nvidia/cuda:12.1.0-runtime-ubuntu22.04\n"},
    )
    text = files["docker/compose.rocm.yml"]

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!reset", lambda loader, node: "reset")
    services = yaml.load(text, Loader)["services"]
    assert set(services) == {"server", "old"}, "services without GPUs are not mentioned"
    server = services["server"]
    assert server["build"]["dockerfile"] == "docker/serve.rocm.Dockerfile"
    assert server["build"]["args"]["ROCM_DEV_IMAGE"].startswith("${ROCM_DEV_IMAGE:?")
    assert server["devices"] == ["/dev/kfd", "/dev/dri"] and server["group_add"] == ["video", "render"]
    assert server["deploy"]["resources"]["reservations"]["devices"] == "reset"
    assert services["old"]["runtime"] == "reset" and "rocm/dev-ubuntu-22.04" in services["old"]["image"]
    assert any("1 GPU(s) reserved" in one.message and one.line == 2 for one in findings)


def test_compose_that_is_not_yaml_is_said(tmp_path: Path) -> None:
    files, findings = made(tmp_path, {"docker-compose.yml": "services: [\n"})
    assert not files and findings[0].code == "KP441"


MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: server
spec:
  template:
    spec:
      runtimeClassName: nvidia
      tolerations:
        - key: nvidia.com/gpu
          operator: Exists
      nodeSelector:
        nvidia.com/gpu.product: A100
      containers:
        - name: main
          image: acme/server:1
          resources:
            limits:
              nvidia.com/gpu: 2
"""


def test_kubernetes(tmp_path: Path) -> None:
    files, findings = made(
        tmp_path, {"k8s/server.yaml": MANIFEST, "k8s/chart.yaml": "apiVersion: v1\nx: {{ nvidia.com/gpu }}\n"}
    )
    assert yaml.safe_load(files["k8s/kustomization.yaml"])["resources"] == ["server.yaml"]
    overlay = yaml.safe_load(files["k8s/rocm/kustomization.yaml"])
    (patch,) = overlay["patches"]
    assert overlay["resources"] == ["../"] and patch["target"] == {"kind": "Deployment", "name": "server"}
    operations = {(one["op"], one["path"]): one.get("value") for one in yaml.safe_load(patch["patch"])}
    limits = "/spec/template/spec/containers/0/resources/limits"
    assert operations[("add", f"{limits}/amd.com~1gpu")] == 2 and ("remove", f"{limits}/nvidia.com~1gpu") in operations
    assert ("remove", "/spec/template/spec/runtimeClassName") in operations
    assert operations[("replace", "/spec/template/spec/tolerations/0/key")] == "amd.com/gpu"
    said = " ".join(one.message for one in findings)
    assert "gpu.product" in said and "acme/server:1" in said and "template" in said


def test_scripts(tmp_path: Path) -> None:
    text = (
        "#!/bin/sh\n# docker run --gpus all x\ndocker build -f docker/Dockerfile .\n"
        "docker run --rm --gpus all --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all \\\n"
        "  nvcr.io/nvidia/pytorch:24.01-py3 bash\n"
        "docker run --gpus '\"device=0,1\"' mine:1\n"
    )
    files, findings = made(
        tmp_path, {"run.sh": text, "docker/Dockerfile": "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\n"}
    )
    twin = files["run.rocm.sh"]
    assert twin.startswith("#!/bin/sh\n# docker run --gpus all x\ndocker build -f docker/Dockerfile.rocm .\n")
    assert twin.count("--device /dev/kfd --device /dev/dri") == 2 and "NVIDIA_VISIBLE" not in twin
    assert "--runtime" not in twin and "--gpus '" not in twin
    assert any("rocm/pytorch" in one.message and one.line == 5 for one in findings)
    assert any("ROCR_VISIBLE_DEVICES" in one.message for one in findings)
    assert "run.rocm.sh" not in made(tmp_path, {"run.sh": "echo --gpus all\n"})[0]


def test_settings_are_reported(tmp_path: Path) -> None:
    _, findings = made(
        tmp_path,
        {
            "job.sh": "#SBATCH --gres=gpu:a100:4\n#SBATCH --gres=gpu:4\n#SBATCH --constraint=h100\n"
            "module load cuda/12.4\n",
            ".github/workflows/ci.yml": "steps:\n  - uses: Jimver/cuda-toolkit@v0.2\n  - run: nvidia-smi\n",
            ".devcontainer/devcontainer.json": '{"runArgs": ["--gpus", "all"]}\n',
        },
    )
    assert [(one.code, one.line) for one in findings if one.path == "job.sh"] == [
        ("KP444", 1),
        ("KP444", 3),
        ("KP444", 4),
    ]
    assert [one.code for one in findings if "workflows" in one.path] == ["KP445", "KP445"]
    assert [one.code for one in findings if "devcontainer" in one.path] == ["KP446"]


def test_names() -> None:
    assert twin_path("a/Dockerfile") == "a/Dockerfile.rocm" and twin_path("x.Dockerfile") == "x.rocm.Dockerfile"
    assert twin_path("docker-compose.yml") == "docker-compose.rocm.yml"
    assert is_dockerfile("Dockerfile.gpu") and is_dockerfile("a/Dockerfile_gpu") and not is_dockerfile("dockerfile.py")
    assert not is_dockerfile("docs/Dockerfile.md")


def test_every_code_has_a_page() -> None:
    import kernel_pytorch.port.rules.deploy as deploy
    from kernel_pytorch.port.rules import parse_docstring

    pages = sorted(Path(deploy.__file__).parent.glob("kp4*_*.py"))
    assert [page.stem[:5] for page in pages] == [f"kp44{digit}" for digit in range(9)]
    for page in pages:
        title, sections = parse_docstring(ast.get_docstring(ast.parse(page.read_text()), clean=False) or "")
        assert title and len(sections) == 4


def test_what_a_development_container_comments_out_is_left_alone(tmp_path: Path) -> None:
    text = """{
  "runArgs": [
    // "--gpus=all" needs WSL2
    //"--gpus=all",
    /* "--gpus", "all" */
    "--name=http://host"
  ],
  "features": {"ghcr.io/devcontainers/features/nvidia-cuda:1": {}}
}
"""
    _, findings = made(tmp_path, {".devcontainer/devcontainer.json": text})
    assert [(one.code, one.line) for one in findings] == [("KP446", 8)]


@pytest.mark.parametrize(
    "path", [".lightning/workflows/tests.yaml", ".gitlab-ci.yml", "azure-pipelines.yml", ".buildkite/pipeline.yml"]
)
def test_jobs_of_other_services_are_read_as_workflows_are(tmp_path: Path, path: str) -> None:
    text = """image: "team/thing:ubuntu24.04-cuda12.8.1-py3.12"  # cuda
run: |
  # nvidia-smi is not run here
  nvidia-smi
  whereis nvidia
  pip install thing
env: {NCCL_DEBUG: INFO}
"""
    _, findings = made(tmp_path, {path: text})
    assert [(one.code, one.line) for one in findings] == [("KP445", 1), ("KP445", 4)]


def test_a_yaml_file_that_is_no_job_is_not_read_as_one(tmp_path: Path) -> None:
    _, findings = made(tmp_path, {"config/train.yaml": "image: nvidia/cuda:12.4\n"})
    assert findings == []


README = """# Thing

Run `pip install torch` first.

```bash
pip install torch torchvision \\
    --index-url https://download.pytorch.org/whl/cu121
pip install torch==2.4.0+cu124
pip install "torch>=2.1" einops
conda install pytorch pytorch-cuda=12.1 -c pytorch -c nvidia
docker run --rm --gpus all thing
pip install -e .[dev] numpy bitsandbytes
# pip install cupy-cuda12x
pip install cupy-cuda12x
```
"""


def test_commands_of_documents(tmp_path: Path) -> None:
    _, findings = made(tmp_path, {"README.md": README})
    assert [(one.code, one.line) for one in findings] == [
        ("KP172", 6), ("KP172", 8), ("KP172", 9), ("KP172", 10), ("KP172", 11), ("KP172", 14),
    ]  # fmt: skip
    assert "cu121" in findings[0].message and "cu124" in findings[1].message and "torch" in findings[2].message


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", README + "\nOn AMD install the ROCm wheel.\n"),
        ("CHANGELOG.md", README),
        ("docs/x.md", "pip install torch --index-url https://download.pytorch.org/whl/cu121\n"),
        ("docs/x.md", "```\nlitgpt download x\npip install thing\n```\n"),
    ],
)
def test_documents_without_a_command_for_nvidia_only(tmp_path: Path, path: str, text: str) -> None:
    assert made(tmp_path, {path: text})[1] == []


def test_a_command_in_the_text_of_a_document(tmp_path: Path) -> None:
    text = (
        "* Install torch by `pip install torch==1.11.0 --extra-index-url https://download.pytorch.org/whl/cu113`\n"
        "* `pip` must be new, and `pip install -r requirements.txt` comes last\n"
    )
    _, findings = made(tmp_path, {"README.md": text})
    assert [(one.code, one.line) for one in findings] == [("KP172", 1)]
    assert "cu113" in findings[0].message


def test_a_generated_workflow_is_said_once(tmp_path: Path) -> None:
    job = "  - image: builder:cuda{0}\n  - run: |\n      nvidia-smi\n"
    _, findings = made(tmp_path, {".circleci/config.yml": "".join(job.format(118 + n) for n in range(9))})
    assert [(one.line, one.message.rpartition(" (")[2]) for one in findings] == [
        (1, "8 more of the kind in this file)"),
        (3, "8 more of the kind in this file)"),
    ]


def test_a_document_may_install_the_project_itself(tmp_path: Path) -> None:
    files = {"README.md": "```\npip install pytorch3d\n```\n", "setup.py": 'setup(name="pytorch3d")\n'}
    assert made(tmp_path, files)[1] == []
    assert len(made(tmp_path, {**files, "setup.py": 'setup(name="other")\n'})[1]) == 1


def test_options_kept_in_quoted_variables_stay_quoted() -> None:
    text = (
        'OLD="--runtime=nvidia"\nWHICH="-e NVIDIA_VISIBLE_DEVICES=${DEVICES}"\n'
        'NEW="--gpus ${DEVICES}"\ndocker run $OLD $WHICH $NEW image\n'
    )
    twin, _ = script_twin("run.sh", text, {})
    assert twin == f'OLD="{DEVICES}"\nWHICH=""\nNEW="{DEVICES}"\ndocker run $OLD $WHICH $NEW image\n'


VARIABLES = """\
FROM {image}
# ENV TORCHINDUCTOR_MAX_AUTOTUNE=1
ENV TORCHINDUCTOR_MAX_AUTOTUNE=1 \\
    PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:512,garbage_collection_threshold:0.8"
ENV HIP_LAUNCH_BLOCKING 1
RUN export PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:128 && python warm_up.py "$TORCHINDUCTOR_MAX_AUTOTUNE"
CMD ["python", "-DHIP_LAUNCH_BLOCKING=1", "serve.py"]
"""


def variables(findings: list[Finding]) -> list[tuple[int, str]]:
    return [(one.line, one.message) for one in findings if one.code == "KP447"]


def test_a_twin_has_harmless_values(tmp_path: Path) -> None:
    files, findings = made(tmp_path, {"Dockerfile": VARIABLES.format(image="nvidia/cuda:12.4.1-devel-ubuntu22.04")})
    text = files["Dockerfile.rocm"]
    assert "TORCHINDUCTOR_MAX_AUTOTUNE=0 \\\n" in text and "# ENV TORCHINDUCTOR_MAX_AUTOTUNE=1\n" in text
    assert 'PYTORCH_CUDA_ALLOC_CONF="garbage_collection_threshold:0.8"' in text
    assert "ENV HIP_LAUNCH_BLOCKING 0\n" in text and "export PYTORCH_HIP_ALLOC_CONF= && python" in text
    assert "-DHIP_LAUNCH_BLOCKING=1" in text
    found = variables(findings)
    assert [line for line, _ in found] == [3, 4, 5, 6]
    assert "looks like a hang" in found[0][1] and "the twin has TORCHINDUCTOR_MAX_AUTOTUNE=0" in found[0][1]


def test_an_image_of_amds_may_not_tune_either(tmp_path: Path) -> None:
    text = VARIABLES.format(image="rocm/pytorch:x") + "ENV TORCH_CUDA_ARCH_LIST=9.0\n"
    files, findings = made(tmp_path, {"Dockerfile_amd": text})
    # The list of CUDA targets is nobody's concern in a file for ROCm.
    assert not files and [one.line for one in findings] == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("train.sh", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n"),
        ("train.sh", "PYTORCH_CUDA_ALLOC_CONF='max_split_size_mb:512' python train.py\n"),
        (".env.example", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n"),
        (".github/workflows/gpu.yml", "env:\n  PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb:512\n"),
        ("compose.yml", "services:\n  a:\n    environment:\n      - PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n"),
        ("job.yaml", 'env:\n- name: PYTORCH_CUDA_ALLOC_CONF\n  value: "max_split_size_mb:512"\n'),
        (".devcontainer/devcontainer.json", '{"containerEnv": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512"}}\n'),
    ],
)
def test_a_variable_is_found_in_each_kind_of_file(tmp_path: Path, path: str, text: str) -> None:
    files, findings = made(tmp_path, {path: text})
    (found,) = findings
    assert not files and found.code == "KP447" and found.path == path
    assert text.splitlines()[found.line - 1][found.col - 1 :].startswith("max_split_size_mb")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("export PYTORCH_ROCM_ARCH=gfx942\n", "names one GPU, gfx942"),
        ("export CUDA_HOME=/usr/local/cuda-12.4\n", "/opt/rocm"),
        ("export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH\n", "/opt/rocm"),
        ("AMD_LOG_LEVEL=4 python train.py\n", "a line for every call"),
        ("export HIP_CACHE_ENABLED=1\n", "ROCm has no variable"),
        ("export CUDA_DEVICE_MAX_CONNECTIONS=1\n", "not read on ROCm"),
        ("export CUDA_LAUNCH_BLOCKING=1\n", "does not make HIP wait"),
        ("export HSA_OVERRIDE_GFX_VERSION=11.0.0\n", "decide whether you want that"),
    ],
)
def test_what_else_a_script_sets(tmp_path: Path, text: str, words: str) -> None:
    (found,) = made(tmp_path, {"run.sh": text})[1]
    assert found.code == "KP447" and words in found.message


@pytest.mark.parametrize(
    "text",
    [
        "export PYTORCH_ROCM_ARCH='gfx90a;gfx942' GPU_TARGETS=$(rocminfo | grep -o gfx942) PATH=/opt/bin:$PATH\n",
        "path=/usr/local/cuda\n",
        'if [ "$TORCHINDUCTOR_MAX_AUTOTUNE" = 1 ]; then echo "${HIP_LAUNCH_BLOCKING:-1}"; fi\n',
        "export TORCHINDUCTOR_MAX_AUTOTUNE=0 HIP_LAUNCH_BLOCKING=\nunset CUDA_LAUNCH_BLOCKING\n",
        "# export TORCHINDUCTOR_MAX_AUTOTUNE=1\n",
        "export PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8 CUDA_DEVICE_ORDER=PCI_BUS_ID\n",
        "echo TORCHINDUCTOR_MAX_AUTOTUNE is slow\n",
    ],
)
def test_what_sets_nothing_harmful_is_not_reported(tmp_path: Path, text: str) -> None:
    assert made(tmp_path, {"run.sh": text}) == ({}, [])


def test_overlays_and_run_scripts_take_harmful_values_back(tmp_path: Path) -> None:
    compose = (
        "services:\n  a:\n    image: acme/a\n    gpus: all\n    environment:\n"
        "      TORCHINDUCTOR_MAX_AUTOTUNE: 1\n      LANG: C\n"
    )
    script = "docker run --gpus all -e HIP_LAUNCH_BLOCKING=1 -e LANG=C acme/a\n"
    files, _ = made(tmp_path, {"compose.yml": compose, "run.sh": script})
    assert '    environment:\n      TORCHINDUCTOR_MAX_AUTOTUNE: "0"\n    devices:' in files["compose.rocm.yml"]
    assert f"docker run {DEVICES} -e HIP_LAUNCH_BLOCKING=0 -e LANG=C acme/a\n" == files["run.rocm.sh"]


PROJECT = '[project]\nname = "acme"\nversion = "1"\ndependencies = ["torch==2.5.1", "numpy"]\n'


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("setup.sh", "pip install -e .\n", "may put CUDA's torch over ROCm's"),
        ("setup.sh", "uv sync --extra gpu\n", "may put CUDA's torch over ROCm's"),
        ("README.md", "```\nuv sync --extra gpu\n```\n", "may put CUDA's torch over ROCm's"),
        ("setup.sh", "poetry install\n", "may put CUDA's torch over ROCm's"),
        (
            ".github/workflows/gpu.yml",
            "jobs:\n  gpu:\n    steps:\n      - run: pip install -e .[dev]\n",
            "CUDA's torch",
        ),
        ("setup.sh", "pip install \\\n  torch==2.5.1\n", "takes torch from the package index"),
        ("setup.sh", "conda install pytorch pytorch-cuda=12.1 -c nvidia\n", "CUDA from conda"),
        ("job.sbatch", "if nvidia-smi; then\n  true\nfi\nnvidia-smi -L | wc -l\n", "runs nvidia-smi"),
        ("pull.sh", "docker pull nvcr.io/nvidia/pytorch:24.05-py3\n", "nvcr.io/nvidia/pytorch:24.05-py3"),
        ("job.sh", "srun --container-image=nvcr.io#nvidia/pytorch:24.05-py3 python a.py\n", "choose a tag of"),
    ],
)
def test_commands_of_scripts_and_workflows(tmp_path: Path, path: str, text: str, words: str) -> None:
    _, findings = made(tmp_path, {path: text, "pyproject.toml": PROJECT})
    (found,) = findings
    assert found.path == path and words in found.message


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("setup.sh", "pip install --no-deps -e .\n"),
        ("setup.sh", "# rocm: done\npip install -e .\n"),
        ("setup.sh", "pip install ruff\necho nvidia-smi\n# nvidia-smi\n"),
        (".github/workflows/lint.yml", "jobs:\n  lint:\n    steps:\n      - run: pip install -e .\n"),
    ],
)
def test_commands_that_may_stay(tmp_path: Path, path: str, text: str) -> None:
    assert made(tmp_path, {path: text, "pyproject.toml": PROJECT})[1] == []


def test_what_the_twin_changes_is_not_reported_twice(tmp_path: Path) -> None:
    script = "nsys profile python a.py\ndocker run --gpus all nvidia/cuda:12.4.1-base-ubuntu22.04 true\n"
    _, findings = made(tmp_path, {"run.sh": script})
    assert [(one.code, one.line) for one in findings if "--gpus" in one.message or "nvidia/cuda" in one.message] == [
        ("KP443", 2)
    ]
    assert [one.line for one in findings if one.code == "KP448"] == [1]


def test_one_command_in_many_documents_is_one_finding(tmp_path: Path) -> None:
    block = "```\npip install -e .\n```\n"
    _, findings = made(tmp_path, {"docs/a.md": block, "README.md": block, "pyproject.toml": PROJECT})
    (found,) = findings
    assert found.path == "README.md" and found.message.endswith("(1 more file has it)")
