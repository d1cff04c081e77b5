"""Every row of a target: names of registers and messages, all opcodes of all formats, the halves of v_dual pairs."""

from __future__ import annotations

import re
from pathlib import Path

from decoder_llvm import Llvm
from decoder_opcode import Learner, Opcode
from decoder_questions import BASE, K, assemble, split

from kernel_pytorch.toolchain.machine_code.formats import Format, formats_of
from kernel_pytorch.toolchain.machine_code.images import FORMS as IMAGE_FORMS
from kernel_pytorch.toolchain.machine_code.images import has_known_shape
from kernel_pytorch.toolchain.machine_code.table import Row

#: What is known of a target: a row by format and opcode.
Rows = dict[tuple[str, int], Row]


def learn_names(llvm: Llvm, target: str) -> dict[tuple[str, int], str]:
    """Names of hardware registers and messages."""
    forms = {form.name: form for form in formats_of(target)}
    found: dict[tuple[str, int], str] = {}
    every = [(op << 23 | 0xB0000000 | 76 << 16).to_bytes(4, "little") for op in range(32)]
    getreg = next(op for op, (text, _) in enumerate(llvm.texts(every)) if text and text.startswith("s_getreg_b32"))
    codes = [assemble(forms["SOPK"], {"op": getreg, "sdst": 76, "simm": number | 31 << 11}) for number in range(64)]
    for number, (text, _) in enumerate(llvm.texts([code.to_bytes(4, "little") for code in codes])):
        if text and (match := re.search(r"hwreg\(([A-Z]\w*)\)", text)):
            found["HWREG", number] = match[1]
    every = [(op << 16 | 0xBF800000).to_bytes(4, "little") for op in range(128)]
    send = next(op for op, (text, _) in enumerate(llvm.texts(every)) if text and text.startswith("s_sendmsg "))
    codes = [assemble(forms["SOPP"], {"op": send, "simm": number}) for number in range(0x400)]
    for number, (text, _) in enumerate(llvm.texts([code.to_bytes(4, "little") for code in codes])):
        if text and (match := re.search(r"sendmsg\((MSG_.*)\)", text)):
            found["MESSAGE", number] = match[1]
    return found


def learn_target(program: Path, target: str) -> tuple[Rows, list[str]]:
    """Every row of a target, and what could not be learned."""
    llvm = Llvm(program, target)
    names = learn_names(llvm, target)
    rows = {key: Row(name, (), ()) for key, name in names.items()}
    learned, problems = _answered(llvm, _questions(target, names))
    rows.update(learned)
    for form_name, opcode in [key for key in rows if key[0].endswith("_RTN")]:
        plain = rows.get((form_name[:-4], opcode))
        if plain and plain.operands == rows[form_name, opcode].operands:
            del rows[form_name, opcode]
    rows.update(learn_dual(llvm, target))
    rows.update(learn_images(llvm, target))
    return rows, problems


