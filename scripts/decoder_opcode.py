"""What one opcode of one format is: asked with one field changed at a time, and read from the answers."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable

from decoder_llvm import Text
from decoder_questions import BASE, FLAGS, K, assemble, is_matrix, split, split_commas

from kernel_pytorch.toolchain.machine_code.formats import Format, formats_of
from kernel_pytorch.toolchain.machine_code.immediates import IMMEDIATES
from kernel_pytorch.toolchain.machine_code.operands import FLOATS, EncodingError
from kernel_pytorch.toolchain.machine_code.table import Row

STEPS = {"sbase": 2, "srsrc": 4}
NINE_BITS = ("src0", "src1", "src2", "scale0", "scale1", "srcx", "srcy")
REGISTER = re.compile(r"(-?)(\|?)(v|s|a)(?:\[(\d+):(\d+)\]|(\d+)(\.[lh])?)(\|?)\Z")
ORDER = (
    "bitop3", "op_sel", "op_sel_hi", "scale_sel", "scale_hi", "neg_lo", "neg_hi", "offset0", "offset1",
    "clamp", "omod", "cbsz", "abid", "blgp", "dst_sel", "dst_unused", "src0_sel", "src1_sel",
    "dpp_ctrl", "lanes", "masks", "bound_ctrl", "fi",
    "idxen", "offen", "offset", "th", "scope", "sc0", "glc", "slc", "nt", "sc1", "dlc", "scc", "tfe", "lds", "gds",
)  # fmt: skip
LISTS = {
    "op_sel": ("op_sel", "op_sel", 4), "op_sel_hi": ("op_sel_hi", "op_sel_hi", 3), "neg_lo": ("neg", "neg_lo", 3),
    "neg_hi": ("neg_hi", "neg_hi", 3), "scale_sel": ("scale_sel", "op_sel", 2),
    "scale_hi": ("scale_hi", "op_sel_hi", 2),
}  # fmt: skip
# Words that tell of a modifier: they are there whatever its value; or where the question had set it.
ALWAYS = {
    "dst_sel": "dst_sel:", "dst_unused": "dst_unused:", "src0_sel": "src0_sel:", "src1_sel": "src1_sel:",
    "dpp_ctrl": "quad_perm:", "lanes": "dpp8:", "masks": "row_mask:",
}  # fmt: skip
SHOWN = {
    "bitop3": "bitop3:1",
    "omod": "mul:2", "cbsz": "cbsz:3", "abid": "abid:3", "blgp": "blgp:3", "bound_ctrl": "bound_ctrl:1", "fi": "fi:1",
    "offset0": "offset0:3", "offset1": "offset1:3", "scope": "scope:SCOPE_DEV",
}  # fmt: skip

Learner = Generator[list[int], list[Text], "Row | None"]


class Opcode:
    """What is being learned about one opcode of one format."""

    def __init__(
        self, form: Format, opcode: int, base: dict[str, int], target: str, names: dict[tuple[str, int], str]
    ) -> None:
        self.form, self.opcode, self.generation = form, opcode, int(target[3:-2])
        self.forms, self.names = formats_of(target), names
        self.base = {**{k: v for k, v in BASE.items() if k in form.places()}, **base, "op": opcode}
        if form.name == "VOP3PX":
            self.base["abid"] = 1  # so it is with scales
        if form.name in ("SMEM_IMM", "SMEM_BOTH"):
            self.base["offset"] = 3
        if form.name in ("SOP1", "SOP2", "SOPK"):
            self.base["sdst"] = 76

    def word(self, **changes: int) -> int:
        return assemble(self.form, {**self.base, **changes}) | K << self.form.bits

    def learn(self) -> Learner:
        """Ask; the row, or None where there is no such instruction."""
        places = self.form.places()
        word = self.word()
        if next(one for one in self.forms if word & one.mask == one.value).name != self.form.name:
            return None  # another format has taken these bits
        starts: list[dict[str, int]] = []
        sources = [name for name in ("src0", "src1", "src2") if name in places and places[name][1] > 255]
        for choice in range(1 << len(sources)):
            scalars = {name: 16 + 4 * at for at, name in enumerate(sources) if choice >> at & 1}
            if self.form.name in ("VOP3", "VOP3_DPP", "VOP3_DPP8"):
                starts.append({**scalars, "sdst": 76})
            starts.append(scalars)
            if self.form.name.startswith("VOP3P"):
                # Some (WMMA) must have the default.
                starts.append({**scalars, "op_sel_hi": 3, "op_sel_hi2": 1, "scale_hi": 3})
            if self.form.name.endswith("_SDWA"):
                starts.append({**scalars, "dst_sel": 6})  # conversions of FP8 show none, and it must be the whole word
            if "saddr" in places and self.form.name == "FLAT":
                # What a flat access has there is not shown, and must be one value.
                starts = [{"saddr": value} for value in (0, 124, 125, 127)]
        if self.form.name == "DS":
            # Fields that an instruction has no use for must be zero.
            free = ("vdst", "data1", "data0", "addr")
            choices = sorted(range(16), key=lambda choice: choice.bit_count())
            starts = [{name: 0 for at, name in enumerate(free) if choice >> at & 1} for choice in choices]
        texts = yield [self.word(**start) for start in starts]
        for start, text in zip(starts, texts, strict=True):
            if text is not None and ("sdst" not in start or re.search(r"s\[?76", text)):
                break
        else:
            return None
        self.base.update(start)
        if text.startswith("s_sendmsg_rtn"):
            width = 2 if "b64" in text else 1
            return Row(text.partition(" ")[0], (f"sdst:s{width}", "ssrc0:e1"), ())
        if text.startswith("s_set_gpr_idx_on"):
            return Row("s_set_gpr_idx_on", ("ssrc0:s1", "ssrc1:j1"), ())
        mnemonic, tokens, words = split(text)
        self.is_matrix = is_matrix(mnemonic)
        if mnemonic.startswith("tbuffer_"):
            return None  # typed buffers are for graphics; their format is not understood
        if self.form.name == "VOP3PX" and mnemonic == "v_mfma_ld_scale_b32":
            return None  # not a pair
        if self.form.name in ("SOPP", "SOPK"):
            return (yield from self._with_immediate(text))
        operands = []
        for token in tokens:
            operands.append((yield from self._operand(token, tokens)))
        modifiers = yield from self._modifiers(words)
        if mnemonic == "ds_swizzle_b32":
            modifiers = ["swizzle", *(name for name in modifiers if name == "gds")]
        if self.form.name in ("VOPC_SDWA",):
            (changed,) = yield [self.word(sd=1, sdst=76)]
            shown = split(changed)[1] if changed else []
            if shown and (match := re.match(r"s\[76:77\]|s76", shown[0])):
                operands[0] = f"sdst:q{2 if '[' in match[0] else 1}"
        return Row(mnemonic, tuple(operands), tuple(modifiers))

    def _field_of(self, letter: str, number: int) -> str | None:
        for name, value in self.base.items():
            if name not in self.form.places() or name in ("op", "simm"):
                continue
            actual = value * STEPS.get(name, 1)
            kinds = "sva"
            if name in NINE_BITS and self.form.places()[name][1] > 255:
                actual, kinds = (value - 256, "va") if value >= 256 else (value, "s")
            elif name in NINE_BITS:
                actual = value & 255
            elif name == "vdsty":
                actual = value << 1 | (~self.base["vdstx"] & 1)
            elif name in ("ssrc0", "ssrc1", "sdata", "sbase", "soffset", "saddr", "srsrc", "srsrc128", "sdst"):
                kinds = "s"
            if actual == number and letter in kinds and BASE.get(name, 76) is not None and name in {*BASE, "sdst"}:
                return name
        return None

    def _operand(self, token: str, tokens: list[str]) -> Generator[list[int], list[Text], str]:
        if token == f"0x{K:x}":
            return "literal:k1"
        match = REGISTER.match(token)
        at = tokens.index(token)
        if match is None:
            if token.startswith("0x") and "offset" in self.form.places():
                _, mask = self.form.places()["offset"]
                (high,) = yield [self.word(offset=mask)]
                bits = mask.bit_length() if high and "-0x1" in split(high)[1] else 0
                return f"offset:z{bits}"
            if "sdata" in self.base and token == str(self.base["sdata"]):
                return "sdata:n1"
            return token
        letter = match[3]
        number = int(match[4] or match[6])
        width = int(match[5]) - number + 1 if match[5] else 1
        field = self._field_of(letter, number)
        if field is None:
            raise LookupError(f"{self.form.name} {self.opcode}: {tokens}: {token} is in no field")
        half = bool(match[7])
        return (yield from self._kind(field, letter, width, half, at))

    def _kind(self, field: str, letter: str, width: int, half: bool, at: int) -> Generator[list[int], list[Text], str]:
        index = {"src0": 0, "src1": 1, "src2": 2, "vsrc1": 1}.get(field)
        places = self.form.places()
        questions: dict[str, dict[str, int]] = {}
        is_source = field in ("ssrc0", "ssrc1", "srcx", "srcy", "soffset", "scale0", "scale1") or (
            field in ("src0", "src1", "src2") and (places[field][1] > 255 or "SDWA" in self.form.name)
        )
        is_source = is_source or (field == "vsrc1" and "SDWA" in self.form.name)
        extra = {"src0": {"s0": 1}, "vsrc1": {"s1": 1}}.get(field, {}) if "SDWA" in self.form.name else {}
        # LLVM crashes on constants as factors of matrix instructions.
        is_factor = self.is_matrix and field in ("src0", "src1")
        if is_source and places[field][1] >= 255 and not is_factor:
            questions["float"] = {field: 240, **extra}
            questions["inverse"] = {field: 248, **extra}
            # LLVM crashes on literals where there can be none: offsets of buffers, VOP3 of gfx9.
            if field != "soffset" and (self.generation > 9 or not self.form.name.startswith("VOP3")):
                questions["literal"] = {field: 255, **extra}
            questions["vector"] = {field: 256 + self.base[field] % 256}
        if "acc" in places:
            questions["acc"] = {"acc": 3, "acc_cd": 1} if "acc_cd" in places else {"acc": 1}
        if index is not None:
            if "neg" in places:
                questions["neg"] = {"neg": 1 << index}
                questions["abs"] = {"neg_hi" if "neg_hi" in places else "abs": 1 << index}
            elif f"neg{index}" in places:
                questions["neg"] = {f"neg{index}": 1}
                questions["abs"] = {f"abs{index}": 1}
            if f"sext{index}" in places:
                questions["sext"] = {f"sext{index}": 1}
        texts = yield [self.word(**change) for change in questions.values()]
        answer = {
            name: tokens[at] if text and at < len(tokens := split(text)[1]) else None
            for name, text in zip(questions, texts, strict=True)
        }
        detail = ""
        if answer.get("float"):
            pair = (answer["float"], answer.get("inverse"))
            known = [name for name, texts_ in FLOATS.items() if (texts_[0], texts_[8]) == pair]
            if not known:
                raise LookupError(f"{self.form.name} {self.opcode} {field}: constants {pair} are of no known type")
            detail = known[0]
            if answer.get("literal") == f"0x{K & 0xFFFF:x}" and not detail:
                detail = "h"
            elif answer.get("literal") not in (None, f"0x{K:x}") and detail != "i":
                raise LookupError(f"{self.form.name} {self.opcode} {field}: literal {answer['literal']}")
        kind = {"v": "v", "a": "a", "s": "s"}[letter]
        if is_source:
            kind = "s" if letter == "s" and not answer.get("vector") else "x"
            if letter == "s" and field.startswith("ssrc"):
                kind = "s"
            if letter == "a":
                kind = "a"
            if kind == "x" and not answer.get("float") and field != "soffset":
                kind = "v" if letter == "v" and not answer.get("float") and self.form.name.startswith("VOP3P") else "x"
        if half:
            kind = "g" if "op_sel" in places else "h"
        if (accumulated := answer.get("acc")) and accumulated.lstrip("-|").startswith("a") and letter == "v":
            kind = "w"
        prefix = ""
        if (answer.get("neg") or "").startswith("-") or (answer.get("abs") or "").startswith("|"):
            prefix = f"{'M' if (answer.get('abs') or '').startswith('|') else 'N'}{index}."
        if (answer.get("sext") or "").startswith("sext("):
            prefix = f"S{index}."
        return f"{prefix}{field}:{kind}{width}{detail}"

    def _modifiers(self, base: list[str]) -> Generator[list[int], list[Text], list[str]]:
        places = self.form.places()
        found: dict[str, str] = {}
        questions: dict[tuple[str, int], dict[str, int]] = {}
        for name in ORDER:
            if name == "abid" and self.form.name == "VOP3PX":
                continue
            if name == "bitop3":
                if self.form.name == "VOP3":
                    questions[name, 0] = {"neg": 1}
                continue
            field = LISTS[name][0] if name in LISTS else name
            if field not in places and name not in ("masks", "fi"):
                continue
            if name in LISTS:
                for bit in range(LISTS[name][2]):
                    if name == "op_sel_hi" and bit == 2:
                        questions[name, bit] = {"op_sel_hi2": 1}
                    elif 1 << bit <= places[field][1]:
                        questions[name, bit] = {field: 1 << bit}
            elif name in ("cbsz", "abid", "blgp"):
                questions[name, 0] = {name: 3}
            elif name in FLAGS or name == "omod":
                questions[name, 0] = {name: 1} if name in places else {}
            elif name in ("offset0", "offset1"):
                questions[name, 0] = {name: 3}
            elif name == "offset" and not self.form.mask >> places[name][0] & places[name][1]:
                questions[name, 0] = {name: 3}
                questions[name, 1] = {name: places[name][1]}
            elif name in ("scope", "th"):
                questions[name, 0] = {name: 2 if name == "scope" else 4 if places[name][1] > 3 else 1}
        texts = yield [self.word(**change) for change in questions.values()]
        words = {key: split(text)[2] if text else [] for key, text in zip(questions, texts, strict=True)}
        bytes_by_bit = {
            word[-1]: bit for (name, bit), tail in words.items() for word in tail if re.match("byte_sel:[12]", word)
        }
        if bytes_by_bit:
            found["byte_sel"] = f"{bytes_by_bit['2']}{bytes_by_bit['1']}"
        for name in ORDER:
            answer = words.get((name, 0), [])
            if name in LISTS:
                which = self._which_bits(name, base, words)
                if which:
                    found[name if which[1] else f"{name}0"] = which[0]
            elif name in ALWAYS:
                if any(word.startswith(ALWAYS[name]) for word in base):
                    found[name] = ""
            elif name == "offset" and answer:
                bits = places[name][1].bit_length()
                if "offset:3" in answer:
                    found[f"offset{bits}" if "offset:-1" in words[name, 1] else "offset"] = ""
                elif "offset:0x3" in answer:
                    found[f"offset_hex{bits}"] = ""
            elif name == "th":
                shown = next((word for word in answer if word.startswith("th:")), "")
                kind = re.match(r"th:TH_(LOAD|STORE|ATOMIC)", shown)
                if shown:
                    found[name] = kind[1] if kind else "ATOMIC"
            elif name == "blgp" and any(word.startswith("neg:[") for word in answer):
                found["negated"] = ""
            elif SHOWN.get(name, name) in answer or (name == "fi" and "dpp" in places):
                found[name] = ""
        return [f"{name}={detail}" if detail else name for name, detail in found.items()]

    def _which_bits(
        self, name: str, base: list[str], words: dict[tuple[str, int], list[str]]
    ) -> tuple[str, bool] | None:
        shown_as = LISTS[name][1]

        def entries(of: Iterable[str]) -> list[int] | None:
            for word in of:
                if word.startswith(f"{shown_as}:["):
                    return [int(one) for one in word[len(shown_as) + 2 : -1].split(",")]
            return None

        at_rest = entries(base)
        default_one = name in ("op_sel_hi", "scale_hi") and at_rest is not None
        bits: dict[int, int] = {}
        length = 0
        for (of, bit), tail in words.items():
            if of != name:
                continue
            now = entries(tail)
            if now is None:
                if default_one and at_rest is not None and len(at_rest) == 1:
                    bits[0] = bit
                    length = 1
                continue
            length = len(now)
            for at, one in enumerate(now):
                if one != (at_rest[at] if at_rest else 0):
                    bits[at] = bit
        if not bits:
            return None
        # "-" is an entry that no bit changes.
        which = "".join(str(bits.get(at, "-")) for at in range(length))
        return which, default_one or name not in ("op_sel_hi", "scale_hi")

    def _with_immediate(self, text: str) -> Learner:
        """SOPP and SOPK: what is left of the operands is the immediate."""
        values = [0, 1, 5, 16, 63, 64, 65, 100, 0x91, 0x122, 0x0F71, 0x3F70, 0x7FFF, 0x8000, 0xFFF0, 0xFFFF, 0xFF9F]
        texts = yield [self.word(simm=value, sdst=76) for value in values]
        mnemonic = text.split(" ")[0]
        operands: list[str] = []
        candidates = set(IMMEDIATES)
        seen = False
        for value, shown in zip(values, texts, strict=True):
            if shown is None:
                continue
            rest = shown.partition(" ")[2]
            tokens = [rest] if self.form.name == "SOPP" else split(shown)[1] + split(shown)[2]
            if self.form.name == "SOPK":
                tokens = split_commas(rest)
            marked = []
            for token in tokens:
                if match := re.match(r"s76\Z|s\[76:(\d+)\]\Z", token):
                    marked.append(f"sdst:s{int(match[1]) - 75 if match[1] else 1}")
                elif token == f"0x{K:x}" and mnemonic == "s_setreg_imm32_b32":
                    marked.append("literal:l1")
                elif token or self.form.name == "SOPP":
                    marked.append("simm")
                    fitting = {name for name in candidates if _same(name, value, token, self.names, self.generation)}
                    candidates = fitting
                    seen = seen or bool(token)
            if len(marked) > len(operands):
                operands = marked
        if "simm" in operands and seen:
            if not candidates:
                raise LookupError(f"{mnemonic}: its immediate is of no known kind: {texts}")
            kind = next(name for name in IMMEDIATES if name in candidates)
            operands = [f"simm:{kind}" if one == "simm" else one for one in operands]
        else:
            operands = [one for one in operands if one != "simm"]
        return Row(mnemonic, tuple(operands), ())


def _same(name: str, value: int, token: str, names: dict[tuple[str, int], str], generation: int) -> bool:
    try:
        return IMMEDIATES[name](value, names, generation) == token
    except EncodingError:
        return "invalid" in token
