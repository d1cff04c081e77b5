"""Math libraries that are built when they are first called.

A program of which nobody knows what it will load gets a file for every stand-in of AMD's libraries: the real soname,
all its names, the real NEEDED entries. Behind the names is one jump each. The first call has the stand-in built, which
takes up to half a minute of processor time for one such as hipBLAS; most programs call none or one of sixteen.

build_stand_in.py is the program that the first call starts.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.core.whole_file import unfinished

COMMAND = "KPT_EMULATE_LIBRARY"
_SHARED = Path(__file__).parent / "native" / "libraries" / "common" / "on_call.cpp"
# The System V convention: what may hold arguments is kept while the library is built and loaded.
_WHOLE = ("rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10")
_VECTORS = range(8)


def can_wait() -> bool:
    """Whether the jumps can be written for this machine."""
    return platform.system() == "Linux" and platform.machine() in ("x86_64", "AMD64")


def command_words() -> str:
    """What KPT_EMULATE_LIBRARY says to a program."""
    return " ".join(python_module("kernel_pytorch.emulate.build_stand_in"))


def assembly(library: str, names: Sequence[str]) -> str:
    """The names of a library: each jumps where its slot says, at first to the place that has the library built."""
    lines = [
        '.section .note.GNU-stack,"",@progbits',
        ".section .rodata",
        *_string("kpt_library", [library]),
        *_string("kpt_names", [*names, ""]),
        ".data",
        ".p2align 3",
        ".hidden kpt_slots",
        ".globl kpt_slots",
        "kpt_slots:",
        *(f".quad .Lfirst{index}" for index in range(len(names))),
        ".text",
        *_first_call(),
    ]
    for index, name in enumerate(names):
        lines += [f".Lfirst{index}:", f"pushq ${index}", "jmp .Lbuild"]
        lines += [f".globl {name}", f".type {name},@function", f"{name}:", f"jmp *kpt_slots+{8 * index}(%rip)"]
        lines += [f".size {name},.-{name}"]
    return "\n".join((*lines, ""))


def _string(symbol: str, texts: Sequence[str]) -> list[str]:
    return [f".hidden {symbol}", f".globl {symbol}", f"{symbol}:", *(f'.asciz "{text}"' for text in texts)]


def _first_call() -> list[str]:
    kept = 8 * len(_WHOLE)
    room = 16 * len(_VECTORS)
    # A call wants the stack at a multiple of 16. It was there before the caller's address and the index came on it.
    room += -(8 + 8 + kept + room) % 16
    offset = kept + room  # of the index
    save = [f"movups %xmm{one},{16 * one}(%rsp)" for one in _VECTORS]
    back = [f"movups {16 * one}(%rsp),%xmm{one}" for one in _VECTORS]
    return [
        ".Lbuild:",
        *(f"pushq %{name}" for name in _WHOLE),
        f"subq ${room},%rsp",
        *save,
        f"movq {offset}(%rsp),%rdi",
        "call kpt_first_call",
        "movq %rax,%r11",
        *back,
        f"addq ${room},%rsp",
        *(f"popq %{name}" for name in reversed(_WHOLE)),
        "addq $8,%rsp",
        "jmp *%r11",
    ]


def build_on_call(
    folder: Path,
    names: Mapping[str, tuple[str, Sequence[str], Sequence[str]]],
    compiler: Sequence[str],
    run: Callable[[Sequence[str]], None],
) -> None:
    """Make the files in `folder`: library -> its soname, the sonames it needs, its functions."""
    if folder.is_dir():
        return
    with one_builder(folder):
        if folder.is_dir():
            return
        work = unfinished(folder)
        work.mkdir(parents=True)
        try:
            shared = work / "on_call.o"
            run([*compiler, "-std=c++17", "-fPIC", "-w", "-c", str(_SHARED), "-o", str(shared)])
            sonames = {soname for soname, _, _ in names.values()}
            empty, nothing = work / "empty", work / "nothing.s"
            empty.mkdir()
            nothing.write_text('.section .note.GNU-stack,"",@progbits\n')
            for outside in sorted({one for _, needs, _ in names.values() for one in needs} - sonames):
                run([*compiler, "-shared", "-fPIC", f"-Wl,-soname,{outside}", "-o", str(empty / outside), str(nothing),
                     "-ldl"])  # fmt: skip
            waiting = dict(names)
            while waiting:  # a library after those it needs
                for library, (soname, needs, functions) in list(waiting.items()):
                    if any(one in sonames and not (work / one).exists() for one in needs):
                        continue
                    del waiting[library]
                    source = work / f"{library}.s"
                    source.write_text(assembly(library, functions))
                    words = [f"-L{work}", f"-L{empty}", "-Wl,--no-as-needed", *(f"-l:{one}" for one in needs)]
                    words.append("-Wl,--as-needed")
                    run([*compiler, "-shared", "-pthread", f"-Wl,-soname,{soname}", "-o", str(work / soname),
                         str(source), str(shared), *words, "-ldl"])  # fmt: skip
            for made in (shared, nothing, *work.glob("*.s")):
                made.unlink(missing_ok=True)
            shutil.rmtree(empty)
            work.rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def identity(parts: Sequence[str]) -> str:
    """What the files are made of, as a part of a folder's name."""
    return hashlib.sha256(
        b"\0".join([*(part.encode() for part in parts), _SHARED.read_bytes(), Path(__file__).read_bytes()])
    ).hexdigest()[:16]
