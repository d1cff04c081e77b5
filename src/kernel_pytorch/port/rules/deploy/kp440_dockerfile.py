"""A Dockerfile on an NVIDIA image

What: A Dockerfile whose base image, packages or environment are NVIDIA's.
Why: There is no ROCm inside, and its CUDA packages, paths and index bring a CUDA torch along.
Fix: kpt writes a twin, Dockerfile.rocm, beside it. It changes base images, apt packages, the package index,
    /usr/local/cuda, NVIDIA's variables and its EGL and Vulkan drivers. Install steps take torch from the ROCm index,
    leave Triton's pin out, and install the project without its dependencies behind the list of `kpt deps --write`. All
    other lines keep their bytes. You give the tag of the base image as a build argument. kpt names steps that would
    still install CUDA's torch, and lines that still mention CUDA.
Source: https://github.com/vllm-project/vllm/blob/main/docker/Dockerfile.rocm;
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html; port/tables/images.csv and
    apt_packages.csv
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.deploy.install_steps import InstallPlan, StageInstalls
from kernel_pytorch.port.rules.deploy.kp447_environment_variable import harmless
from kernel_pytorch.port.tables import read_table

CODE = "KP440"
DROPPED_ENV = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_REQUIRE_CUDA", "NVIDIA_DISABLE_REQUIRE")
# These choose a graphics driver: only a value that names NVIDIA's goes.
DRIVER_ENV = ("__EGL_VENDOR_LIBRARY_FILENAMES", "__GLX_VENDOR_LIBRARY_NAME", "VK_ICD_FILENAMES", "VK_DRIVER_FILES")
# Files that send EGL, GLX or Vulkan to NVIDIA's driver. AMD's is Mesa, which brings its own.
_ICD = re.compile(r"\b\d*_?nvidia\.json|nvidia_icd[\w.]*json|lib(?:EGL|GLX)_nvidia|egl_vendor\.d/\S*nvidia")
_MESA = "sends EGL or Vulkan to NVIDIA's driver: left out; AMD's is Mesa (apt: libegl-mesa0 libgl1-mesa-dri)"
_CUDA_FOLDER = re.compile(r"/usr/local/cuda(?:-[\d.]+)?(?=[/:\s\"'\\]|$)")
_INDEX = re.compile(r"(https://download\.pytorch\.org/whl/(?:nightly/|test/)?)cu\d+")
_PIP_CUDA = re.compile(
    r"(?<![\w./-])(?:nvidia-[\w-]+-cu1\d|nvidia-ml-py|pynvml|cupy-cuda\w+)(?:[=<>~!]=?[\w.*]+)?(?=\s|\\|$)"
)


_INSTALLS_TORCH = re.compile(
    r"\bpip3?\s+install\b[^&;|]*(?<![\w./-])(?:torch|flash[-_]attn|xformers|vllm)(?=[=<>~\s\[]|$)"
)
_INSTALLS_ALL = re.compile(
    r"\buv\s+(?:sync|pip\s+sync)\b|\bpoetry\s+install\b|\bpip3?\s+install\b[^&;|]*(?:\s-r\s|\s-e\s|\s\.(?:\s|\[|$))"
)


@dataclass(frozen=True)
class Instruction:
    """One instruction with its continuation lines; comments and blank lines are instructions without a word."""

    word: str
    text: str
    line: int


@dataclass
class _Twin:
    path: str
    findings: list[Finding] = field(default_factory=list)
    arguments: dict[str, tuple[str, str]] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    stages: set[str] = field(default_factory=set)
    asks_version: bool = False
    is_nvidia: bool = False
    steps: StageInstalls = field(default_factory=lambda: StageInstalls(InstallPlan()))

    def say(self, line: int, message: str, safety: Safety = Safety.MANUAL) -> None:
        self.findings.append(Finding(CODE, self.path, line, 1, message, safety))


def is_dockerfile(path: str) -> bool:
    """By its name."""
    name = PurePosixPath(path).name.lower()
    return name.endswith((".dockerfile", ".containerfile")) or bool(
        re.fullmatch(r"(?:docker|container)file(?:[._-].*)?", name)
        and not name.endswith((".md", ".py", ".dockerignore", ".j2"))
    )


def instructions(text: str) -> list[Instruction]:
    """A Dockerfile in pieces whose texts, joined, are the file again."""
    lines = text.splitlines(keepends=True)
    found: list[Instruction] = []
    at = 0
    while at < len(lines):
        start = at
        stripped = lines[at].strip()
        if not stripped or stripped.startswith("#"):
            found.append(Instruction("", lines[at], at + 1))
            at += 1
            continue
        heredocs = re.findall(r"<<-?[\"']?(\w+)[\"']?", lines[at])
        # Comments between continuation lines belong to the instruction.
        while at < len(lines) - 1 and (lines[at].rstrip().endswith("\\") or (at > start and _is_comment(lines[at]))):
            at += 1
            heredocs += [] if _is_comment(lines[at]) else re.findall(r"<<-?[\"']?(\w+)[\"']?", lines[at])
        for ending in heredocs if stripped.split()[0].upper() in ("RUN", "COPY") else ():
            while at < len(lines) - 1 and lines[at].strip() != ending:
                at += 1
        at += 1
        found.append(Instruction(stripped.split()[0].upper(), "".join(lines[start:at]), start + 1))
    return found


def _is_comment(line: str) -> bool:
    return line.strip().startswith("#")


def dockerfile_twin(path: str, text: str, plan: InstallPlan | None = None) -> tuple[str | None, list[Finding]]:
    """The twin, or None where nothing in the file is NVIDIA's; and what has to be filled in."""
    twin = _Twin(path, steps=StageInstalls(plan or InstallPlan()))
    parts: list[str] = []
    first_from: int | None = None
    for item in instructions(text):
        if item.word == "ARG":
            twin.defaults.update(re.findall(r"(\w+)=[\"']?([^\s\"']+)", item.text))
        if item.word == "FROM":
            first_from = len(parts) if first_from is None else first_from
            twin.asks_version = False
            twin.steps.has_torch = False
            parts.append(_from(item, twin))
        elif item.word in ("ENV", "ARG"):
            parts.append(_environment(item, twin))
        elif item.word == "RUN":
            parts.append(_run(item, twin))
        else:
            parts.append(_other(item, twin))
    if not twin.is_nvidia or first_from is None:
        return None, []
    head = "".join(
        f"# Choose a tag of {image} ({note or 'see its page'}): --build-arg {name}={image}:TAG\nARG {name}\n"
        for name, (image, note) in sorted(twin.arguments.items())
    )
    parts.insert(first_from, head)
    twin.say(1, f"NVIDIA's image: `kpt port` writes the twin {_twin_name(path)}", Safety.SAFE)
    return "".join(parts), twin.findings