def learn_images(llvm: Llvm, target: str) -> Rows:
    """Names of image instructions; their operands follow from them (machine_code/images.py)."""
    rows = {}
    seen = set()
    for form in formats_of(target):
        if form.name not in IMAGE_FORMS or form.name in seen:
            continue
        seen.add(form.name)
        opcodes = [(high << 7 | low) for high in range(2 if "oph" in form.places() else 1) for low in range(256)]
        opcodes = [one for one in opcodes if one & 127 <= form.places()["op"][1] and one < 256]
        base = {"dmask": 1, "dim": 1, "vdata": 56, "vaddr": 48, "srsrc": 8, "ssamp": 0}
        fields = [{**base, "op": one if "oph" not in form.places() else one & 127, "oph": one >> 7} for one in opcodes]
        codes = [assemble(form, one).to_bytes(form.bits // 8, "little") for one in fields]
        for opcode, (text, _) in zip(opcodes, llvm.texts(codes), strict=True):
            if text and has_known_shape(mnemonic := text.partition(" ")[0]):
                address = split(text)[1][1]
                first, _, last = address.strip("v[]").partition(":")
                is_least = "dim" not in form.places()
                operands = (f"vaddr:v{int(last or first) - int(first) + 1}",) if is_least else ()
                rows[form.name, opcode] = Row(mnemonic, operands, ())
    return rows


def _questions(target: str, names: dict[tuple[str, int], str]) -> dict[tuple[str, int], tuple[Format, Learner]]:
    """A learner for every opcode of every format; those that may return the old value have one for each form."""
    learners: dict[tuple[str, int], tuple[Format, Learner]] = {}
    seen: set[str] = set()
    for form in formats_of(target):
        if form.name in seen:
            continue
        seen.add(form.name)
        if form.name == "VOPD" or form.name in IMAGE_FORMS:
            continue
        for opcode in range(form.places()["op"][1] + 1):
            variants: list[tuple[str, dict[str, int]]] = [("", {})]
            if form.name[:4] in ("FLAT", "GLOB", "SCRA", "MUBU"):
                flag = next(name for name in ("glc", "sc0", "th") if name in form.places())
                variants.append(("_RTN", {flag: 1}))
            for suffix, base in variants:
                learners[form.name + suffix, opcode] = form, Opcode(form, opcode, base, target, names).learn()
    return learners


def _answered(llvm: Llvm, learners: dict[tuple[str, int], tuple[Format, Learner]]) -> tuple[Rows, list[str]]:
    """What the learners end with. The questions of all go to LLVM together, round after round."""
    rows: Rows = {}
    problems: list[str] = []
    waiting = {key: asked for key, (_, learner) in learners.items() if (asked := next(learner, None)) is not None}
    while waiting:
        keys = list(waiting)
        codes, spans = [], []
        for key in keys:
            size = learners[key][0].bits // 8 + 4
            spans.append(len(waiting[key]))
            codes += [word.to_bytes(size, "little") for word in waiting[key]]
        answers = [text for text, _ in llvm.texts(codes)]
        at, again = 0, {}
        for key, span in zip(keys, spans, strict=True):
            try:
                again[key] = learners[key][1].send(answers[at : at + span])
            except StopIteration as done:
                if done.value is not None:
                    rows[key] = done.value
            except LookupError as error:
                problems.append(str(error))
            at += span
        waiting = again
    return rows, problems


def learn_dual(llvm: Llvm, target: str) -> Rows:
    """The halves of v_dual pairs."""
    form = next((one for one in formats_of(target) if one.name == "VOPD"), None)
    if form is None:
        return {}
    base = {name: BASE[name] for name in ("srcx", "vsrcx", "vdstx", "srcy", "vsrcy", "vdsty")}
    rows = {}
    # v_dual_mov_b32 is 8 in both halves; it has one source, and the field of a second one must be zero.
    for half, field, count in (("x", "opx", 16), ("y", "opy", 32)):
        other = {"x": "vsrcy", "y": "vsrcx"}[half]
        questions = []
        for opcode in range(count):
            for unused in ({}, {f"vsrc{half}": 0}):
                questions.append((opcode, {**base, "opx": 8, "opy": 8, field: opcode, other: 0, **unused}))
        codes = [(assemble(form, fields) | K << 64).to_bytes(12, "little") for _, fields in questions]
        for (opcode, _), (text, _) in zip(questions, llvm.texts(codes), strict=True):
            if text is None or " :: " not in text or (f"VOPD{half.upper()}", opcode) in rows:
                continue
            mnemonic, tokens, _ = split(text.split(" :: ")[half == "y"])
            operands = [f"vdst{half}:v1", f"src{half}:x1"]
            for token in tokens[2:]:
                if token == f"0x{K:x}":
                    operands.append("literal:k1")
                elif token == f"v{BASE[f'vsrc{half}']}":
                    operands.append(f"vsrc{half}:v1")
                else:
                    operands.append(token)
            rows[f"VOPD{half.upper()}", opcode] = Row(mnemonic, tuple(operands), ())
    return rows
