"""One requirement in pip's own notation, read into a `Declared` and written back."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement

from kernel_pytorch.port.deps.model import Declared
from kernel_pytorch.port.deps.packages import normalize

_COMMENT = re.compile(r"(^|\s)#.*$")
_LINE_OPTION = re.compile(r"\s--(hash|config-settings?|global-option|install-option|build-option)[= ].*$", re.DOTALL)
_VCS = re.compile(r"^(git|hg|svn|bzr)\+", re.IGNORECASE)
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_NAMED_URL = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(\[[^]]*\])?\s*@\s*(\S.*)$")
_CUDA_TAG = re.compile(r"(?:\+|%2B)[\w.]*?(?:cu|cuda)\d{2,3}", re.IGNORECASE)


def strip_comment(line: str) -> str:
    """The line without its comment: pip needs white space before the hash sign."""
    return _COMMENT.sub("", line).strip()


def parse(
    text: str,
    path: str,
    line: int,
    *,
    group: str = "",
    role: str = "runtime",
    editable: bool = False,
) -> Declared:
    """Read one requirement. Raises ValueError with the reason where pip would refuse it too."""
    body = _LINE_OPTION.sub("", strip_comment(text)).strip()
    marker = ""
    named = _NAMED_URL.match(body)
    if named and (_VCS.match(named[3]) or _URL.match(named[3])):
        address, marker = _split_marker(named[3])
        extras = tuple(part.strip() for part in (named[2] or "").strip("[]").split(",") if part.strip())
        return Declared(
            normalize(named[1]), body, path, line, group, role, extras=extras, marker=marker, url=address,
            editable=editable,
        )  # fmt: skip
    if _VCS.match(body) or (_URL.match(body) and not body.lower().startswith("file:")):
        address, marker = _split_marker(body)
        return Declared(
            name_from_url(address), body, path, line, group, role, marker=marker, url=address, editable=editable
        )
    if _looks_local(body) or editable:
        address, marker = _split_marker(body.removeprefix("file://").removeprefix("file:"))
        folder, _, extra = address.partition("[")
        extras = tuple(part.strip() for part in extra.rstrip("]").split(",") if part.strip())
        return Declared(
            _local_name(folder), body, path, line, group, role, extras=extras, marker=marker, local=folder.strip(),
            editable=editable,
        )  # fmt: skip
    try:
        requirement = Requirement(body)
    except InvalidRequirement as error:
        raise ValueError(f"not a requirement pip accepts: {body!r} ({str(error).splitlines()[0]})") from error
    return Declared(
        normalize(requirement.name),
        body,
        path,
        line,
        group,
        role,
        extras=tuple(sorted(requirement.extras)),
        specifier=str(requirement.specifier),
        marker=str(requirement.marker or ""),
        url=requirement.url or "",
        editable=editable,
    )


def _split_marker(text: str) -> tuple[str, str]:
    # PEP 508 wants white space before the semicolon after a URL, because a semicolon may be part of the URL.
    address, separator, marker = text.partition(" ;")
    if not separator:
        address, _, marker = text.partition("; ")
    return address.strip(), marker.strip()


def _looks_local(text: str) -> bool:
    lowered = text.lower()
    if lowered.startswith((".", "/", "file:", "~")):
        return True
    first = re.split(r"[\s;\[]", text, maxsplit=1)[0]
    return first.lower().endswith((".whl", ".tar.gz", ".zip")) or ("/" in first and "@" not in first)


def _local_name(folder: str) -> str:
    last = PurePosixPath(folder.replace("\\", "/")).name
    return name_from_file(last) if last.endswith((".whl", ".tar.gz", ".zip")) else normalize(last.strip("."))


def name_from_file(file_name: str) -> str:
    """The package name at the start of a wheel's or source archive's file name."""
    match = re.match(r"([A-Za-z0-9_.-]+?)-\d", unquote(file_name))
    return normalize(match[1]) if match else normalize(file_name)


def name_from_url(address: str) -> str:
    """The package behind a direct or version-control URL: its `egg`, wheel name or repository name."""
    parts = urlsplit(_VCS.sub("", address))
    fragment = dict(pair.split("=", 1) for pair in parts.fragment.split("&") if "=" in pair)
    if "egg" in fragment:
        return normalize(unquote(fragment["egg"]).partition("[")[0])
    path = unquote(parts.path)
    if _VCS.match(address):
        repository = path.partition("@")[0].rstrip("/").removesuffix(".git")
        return normalize(PurePosixPath(repository).name)
    return name_from_file(PurePosixPath(path).name)


def is_cuda_build(text: str) -> bool:
    """Whether a version or file name carries a CUDA tag such as `+cu121` or `+pt112cu113`."""
    return _CUDA_TAG.search(text) is not None


def without_cuda_tag(specifier: str) -> str:
    """A version specifier with local CUDA tags removed: `==2.1.0+cu118` becomes `==2.1.0`."""
    return _CUDA_TAG.sub("", specifier)


def render(name: str, *, extras: tuple[str, ...] = (), specifier: str = "", marker: str = "", url: str = "") -> str:
    """A requirement line pip and `packaging` read back."""
    text = name + (f"[{','.join(extras)}]" if extras else "")
    if url:
        text += f" @ {url}"
    elif specifier:
        text += specifier
    if marker:
        text += f" ; {marker}" if url else f"; {marker}"
    return text