def _twin_name(path: str) -> str:
    from kernel_pytorch.port.deploy.places import twin_path

    return twin_path(path)


@cache
def _images() -> list[tuple[re.Pattern[str], dict[str, str]]]:
    return [(re.compile(row["pattern"], re.IGNORECASE), row) for row in read_table("images.csv")]


@cache
def _packages() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(row["pattern"]), row["rocm"]) for row in read_table("apt_packages.csv")]


def image_row(image: str) -> dict[str, str] | None:
    """The row of an image that is NVIDIA's, whatever tag or digest it has."""
    name = image.split("@")[0]
    return next((row for pattern, row in _images() if pattern.fullmatch(name)), None)


def _from(item: Instruction, twin: _Twin) -> str:
    match = re.match(r"(FROM\s+(?:--\S+\s+)*)(\S+)", item.text, re.IGNORECASE)
    if match is None:
        return item.text
    named = re.search(r"\s+AS\s+(\S+)", item.text, re.IGNORECASE)
    image = re.sub(r"\$\{?(\w+)(?::?-([^}]*))?\}?", lambda found: twin.defaults.get(found[1], found[2] or ""), match[2])
    is_stage = match[2] in twin.stages
    if named:
        twin.stages.add(named[1])
    row = None if is_stage else image_row(image)
    if row is None:
        return item.text
    twin.is_nvidia = True
    if row["image"] == "?":
        twin.say(item.line, f"{image}: {row['note']}")
        return f"# kpt: {row['note']}\n{item.text}"
    name = row["argument"]
    if twin.arguments.get(name, (row["image"], ""))[0] != row["image"]:
        name += "_" + re.sub(r"\W+", "_", row["image"].rpartition("-")[2] or "2")
    twin.arguments[name] = (row["image"], row["note"])
    twin.steps.has_torch = name.startswith("ROCM_PYTORCH")
    twin.say(item.line, f"{image}: choose the tag of {row['image']} that fits (--build-arg {name}=...)")
    return item.text[: match.start(2)] + f"${{{name}}}" + item.text[match.end(2) :]


