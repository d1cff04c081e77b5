"""The install steps of a Dockerfile, through the ROCm install plan.

torch comes from PyTorch's ROCm index (or is in the image), Triton comes with it, and what the project asks for comes
from the lists that `kpt deps --write` makes; they reach the build by a bind mount, whatever was copied into the image.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

INDEX = "https://download.pytorch.org/whl/rocm${ROCM_VERSION}"
_TORCH = frozenset({"torch", "torchvision", "torchaudio"})
_TRITON = frozenset({"triton", "pytorch-triton", "triton-nightly"})
_STATEMENTS = re.compile(r"(&&|\|\||;|\|)")
_PIP = re.compile(
    r"(?P<tool>(?:\buv\s+pip|(?<!\S)(?:[\w./${}-]*/)?pip3?|(?<!\S)\S*python[\d.]*\s+-m\s+pip)\s+(?:install|sync))"
    r"(?P<rest>\s.*)\Z",
    re.DOTALL,
)
# What may stand before a command: the word RUN with its flags, comment lines, variables.
_BEFORE = re.compile(r"\s*(?:RUN\b\s*)?(?:--\S+\s+|\\\s*\n\s*|#[^\n]*\n\s*|\w+=\S*\s+|sudo\s+)*", re.IGNORECASE)
_SYNC = re.compile(r"\buv\s+sync\b(?P<rest>.*)\Z", re.DOTALL)
_WITH_VALUE = frozenset({
    "-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-i", "--index-url", "--extra-index-url", "-f",
    "--find-links", "-t", "--target", "--python", "--index-strategy", "--prefix", "--root", "--no-binary",
    "--only-binary", "--upgrade-strategy", "--platform", "--python-version", "--config-settings", "-C", "--timeout",
    "--retries",
})  # fmt: skip
_UV_PYTHON = '--python "${UV_PROJECT_ENVIRONMENT:-.venv}"'


@dataclass(frozen=True)
class InstallPlan:
    """What a Dockerfile's project is: its files, its own name, and which folders `kpt deps` writes a list for.

    `folders` maps a folder ("." for the root) to the packages of torch that its files ask for.
    """

    listed: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    folders: Callable[[], dict[str, tuple[str, ...]]] = dict


@dataclass
class StageInstalls:
    """What has been seen of one build stage so far, and what the steps of an instruction turned out to need."""

    plan: InstallPlan
    has_torch: bool = False
    synced: bool = False
    copied: dict[str, str] = field(default_factory=dict)
    homes: set[str] = field(default_factory=set)  # folders that the whole project was copied into
    cloned: set[str] = field(default_factory=set)  # folders of other projects
    is_elsewhere: bool = False  # the current folder is not the project's: "." is something else
    mounts: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def copies(self, text: str) -> None:
        """Remembers which file of the project a COPY, an ADD or a bind mount puts where."""
        for mount in re.findall(r"--mount=(\S+)", text):
            facts = dict(part.partition("=")[::2] for part in mount.split(","))
            if facts.get("type") == "bind" and "from" not in facts and "target" in facts:
                self.copied[PurePosixPath(facts["target"]).name] = _clean(facts.get("source", ""))
        words = [word for word in text.replace("\\\n", " ").split() if not word.startswith("--")]
        if words[:1] not in (["COPY"], ["ADD"]) or "--from" in text or len(words) < 3:
            return
        *sources, target = words[1:]
        if sources in (["."], ["./"]):
            self.homes.add(PurePosixPath(target).name)
        for source in sources:
            self.copied[PurePosixPath(source).name] = _clean(source)
        if len(sources) == 1 and not target.endswith("/"):
            self.copied[PurePosixPath(target).name] = _clean(sources[0])

    def enters(self, folder: str) -> None:
        """A WORKDIR or a `cd`: is what lies there the project?"""
        name = PurePosixPath(folder.strip("\"'")).name
        self.is_elsewhere = name in self.cloned and name not in self.homes

    def rewrite(self, text: str) -> str:
        """The shell text of a RUN with its install steps going the ROCm way."""
        self.mounts, self.messages = [], []
        was = self.is_elsewhere
        parts = _STATEMENTS.split(text)
        done = "".join(part if at % 2 else self._statement(part) for at, part in enumerate(parts))
        self.is_elsewhere = was
        return done

    def _statement(self, text: str) -> str:
        clone = re.search(r"\bgit\s+clone\b(.*)", text, re.DOTALL)
        if clone is not None:
            self.cloned.update(PurePosixPath(word.removesuffix(".git")).name for word in clone[1].split())
        move = re.search(r"(?:^|\s)cd\s+(\S+)", text)
        if move is not None:
            name = PurePosixPath(move[1].strip("\"'")).name
            self.is_elsewhere = name not in self.homes and name not in (".", "app", "workspace", "workdir")
        sync = _SYNC.search(text)
        if sync is not None:
            return self._sync(text, sync)
        match = _PIP.search(text)
        if match is None or not _BEFORE.fullmatch(text[: match.start()]):
            return text
        rest = re.split(r"[ \t]#", match["rest"])[0]
        tail = match["rest"][len(rest.rstrip()) :]
        variables = _variables(text[: match.start()])
        done = self._pip(variables + " ".join(match["tool"].split()), _words(rest))
        return text if done is None else text[: match.start() - len(variables)] + done + tail

    def _pip(self, tool: str, words: list[tuple[str, str]]) -> str | None:
        """The commands that take the place of one; None where it may stay."""
        is_sync = tool.endswith("sync")
        if is_sync:  # its arguments are files, and it removes what they do not name
            words = [(option or "-r", value) for option, value in words]
        named = {_name(value): value for option, value in words if not option and _name(value)}
        triton = sorted(name for name in named if name in _TRITON)
        torch = [value for name, value in named.items() if name in _TORCH]
        own = [(option, value) for option, value in words if self._is_own(option, value)]
        lists, kept, folders = self._lists(words)
        if own and (self.is_elsewhere or "." not in self.plan.folders()):
            own = []
        has_index = any("download.pytorch.org" in value for _, value in words)
        moved = [value for value in torch if not has_index]
        if not (triton or moved or own or folders):
            self.has_torch = self.has_torch or bool(torch)
            return None
        if triton:
            self.messages.append(f"{', '.join(triton)} comes with ROCm's torch, a pin would replace it: left out")
        left = [
            (option, value)
            for option, value in kept
            if (option, value) not in own and (option or (_name(value) not in _TRITON and value not in moved))
        ]
        install = re.sub(r"\bsync$", "install", tool)
        commands = self._torch(install, moved, [*folders, *(["."] if own else [])])
        if own:
            lists = [self._mounted("."), *lists]
            extras = [extra for _, value in own for extra in re.findall(r"[\w-]+", _extras(value))]
            lists += [self._mounted(".", extra) for extra in extras]
            groups = "".join(f" --group {extra}" for extra in extras)
            self.messages.append(f"needs the project's ROCm list: run `kpt deps . --write{groups}` before the build")
        elif folders:
            self.messages.append("needs the ROCm list of these requirements: run `kpt deps . --write` before the build")
        options = [(option, value) for option, value in left if option]
        plain = [(option, value) for option, value in left if not option]
        if lists:
            commands.append(_command(install, [*options, *(("-r", path) for path in dict.fromkeys(lists))]))
        if own:
            commands.append(_command(f"{tool} --no-deps", [*options, *((o, _without_extras(v)) for o, v in own)]))
        if plain:
            commands.append(_command(tool, left))
        return " && ".join(commands) or "true"

    def _torch(self, tool: str, asked: list[str], folders: list[str]) -> list[str]:
        """The command that installs torch, before anything can ask for another one."""
        wanted = asked
        if not wanted and not self.has_torch:
            wanted = sorted({name for folder in folders for name in self.plan.folders()[folder]})
        if not wanted:
            return []
        if self.has_torch and asked:
            self.messages.append(f"{', '.join(asked)}: torch is there already, for ROCm: left out")
            return []
        self.has_torch = True
        plain = [re.sub(r"\+cu\d+", "", name) for name in wanted]
        self.messages.append("torch comes from PyTorch's ROCm index: give the version (--build-arg ROCM_VERSION=...)")
        return [f"{tool} {' '.join(plain)} --index-url {INDEX}"]

    def _sync(self, text: str, match: re.Match[str]) -> str:
        if self.is_elsewhere or "." not in self.plan.folders() or not _BEFORE.fullmatch(text[: match.start()]):
            return text
        self.synced = True
        variables = _variables(text[: match.start()])
        tool = f"{variables}uv pip install {_UV_PYTHON}"
        commands = [*self._torch(tool, [], ["."]), f"{tool} -r {self._mounted('.')}"]
        if "--no-install-project" not in match["rest"] and "--no-install-workspace" not in match["rest"]:
            commands.append(f"{tool} --no-deps -e .")
        self.messages.append("uv sync installs the lock file's CUDA torch: run `kpt deps . --write` before the build")
        tail = text[len(text.rstrip()) :]
        return text[: match.start() - len(variables)] + " && ".join(commands) + tail

    def _lists(self, words: list[tuple[str, str]]) -> tuple[list[str], list[tuple[str, str]], list[str]]:
        """The ROCm lists of the requirement files that have one, everything else, and the folders of the lists."""
        lists: list[str] = []
        folders: list[str] = []
        kept: list[tuple[str, str]] = []
        for option, value in words:
            is_file = option in ("-r", "--requirement")
            source = self.copied.get(PurePosixPath(value).name, _clean(value)) if is_file else ""
            folder = str(PurePosixPath(source).parent)
            if is_file and source in self.plan.listed and folder in self.plan.folders():
                lists.append(self._mounted(folder))
                folders.append(folder)
            else:
                kept.append((option, value))
        return lists, kept, folders

    def _mounted(self, folder: str, group: str = "") -> str:
        """Where a list is during the step."""
        group = re.sub(r"[^A-Za-z0-9]+", "-", group).strip("-")
        name = f"requirements-rocm{'-' + group if group else ''}.txt"
        source = name if folder == "." else f"{folder}/{name}"
        target = "/tmp/" + source.replace("/", "-")
        mount = f"--mount=type=bind,source={source},target={target}"
        if mount not in self.mounts:
            self.mounts.append(mount)
        return target

    def _is_own(self, option: str, value: str) -> bool:
        bare = _without_extras(value).strip("\"'").rstrip("/")
        if option in ("-e", "--editable"):
            return bare in (".", "")
        return not option and (bare in (".", "./.") or _name(value) in self.plan.names)


def _words(text: str) -> list[tuple[str, str]]:
    """The arguments in order: (option, its value), or ("", requirement)."""
    raw = re.findall(r"\"[^\"]*\"|'[^']*'|\S+", re.sub(r"\\\r?\n(?:\s*#[^\n]*\n)*", " ", text))
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(raw):
        word = raw[at]
        if word in _WITH_VALUE and at + 1 < len(raw):
            found.append((word, raw[at + 1]))
            at += 1
        elif word.startswith("-"):
            found.append((word, ""))
        else:
            found.append(("", word))
        at += 1
    return found


def _variables(text: str) -> str:
    """`NAME=value ` right in front of a command: it belongs to that command alone, so its parts each need it."""
    match = re.search(r"(?:\b[A-Za-z_]\w*=\S*\s+)+\Z", text)
    return re.sub(r"\s+", " ", match[0]) if match and "\n" not in match[0] and "  " not in match[0] else ""


def _command(tool: str, words: list[tuple[str, str]]) -> str:
    return " ".join([tool, *(part for pair in words for part in pair if part)])


def _name(value: str) -> str:
    match = re.match(r"[\"']?([A-Za-z][\w.-]*)", value)
    is_path = "/" in value or value.startswith(".")
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match and not is_path else ""


def _extras(value: str) -> str:
    match = re.search(r"\[([^\]]*)\]", value)
    return match[1] if match else ""


def _without_extras(value: str) -> str:
    return re.sub(r"\[[^\]]*\]", "", value)


def _clean(path: str) -> str:
    return PurePosixPath(path.strip("\"'")).as_posix().removeprefix("./")
