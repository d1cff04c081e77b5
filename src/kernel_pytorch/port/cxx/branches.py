"""What the branch of a conditional holds: code, assertions only, definitions only."""

from __future__ import annotations

import re

from kernel_pytorch.port.cxx.directives import Branch, Conditional
from kernel_pytorch.port.cxx.source import CxxFile


def branch_taken(src: CxxFile, conditional: Conditional, position: int, truth: bool) -> Branch | None:
    """The branch that is compiled when the condition of branch `position` has that truth; None: no branch."""
    if truth:
        return conditional.branches[position]
    following = conditional.branches[position + 1 :]
    return following[0] if following else None


_LOOKED_AT = 1024


def branch_text(src: CxxFile, branch: Branch) -> bytes:
    """The text of a branch; of a very long one the beginning, ended by a word so that it counts as code."""
    start, end = branch.body.start, branch.body.end
    if end - start <= _LOOKED_AT:
        return src.data[start:end]
    return src.data[start : start + _LOOKED_AT] + b"\n..."


_NOTHING = re.compile(
    rb"\s+|//[^\n]*|/\*.*?\*/"
    rb"|(?:assert|__trap|trap|printf|abort|__builtin_trap|__brkpt|asm|NOT_IMPLEMENTED|[A-Z_]*ASSERT|[A-Z_]*UNREACHABLE|[A-Z_]*UNSUPPORTED)\w*\s*(?:volatile\s*)?\([^;]*?\)\s*;"
    rb"|static_assert\s*\([^;]*\)\s*;|return\s*;|__builtin_unreachable\s*\(\s*\)\s*;"
    # Kernels of a stream run one after the other on AMD: there is nothing to wait for, and nobody to tell.
    rb'|(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(\s*"\s*(?:griddepcontrol\.\w+|trap)\s*;[^"]*"[^;()]*\)\s*;'
    rb"|(?:cudaGridDependencySynchronize|cudaTriggerProgrammaticLaunchCompletion)\s*\(\s*\)\s*;",
    re.DOTALL,
)


def is_without_work(body: bytes) -> bool:
    """Whether a branch holds nothing but comments, assertions, traps, messages and waits for the kernel before it, or
    stops the compiler."""
    if re.search(rb"^[ \t]*#[ \t]*error\b", body, re.MULTILINE):
        return True
    position = 0
    while position < len(body):
        found = _NOTHING.match(body, position)
        if not found:
            return False
        position = found.end()
    return True


_END_OF_COPIES = re.compile(
    rb'asm\s*(?:volatile)?\s*\(\s*"cp\.async\.(?:commit|wait)_\w+[^;]*;[^;]*\)\s*;'
    rb"|\(void\)0;|kpt_(?:own_)?copies_done\(\);"  # what KP232 writes for it
)
# Lines that a port has put behind a gate: AMD's and NVIDIA's.
_GATED = re.compile(
    rb"^#if defined\(USE_ROCM\) \|\| defined\(__HIP_PLATFORM_AMD__\)\r?\n(.*?)^#else\r?\n.*?^#endif",
    re.MULTILINE | re.DOTALL,
)


def ends_copies(body: bytes) -> bool:
    """Whether a branch only ends a group of cp.async or waits for one. Where the copies have another form, there is no
    such group."""
    body = _GATED.sub(rb"\1", body) if b"USE_ROCM" in body else body
    rest, count = _END_OF_COPIES.subn(b"", body)
    return count > 0 and is_without_work(rest)


def only_defines(body: bytes) -> bool:
    """Whether a branch only switches macros: the code that tests them is what matters."""
    text = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", body, flags=re.DOTALL)
    text = re.sub(rb"\\\r?\n", b" ", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(
        re.match(rb"#\s*(?:define|undef|include|pragma|if|ifdef|ifndef|else|elif|endif)\b", line) for line in lines
    )


def only_pragmas(body: bytes) -> bool:
    """Whether a branch holds nothing but #pragma lines, which a compiler that does not know them ignores."""
    text = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", body, flags=re.DOTALL)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(re.match(rb"#\s*pragma\b", line) for line in lines)