def _environment(item: Instruction, twin: _Twin) -> str:
    text = item.text
    drivers = [name for name in DRIVER_ENV if re.search(rf"\b{name}[= ]\S*nvidia", text)]
    for name in (*DROPPED_ENV, *drivers):
        text = re.sub(rf"(?<=\s){name}(?:=(?:\"[^\"]*\"|'[^']*'|\S+)|\s+\S+)[ \t]*(?:\\\r?\n[ \t]*)?", "", text)
    if text != item.text:
        twin.is_nvidia = True
        # What is left may be the word alone, or end in the backslash of what was cut.
        text = re.sub(r"\\\s*\Z", "\n", text)
        if text.split() == [item.word]:
            return _commented(item.text)
    return _rocm_folders(harmless(text))


def _rocm_folders(text: str) -> str:
    if not _CUDA_FOLDER.search(text):
        return text
    text = _CUDA_FOLDER.sub("/opt/rocm", text).replace("/opt/rocm/compat", "/opt/rocm/lib")
    return re.sub(r"(/opt/rocm/lib)64\b", r"\1", text)


def _run(item: Instruction, twin: _Twin) -> str:
    if _ICD.search(item.text):
        twin.is_nvidia = True
        is_script = "<<" in item.text or re.search(r"(?:^|[;&\s])(?:if|for|while|case)\s", item.text)
        twin.say(item.line, _MESA.replace(": left out;", ": a person takes it out;") if is_script else _MESA)
        return item.text if is_script else _without_driver_files(item.text)
    twin.steps.copies(item.text)
    # A heredoc is a script of its own, which is not taken apart.
    text = item.text if "<<" in item.text else _installs(item, twin)
    if re.search(r"\b(?:apt|apt-get|aptitude)\b[^&;|]*\binstall\b", text):
        text = _apt(text, item, twin)
    if _PIP_CUDA.search(text) and re.search(r"\bpip3?\b|\buv\b", text):
        twin.say(item.line, "packages for CUDA alone are left out: " + ", ".join(_PIP_CUDA.findall(text)))
        text = _PIP_CUDA.sub("", text)
    if _INDEX.search(text):
        text = re.sub(r"(\btorch(?:vision|audio)?==[\w.]+)\+cu\d+", r"\1", text)
        twin.say(item.line, "torch comes from an index for CUDA: give the ROCm version (--build-arg ROCM_VERSION=...)")
        text = _INDEX.sub(r"\1rocm${ROCM_VERSION}", text)
        if not twin.asks_version:
            twin.asks_version = True
            text = "ARG ROCM_VERSION\n" + text
    elif not twin.steps.messages and _INSTALLS_TORCH.search(text):
        twin.say(item.line, "pip would put a CUDA build over ROCm's: `kpt deps` plans this step")
    elif not twin.steps.messages and _INSTALLS_ALL.search(text):
        twin.say(item.line, "installs what the project pins, CUDA's torch included: `kpt deps` plans this step")
    for word in ("nvidia-smi", "nvcc", "developer.download.nvidia.com"):
        if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text):
            twin.say(item.line, f"uses {word}, which ROCm does not have")
    text = _rocm_folders(harmless(text))
    left = sorted(set(re.findall(r"[\w./=-]*cuda[\w./=-]*", text, re.IGNORECASE)) - {"CUDA", "cuda"})
    if left:
        twin.say(item.line, f"still mentions CUDA: {', '.join(left[:4])}")
    return text


