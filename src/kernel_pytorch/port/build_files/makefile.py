"""Makefile.hip out of a Makefile with nvcc: the same text with compiler, flags, libraries and suffixes changed.

What cannot be seen (included files, other makefiles) or has no counterpart stops the derivation: there is no twin then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernel_pytorch.port.build_files.nvcc_flags import HIP_ARCH, map_flags

_COMPILER = re.compile(r"(?:[\w$(){}./~-]*/)?nvcc\Z")
_MENTIONS_NVCC = re.compile(r"(?<![\w-])nvcc(?![\w-])")
_ASSIGNMENT = re.compile(r"(\s*(?:(?:export|override)\s+)*[\w.$(){}-]+\s*(?:\?|:{1,3}|\+|!)?=)(.*)\Z", re.DOTALL)
_RULE = re.compile(r"[^\s#=][^=#]*?:(?!=)")
_CONDITIONAL = re.compile(r"\s*(?:ifeq|ifneq|ifdef|ifndef|else|endif)\b")
_INCLUDE = re.compile(r"\s*(-include|sinclude|include)\s+(.*)")
_SUFFIX = re.compile(r"\.cu(?![\w])")
_NESTED_ARCH = re.compile(r"-gencode[ =]arch=(?:\$\([^()]*\)|\$\{[^{}]*\}|[^\s()])*")
# Where the compiler is looked for, and what people are told about it.
_LOOKED_FOR = re.compile(r"(\$\(shell\s+(?:which|command -v|where)\s+)nvcc\b")
# A condition on a CUDA installation, which holds where there is one.
_LOOKED_AT = re.compile(r"\$[({]wildcard\s[^(){}]*[)}]")
_MESSAGE = re.compile(r"\$\((?:info|warning|error)\s[^()]*\)")
# For a compiler that was looked for: hipcc adds these flags to each compile command.
_OPENED = "export HIPCC_COMPILE_FLAGS_APPEND := $(HIPCC_COMPILE_FLAGS_APPEND) -DUSE_ROCM\n"
_HEAD = """# Derived from {name} by kpt: the same build with hipcc. HIP_ARCH=gfx942 builds for that GPU.
HIP_ARCH ?= native
"""
_ROCM = "ROCM_PATH ?= /opt/rocm\n"
# A recipe that calls another compiler than nvcc: it gets the flags of the same variables.
_HOST_COMPILER = re.compile(
    r"\t[@-]*(?:\$[({](?:CC|CPP|LD|\w*CXX|\w*GCC|HOST\w*)[)}]|(?:g?cc|[gc]\+\+|clang(?:\+\+)?)\s)"
)


@dataclass(frozen=True)
class DerivedMakefile:
    """The twin's text, or None with the obstacles; `notes` say what was changed and why.

    `stops` are obstacles inside a condition of the Makefile: where it holds, the twin ends with that message.
    """

    text: str | None
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()


@dataclass
class _State:
    suffix: str = ".hip"  # of the ported sources
    compiler: str = "hipcc"
    obstacles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    relocatable: bool = False
    compilers: frozenset[str] = frozenset()  # variables that hold nvcc
    for_host: bool = False
    conditions: int = 0  # how many are open
    stops: list[str] = field(default_factory=list)


def uses_nvcc(text: str) -> bool:
    """Whether a Makefile names nvcc outside comments."""
    return any(_MENTIONS_NVCC.search(_without_comment(line)) for line in text.splitlines())


def derive_makefile(text: str, name: str = "Makefile", in_place: bool = False) -> DerivedMakefile:
    """The hipcc twin of a Makefile. Sources named .cu are expected as .hip, which is what the copy layout writes.

    `in_place`: they keep their names and have gates, which -DUSE_ROCM opens. hipcc takes a .cu file for HIP.
    """
    compilers = _compiler_variables(text)
    state = _State(compilers=compilers, for_host=_calls_a_host_compiler(text, compilers))
    if in_place:
        state.suffix, state.compiler = ".cu", "hipcc -DUSE_ROCM"
    head = _HEAD.format(name=name) + (_OPENED if in_place and _LOOKED_FOR.search(text) else "")
    head += _ROCM if state.for_host else ""
    text = _MESSAGE.sub(lambda message: _MENTIONS_NVCC.sub("hipcc", message[0]), _LOOKED_FOR.sub(r"\1hipcc", text))
    out: list[str] = []
    in_define = False
    for line in logical_lines(text):
        stripped = line.strip()
        if stripped.startswith("define "):
            in_define = True
        if in_define or not stripped or stripped.startswith("#"):
            if in_define and _MENTIONS_NVCC.search(line):
                state.obstacles.append("nvcc in a define block")
            in_define = in_define and stripped != "endef"
            out.append(line)
            continue
        out.append(_or_stop(line, name, state))
    derived = "".join(out)
    if state.relocatable:
        derived = _with_device_link(derived)
    state.obstacles += _leftovers(derived)
    obstacles = tuple(dict.fromkeys(state.obstacles))
    notes = tuple(dict.fromkeys(state.notes))
    if obstacles:
        return DerivedMakefile(None, (*obstacles, *state.stops), notes)
    return DerivedMakefile(head + derived, (), notes, tuple(dict.fromkeys(state.stops)))


def _calls_a_host_compiler(text: str, compilers: frozenset[str]) -> bool:
    """Whether a recipe calls a compiler that is not nvcc, nor a variable that holds it."""
    for line in text.splitlines():
        found = _HOST_COMPILER.match(line)
        if found and not any(f"({name})" in found[0] or f"{{{name}}}" in found[0] for name in compilers):
            return True
    return False


def _or_stop(line: str, name: str, state: _State) -> str:
    """The line for hipcc. A value that has none and stands in a condition ends make, where that condition holds."""
    before = len(state.obstacles)
    if _CONDITIONAL.match(line):
        word = line.split()[0].partition("(")[0]
        state.conditions += 1 if word.startswith("if") else -1 if word == "endif" else 0
    made = _line(line, name, state)
    new = state.obstacles[before:]
    if not new or not state.conditions or line.startswith("\t") or not _ASSIGNMENT.match(line):
        return made
    del state.obstacles[before:]
    state.stops += new
    said = re.sub(r"[$#()]", "", "; ".join(new))
    return f"$(error {name}.hip: {said})\n"


def _compiler_variables(text: str) -> frozenset[str]:
    """Variables whose value names nvcc, and those made from such a variable."""
    names: set[str] = set()
    for _ in range(3):
        for line in logical_lines(text):
            found = re.match(
                r"\s*(?:(?:export|override)\s+)*([\w.-]+)\s*(?:\?|:{1,3}|\+)?=(.*)", _without_comment(line), re.DOTALL
            )
            if found and (
                _MENTIONS_NVCC.search(found.group(2)) or any(f"$({name})" in found.group(2) for name in names)
            ):
                names.add(found.group(1))
    return frozenset(names)


def logical_lines(text: str) -> Iterator[str]:
    """Lines with their continuations, line ends kept."""
    current = ""
    for line in text.splitlines(keepends=True):
        current += line
        if re.search(r"\\\r?\n\Z", line):
            continue
        yield current
        current = ""
    if current:
        yield current


def _line(line: str, name: str, state: _State) -> str:
    include = _INCLUDE.match(line)
    if include:
        what = include.group(2).strip()
        if not re.search(r"\.d\b|DEP|dep", what):
            state.obstacles.append(f"include {what}: what it sets cannot be seen here")
        return line
    if _CONDITIONAL.match(line):
        return line
    if line.startswith("\t"):
        return _recipe(line, name, state)
    assignment = _ASSIGNMENT.match(line)
    if assignment and not _RULE.match(assignment.group(1)):
        return assignment.group(1) + _words(assignment.group(2), state)
    if _RULE.match(line):
        head, semicolon, recipe = line.partition(";")
        return _rule_head(head, name, state) + semicolon + (_recipe(recipe, name, state) if semicolon else "")
    return _words(line, state)


def _rule_head(text: str, name: str, state: _State) -> str:
    changed = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])", f"{name}.hip", text)
    return _SUFFIX.sub(state.suffix, changed)


def _recipe(line: str, name: str, state: _State) -> str:
    if re.search(r"\$[({]MAKE[)}]|(?:^|[\s;&|@-])make\s", line):
        state.obstacles.append("a recipe runs make on another makefile")
    if re.search(r"-o\s+\S+\s*$|-o\b", line) and "Makefile" in line:
        line = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])", f"{name}.hip", line)
    called = _MENTIONS_NVCC.search(line) or any(
        f"$({name})" in line or f"${{{name}}}" in line for name in state.compilers
    )
    if not called:
        return _SUFFIX.sub(state.suffix, line)  # another program's words are not flags of nvcc
    return _words(line, state)


def _words(text: str, state: _State) -> str:
    """Maps the words of a value or a command, keeping the white space between them."""
    body, comment = _split_comment(text)
    pieces = _pieces(body)
    words = [piece for piece in pieces if not piece.isspace()]
    if not any(_changes(word) for word in words):
        return text
    plain = [_renamed(word, state) for word in words]
    mapped = map_flags(plain, for_host=state.for_host)
    state.notes += mapped.notes
    state.obstacles += mapped.obstacles
    state.relocatable = state.relocatable or mapped.relocatable
    if mapped.words == plain and len(plain) == len(words):
        # Only names changed: the layout stays as it was, word for word.
        replacements = iter(plain)
        return "".join(piece if piece.isspace() else next(replacements) for piece in pieces) + comment
    return _laid_out(pieces, words, plain, mapped.words) + comment


def _laid_out(pieces: list[str], words: list[str], plain: list[str], new: list[str]) -> str:
    """The new words on the old line: leading space, line continuations of unchanged words, and the ending stay."""
    lead = pieces[0] if pieces and pieces[0].isspace() else ""
    trail = pieces[-1] if len(pieces) > 1 and pieces[-1].isspace() else ""
    return lead + " ".join(new) + trail


def _changes(word: str) -> bool:
    return bool(
        _COMPILER.match(word)
        or _SUFFIX.search(word)
        or word.lstrip("\"'").startswith("-")
        or "gencode" in word
        or "-arch" in word
    )


def _renamed(word: str, state: _State) -> str:
    if _COMPILER.match(word):
        return state.compiler
    word = _NESTED_ARCH.sub(HIP_ARCH, word) if word.startswith("$") else word
    if word.startswith("-") and not word.startswith("-o"):
        return word
    return _SUFFIX.sub(state.suffix, word)


def _pieces(text: str) -> list[str]:
    """Words and the white space (with continuations) between them; `$(...)` and quotes are one word."""
    pieces: list[str] = []
    position = 0
    while position < len(text):
        space = re.compile(r"(?:\s|\\\r?\n)+").match(text, position)
        if space:
            pieces.append(space.group())
            position = space.end()
            continue
        end = _word_end(text, position)
        pieces.append(text[position:end])
        position = end
    return [" " if piece.isspace() is False and re.fullmatch(r"(?:\s|\\\r?\n)+", piece) else piece for piece in pieces]


def _word_end(text: str, start: int) -> int:
    depth = 0
    quote = ""
    position = start
    while position < len(text):
        char = text[position]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "({" and position and text[position - 1] == "$":
            depth += 1
        elif char in ")}" and depth:
            depth -= 1
        elif (char.isspace() and not depth) or (char == "\\" and re.match(r"\\\r?\n", text[position:]) and not depth):
            break
        position += 1
    return position


def _split_comment(text: str) -> tuple[str, str]:
    found = re.search(r"(?<!\\)#", text)
    if not found or text.lstrip().startswith(("@echo", "echo")):
        return text, ""
    return text[: found.start()], text[found.start() :]


def _without_comment(line: str) -> str:
    return _split_comment(line)[0]


def _with_device_link(text: str) -> str:
    """Relocatable device code is linked by hipcc itself, which has to be told in the link command."""
    lines = []
    for line in logical_lines(text):
        is_link = line.startswith("\t") and re.search(r"\s-o\b", line) and not re.search(r"\s-c\b|-M\w*\b", line)
        lines.append(re.sub(r"\s-o\b", " -fgpu-rdc --hip-link -o", line, count=1) if is_link else line)
    return "".join(lines)


def _leftovers(text: str) -> list[str]:
    """Words of nvcc that survived in places the mapping does not reach."""
    found = []
    for line in text.splitlines():
        plain = _LOOKED_AT.sub("", _without_comment(line))
        for word in re.findall(r"(?<![\w-])nvcc(?![\w-])|-gencode|-Xptxas|--expt-\w+", plain):
            found.append(f"{word} in `{plain.strip()[:60]}`")
    return found