def _installs(item: Instruction, twin: _Twin) -> str:
    """The instruction with its install steps through the ROCm plan, and the lists they read mounted."""
    text = twin.steps.rewrite(item.text)
    for message in twin.steps.messages:
        twin.say(item.line, message)
    if text == item.text:
        return text
    for mount in reversed(twin.steps.mounts):
        text = re.sub(r"\A(\s*RUN\s)", lambda match, mount=mount: f"{match[1]}{mount} ", text, flags=re.IGNORECASE)  # type: ignore[misc]
    if "${ROCM_VERSION}" in text and not twin.asks_version:
        twin.asks_version = True
        text = "ARG ROCM_VERSION\n" + text
    return text


def _without_driver_files(text: str) -> str:
    """A RUN without the statements that write such a file; as a comment where nothing else is left."""
    body = re.sub(r"\A\s*RUN\s+", "", text, flags=re.IGNORECASE)
    statements = [part.strip() for part in re.split(r"&&|;(?!\s*then)", body.replace("\\\n", " "))]
    kept = [part for part in statements if not _ICD.search(part)]
    if all(re.match(r"mkdir\b", part) for part in kept):
        return _commented(text)
    return "RUN " + " && ".join(kept) + "\n"


def _apt(text: str, item: Instruction, twin: _Twin) -> str:
    replaced: list[str] = []

    def one(match: re.Match[str]) -> str:
        for pattern, rocm in _packages():
            if pattern.fullmatch(match[0].split("=")[0]):
                replaced.append(f"{match[0]} -> {rocm or 'left out'}")
                return rocm
        return match[0]

    out = []
    for statement in re.split(r"(&&|;|\|\|)", text):
        is_install = re.search(r"\b(?:apt|apt-get|aptitude)\b.*\binstall\b", statement, re.DOTALL)
        out.append(re.sub(r"(?<=\s)[a-z][\w.+=*:-]*(?=\s|\\|$)", one, statement) if is_install else statement)
    if replaced:
        twin.is_nvidia = True
        twin.say(item.line, "apt packages: " + ", ".join(replaced))
    return "".join(out)


def _other(item: Instruction, twin: _Twin) -> str:
    if item.word in ("COPY", "ADD"):
        twin.steps.copies(item.text)
        if _ICD.search(item.text):
            twin.is_nvidia = True
            twin.say(item.line, _MESA)
            return _commented(item.text)
    if item.word == "WORKDIR":
        twin.steps.enters(item.text.split(maxsplit=1)[-1].strip())
    if item.word in ("CMD", "ENTRYPOINT") and twin.steps.synced:
        # uv run would put the lock file's torch back.
        return re.sub(r"(\buv\"?,?\s*\"?run\b)(?!\S*\s+\S*--no-sync)", _no_sync, item.text)
    match = re.match(r"(?:COPY|ADD)\s+.*--from=(\S+)", item.text)
    if match and match[1] not in twin.stages and image_row(match[1]):
        twin.say(item.line, f"copies from {match[1]}, an NVIDIA image")
    return _rocm_folders(item.text) if item.word in ("COPY", "WORKDIR") and "--from" not in item.text else item.text


def _no_sync(match: re.Match[str]) -> str:
    return match[1] + ('", "--no-sync' if '"' in match[1] else " --no-sync")


def _commented(text: str) -> str:
    return "".join(f"# kpt: not on ROCm: {line}" for line in text.splitlines(keepends=True))
