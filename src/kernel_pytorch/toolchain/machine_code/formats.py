"""How the bits of an instruction are laid out: its formats and their fields, by family of targets.

A line is a format: its name, its size in bits, the bits it begins with (from bit 31 of the first word down), then
fields as `name=high:low` (or `name=bit`); a field with a second `=` must have that value. Bit 0 is the lowest bit of
the first word. Of the formats that fit, the first one counts. Sources: AMD's ISA manuals (CDNA 1 to 4, RDNA 2 to 4),
checked against LLVM by scripts/build_decoder_table.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kernel_pytorch.core import hardware

_SCALAR = """
SOPP 32 101111111 op=22:16 simm=15:0
SOPC 32 101111110 op=22:16 ssrc1=15:8 ssrc0=7:0
SOP1 32 101111101 sdst=22:16 op=15:8 ssrc0=7:0
SOPK 32 1011 op=27:23 sdst=22:16 simm=15:0
SOP2 32 10 op=29:23 sdst=22:16 ssrc1=15:8 ssrc0=7:0
"""
_SDWA = """
VOP1_SDWA 64 0111111 src=8:0=249 op=16:9 vdst=24:17 {0}
VOPC_SDWA 64 0111110 src=8:0=249 op=24:17 vsrc1=16:9 {2} {1}
VOP2_SDWA 64 0 src=8:0=249 op=30:25 vdst=24:17 vsrc1=16:9 {0} {1}
""".format(
    "src0=39:32 dst_sel=42:40 dst_unused=44:43 clamp=45 omod=47:46 src0_sel=50:48 sext0=51 neg0=52 abs0=53 s0=55",
    "src1_sel=58:56 sext1=59 neg1=60 abs1=61 s1=63",
    "src0=39:32 sdst=46:40 sd=47 src0_sel=50:48 sext0=51 neg0=52 abs0=53 s0=55",
)
_DPP = "src0=39:32 dpp_ctrl=48:40 {fi}bound_ctrl=51 neg0=52 abs0=53 neg1=54 abs1=55 bank_mask=59:56 row_mask=63:60"
_DPP_FORMATS = """
VOP1_DPP 64 0111111 src=8:0=250 op=16:9 vdst=24:17 {0}
VOPC_DPP 64 0111110 src=8:0=250 op=24:17 vsrc1=16:9 {0}
VOP2_DPP 64 0 src=8:0=250 op=30:25 vdst=24:17 vsrc1=16:9 {0}
"""
_DPP8_FORMATS = "".join(
    f"""
VOP1_DPP8 64 0111111 dpp=8:0={code} op=16:9 vdst=24:17 src0=39:32 lanes=63:40
VOPC_DPP8 64 0111110 dpp=8:0={code} op=24:17 vsrc1=16:9 src0=39:32 lanes=63:40
VOP2_DPP8 64 0 dpp=8:0={code} op=30:25 vdst=24:17 vsrc1=16:9 src0=39:32 lanes=63:40
"""
    for code in (233, 234)
)
_VECTOR = """
VOP1 32 0111111 op=16:9 vdst=24:17 src0=8:0
VOPC 32 0111110 op=24:17 vsrc1=16:9 src0=8:0
VOP2 32 0 op=30:25 vdst=24:17 vsrc1=16:9 src0=8:0
"""
_VOP3 = "vdst=7:0 abs=10:8 op_sel=14:11 clamp=15 sdst=14:8 op=25:16 src1=49:41 src2=58:50 omod=60:59 neg=63:61"
_VOP3P = (
    "vdst=7:0 neg_hi=10:8 op_sel=13:11 op_sel_hi2=14 clamp=15 op=22:16 src1=49:41 src2=58:50 op_sel_hi=60:59 neg=63:61"
)
_MAI = "cbsz=10:8 abid=14:11 acc_cd=15 acc=60:59 blgp=63:61"
_THIRD_DPP = "src0=71:64 dpp_ctrl=80:72 fi=82 bound_ctrl=83 bank_mask=91:88 row_mask=95:92"

# Two instructions of 8 bytes: the scales, and the matrix instruction that they are for.
_SCALED = (
    "scale0=40:32 scale1=49:41 scale_sel=12:11 scale_hi=60:59 next=95:87=423 op=86:80 vdst=71:64 cbsz=74:72 "
    "abid=78:75=1 acc_cd=79 src0=104:96 src1=113:105 src2=122:114 acc=124:123 blgp=127:125"
)
_GFX9 = (
    _SCALAR
    + _SDWA
    + _DPP_FORMATS.format(_DPP.format(fi=""))
    + _VECTOR
    + f"""
VOP3PX 128 110100111 op0=22:16=44 {_SCALED}
VOP3P 64 110100111 src0=40:32 {_VOP3P} {_MAI}
VOP3 64 110100 src0=40:32 {_VOP3}
DS 64 110110 offset0=7:0 offset1=15:8 offset=15:0 gds=16 op=24:17 acc=25 addr=39:32 data0=47:40 data1=55:48 vdst=63:56
"""
)
_GFX9_SMEM = """
SMEM_IMM 64 110000 imm=17=1 soe=14=0 sbase=5:0 sdata=12:6 glc=16 op=25:18 offset=52:32
SMEM_BOTH 64 110000 imm=17=1 soe=14=1 sbase=5:0 sdata=12:6 glc=16 op=25:18 offset=52:32 soffset=63:57
SMEM_REG 64 110000 imm=17=0 soe=14=1 sbase=5:0 sdata=12:6 glc=16 op=25:18 soffset=63:57
SMEM_OLD 64 110000 imm=17=0 soe=14=0 sbase=5:0 sdata=12:6 glc=16 op=25:18 soffset=38:32
"""
_FLAT_9 = "op=24:18 addr=39:32 data=47:40 vdst=63:56"
_FLAT_908 = f"glc=16 slc=17 lds=13 {_FLAT_9}"
_FLAT_90A = f"glc=16 slc=17 lds=13 acc=55 scc=25 {_FLAT_9}"
_FLAT_940 = f"sc0=16 nt=17 sc1=25 acc=55 {_FLAT_9}"


def _flat9(common: str, scratch: str) -> str:
    lds = ""
    if "lds=13" in common:
        lds = f"""
GLOBAL_LDS 64 110111 seg=15:14=2 saddr=54:48=127 lds=13=1 offset=12:0 {common}
GLOBAL_S_LDS 64 110111 seg=15:14=2 saddr=54:48 lds=13=1 offset=12:0 {common}
"""
    return f"""{lds}
GLOBAL 64 110111 seg=15:14=2 saddr=54:48=127 offset=12:0 {common}
GLOBAL_S 64 110111 seg=15:14=2 saddr=54:48 offset=12:0 {common}
FLAT 64 110111 seg=15:14=0 saddr=54:48 offset=11:0 {common}
{scratch.format(common)}
"""


_SCRATCH_9 = """
SCRATCH_LDS 64 110111 seg=15:14=1 saddr=54:48=127 lds=13=1 offset=12:0 {0}
SCRATCH_S_LDS 64 110111 seg=15:14=1 saddr=54:48 lds=13=1 offset=12:0 {0}
SCRATCH 64 110111 seg=15:14=1 saddr=54:48=127 offset=12:0 {0}
SCRATCH_S 64 110111 seg=15:14=1 saddr=54:48 offset=12:0 {0}
"""
_SCRATCH_940 = """
SCRATCH_ST 64 110111 seg=15:14=1 sve=13=0 saddr=54:48=127 offset=12:0 {0}
SCRATCH 64 110111 seg=15:14=1 sve=13=1 saddr=54:48=127 offset=12:0 {0}
SCRATCH_S 64 110111 seg=15:14=1 sve=13=0 saddr=54:48 offset=12:0 {0}
SCRATCH_SVS 64 110111 seg=15:14=1 sve=13=1 saddr=54:48 offset=12:0 {0}
"""


def _mubuf(prefix: str, fields: str, offen: int, idxen: int, lds: str = "") -> str:
    return "".join(
        f"\n{name}{'_LDS' if lds and turn else ''} {64 if prefix == '111000' else 96} {prefix} offen={offen}={on} "
        f"idxen={idxen}={indexed} {f'{lds}={turn} ' if lds else ''}{fields}"
        for turn in ((0, 1) if lds else (0,))
        for name, indexed, on in (("MUBUF", 0, 0), ("MUBUF_1", 0, 1), ("MUBUF_1", 1, 0), ("MUBUF_2", 1, 1))
    )


_MUBUF_9 = "offset=11:0 op=24:18 vaddr=39:32 vdata=47:40 srsrc=52:48 soffset=63:56 offen=12 idxen=13"
_MUBUF_908 = _mubuf("111000", f"glc=14 slc=17 tfe=55 {_MUBUF_9}", 12, 13, "lds=16")
_MUBUF_90A = _mubuf("111000", f"glc=14 slc=17 scc=15 acc=55 {_MUBUF_9}", 12, 13, "lds=16")
_MUBUF_940 = _mubuf("111000", f"sc0=14 nt=17 sc1=15 acc=55 {_MUBUF_9}", 12, 13, "lds=16")

_MIMG_9 = (
    "oph=0 dmask=11:8 unorm=12 glc=13 da=14 r128=15 lwe=17 op=24:18 slc=25 vaddr=39:32 vdata=47:40 srsrc=52:48 "
    "ssamp=57:53 d16=63"
)
_MIMG_908 = f"\nMIMG 64 111100 tfe=16 {_MIMG_9}\n"
_MIMG_90A = f"\nMIMG 64 111100 scc=7 acc=16 {_MIMG_9}\n"
# Behind some come words with four numbers of registers each.
_MIMG_10 = "".join(
    f"\nMIMG {64 + 32 * extra} 111100 nsa=2:1={extra} oph=0 dim=5:3 dlc=7 dmask=11:8 unorm=12 glc=13 r128=15 tfe=16 "
    "lwe=17 op=24:18 slc=25 vaddr=39:32 vdata=47:40 srsrc=52:48 ssamp=57:53 a16=62 d16=63 "
    f"{f'more={63 + 32 * extra}:64' if extra else ''}"
    for extra in range(4)
)
_MORE_REGISTERS = "vaddr1=71:64 vaddr2=79:72 vaddr3=87:80 vaddr4=95:88"
_MIMG_11 = "".join(
    f"\nMIMG {64 + 32 * extra} 111100 nsa=0={extra} dim=4:2 unorm=7 dmask=11:8 slc=12 dlc=13 glc=14 r128=15 a16=16 "
    f"d16=17 op=25:18 vaddr=39:32 vdata=47:40 srsrc=52:48 tfe=53 lwe=54 ssamp=62:58 {_MORE_REGISTERS if extra else ''}"
    for extra in range(2)
)
_IMAGE_12 = "dim=2:0 r128=4 d16=5 a16=6 op=21:14 dmask=25:22 vdata=39:32 srsrc=49:41 scope=51:50 th=54:52 vaddr=71:64"
_IMAGES_12 = f"""
VIMAGE 96 110100 {_IMAGE_12} vaddr1=79:72 vaddr2=87:80 vaddr3=95:88 tfe=55 vaddr4=63:56
VSAMPLE 96 111001 {_IMAGE_12} vaddr1=79:72 vaddr2=87:80 vaddr3=95:88 tfe=3 unorm=13 lwe=40 ssamp=63:55
"""

_LATER = _SCALAR + _DPP8_FORMATS + _DPP_FORMATS.format(_DPP.format(fi="fi=50 ")) + _VECTOR
_GFX10 = (
    _SDWA + _LATER + f"""
VOP3P 64 110011000 src0=40:32 {_VOP3P}
VOP3 64 110101 src0=40:32 {_VOP3}
SMEM_REG 64 111101 offset=52:32=0 soffset=63:57 sbase=5:0 sdata=12:6 dlc=14 glc=16 op=25:18
SMEM_IMM 64 111101 soffset=63:57=125 sbase=5:0 sdata=12:6 dlc=14 glc=16 op=25:18 offset=52:32
SMEM_BOTH 64 111101 offset=52:32 soffset=63:57 sbase=5:0 sdata=12:6 dlc=14 glc=16 op=25:18
DS 64 110110 offset0=7:0 offset1=15:8 offset=15:0 gds=17 op=25:18 addr=39:32 data0=47:40 data1=55:48 vdst=63:56
GLOBAL_LDS 64 110111 seg=15:14=2 saddr=54:48=125 lds=13=1 offset=11:0 dlc=12 glc=16 slc=17 lds=13=1 {_FLAT_9}
GLOBAL_S_LDS 64 110111 seg=15:14=2 saddr=54:48 lds=13=1 offset=11:0 dlc=12 glc=16 slc=17 lds=13=1 {_FLAT_9}
GLOBAL 64 110111 seg=15:14=2 saddr=54:48=125 offset=11:0 dlc=12 glc=16 slc=17 lds=13 {_FLAT_9}
GLOBAL_S 64 110111 seg=15:14=2 saddr=54:48 offset=11:0 dlc=12 glc=16 slc=17 lds=13 {_FLAT_9}
FLAT 64 110111 seg=15:14=0 saddr=54:48 offset=11:0 dlc=12 glc=16 slc=17 lds=13 {_FLAT_9}
SCRATCH_ST_LDS 64 110111 seg=15:14=1 saddr=54:48=127 offset=11:0 dlc=12 glc=16 slc=17 lds=13=1 {_FLAT_9}
SCRATCH_LDS 64 110111 seg=15:14=1 saddr=54:48=125 offset=11:0 dlc=12 glc=16 slc=17 lds=13=1 {_FLAT_9}
SCRATCH_S_LDS 64 110111 seg=15:14=1 saddr=54:48 offset=11:0 dlc=12 glc=16 slc=17 lds=13=1 {_FLAT_9}
SCRATCH_ST 64 110111 seg=15:14=1 saddr=54:48=127 offset=11:0 dlc=12 glc=16 slc=17 lds=13 {_FLAT_9}
SCRATCH 64 110111 seg=15:14=1 saddr=54:48=125 offset=11:0 dlc=12 glc=16 slc=17 lds=13 {_FLAT_9}
SCRATCH_S 64 110111 seg=15:14=1 saddr=54:48 offset=11:0 dlc=12 glc=16 slc=17 lds=13 {_FLAT_9}
"""
    + _mubuf(
        "111000",
        "offset=11:0 dlc=15 glc=14 slc=54 tfe=55 op=25:18 vaddr=39:32 vdata=47:40 srsrc=52:48 soffset=63:56 "
        "offen=12 idxen=13",
        12, 13, "lds=16",
    )
)  # fmt: skip
_FLAT_11 = "offset=12:0 dlc=13 glc=14 slc=15"
_DUAL = """
VOPD 64 110010 srcx=8:0 vsrcx=16:9 opy=21:17 opx=25:22 srcy=40:32 vsrcy=48:41 vdsty=55:49 vdstx=63:56
"""
_VOP3_LATER = f"""
VOP3P_DPP 96 110011000 dpp=40:32=250 {_VOP3P} {_THIRD_DPP}
VOP3P_DPP8 96 110011000 dpp=40:32=233 {_VOP3P} src0=71:64 lanes=95:72
VOP3P_DPP8 96 110011000 dpp=40:32=234 {_VOP3P} src0=71:64 lanes=95:72
VOP3P 64 110011000 src0=40:32 {_VOP3P}
VOP3_DPP 96 110101 dpp=40:32=250 {_VOP3} {_THIRD_DPP}
VOP3_DPP8 96 110101 dpp=40:32=233 {_VOP3} src0=71:64 lanes=95:72
VOP3_DPP8 96 110101 dpp=40:32=234 {_VOP3} src0=71:64 lanes=95:72
VOP3 64 110101 src0=40:32 {_VOP3}
"""
_GFX11 = (
    _LATER + _DUAL + _VOP3_LATER + f"""
SMEM_REG 64 111101 offset=52:32=0 soffset=63:57 sbase=5:0 sdata=12:6 dlc=13 glc=14 op=25:18
SMEM_IMM 64 111101 soffset=63:57=124 sbase=5:0 sdata=12:6 dlc=13 glc=14 op=25:18 offset=52:32
SMEM_BOTH 64 111101 offset=52:32 soffset=63:57 sbase=5:0 sdata=12:6 dlc=13 glc=14 op=25:18
DS 64 110110 offset0=7:0 offset1=15:8 offset=15:0 gds=17 op=25:18 addr=39:32 data0=47:40 data1=55:48 vdst=63:56
GLOBAL 64 110111 seg=17:16=2 saddr=54:48=124 {_FLAT_11} {_FLAT_9}
GLOBAL_S 64 110111 seg=17:16=2 saddr=54:48 {_FLAT_11} {_FLAT_9}
FLAT 64 110111 seg=17:16=0 saddr=54:48 {_FLAT_11} {_FLAT_9}
SCRATCH_ST 64 110111 seg=17:16=1 sve=55=0 saddr=54:48=124 {_FLAT_11} {_FLAT_9}
SCRATCH 64 110111 seg=17:16=1 sve=55=1 saddr=54:48=124 {_FLAT_11} {_FLAT_9}
SCRATCH_S 64 110111 seg=17:16=1 sve=55=0 saddr=54:48 {_FLAT_11} {_FLAT_9}
SCRATCH_SVS 64 110111 seg=17:16=1 sve=55=1 saddr=54:48 {_FLAT_11} {_FLAT_9}
"""
    + _mubuf(
        "111000",
        "offset=11:0 slc=12 dlc=13 glc=14 op=25:18 vaddr=39:32 vdata=47:40 srsrc=52:48 tfe=53 soffset=63:56 "
        "offen=54 idxen=55",
        54, 55,
    )
)  # fmt: skip
_FLAT_12 = "op=20:14 vdst=39:32 scope=51:50 th=54:52 data=62:55 addr=71:64 offset=95:72"
_GFX12 = (
    _LATER + _DUAL + _VOP3_LATER + f"""
SMEM_IMM 64 111101 soffset=63:57=124 sbase=5:0 sdata=12:6 scope=22:21 th=24:23 op=18:13 offset=55:32
SMEM_BOTH 64 111101 offset=55:32 soffset=63:57 sbase=5:0 sdata=12:6 scope=22:21 th=24:23 op=18:13
DS 64 110110 offset0=7:0 offset1=15:8 offset=15:0 op=25:18 addr=39:32 data0=47:40 data1=55:48 vdst=63:56
GLOBAL 96 11101110 saddr=6:0=124 {_FLAT_12}
GLOBAL_S 96 11101110 saddr=6:0 {_FLAT_12}
FLAT 96 11101100 saddr=6:0 {_FLAT_12}
SCRATCH_ST 96 11101101 sve=49=0 saddr=6:0=124 {_FLAT_12}
SCRATCH 96 11101101 sve=49=1 saddr=6:0=124 {_FLAT_12}
SCRATCH_S 96 11101101 sve=49=0 saddr=6:0 {_FLAT_12}
SCRATCH_SVS 96 11101101 sve=49=1 saddr=6:0 {_FLAT_12}
"""
    + _mubuf(
        "110001",
        "soffset=6:0 op=21:14 tfe=22 vdata=39:32 srsrc128=49:41 scope=51:50 th=54:52 vaddr=71:64 offset=95:72 "
        "offen=62 idxen=63",
        62, 63,
    )
)  # fmt: skip
_LAYOUTS = {
    "CDNA": _GFX9 + _GFX9_SMEM + _flat9(_FLAT_908, _SCRATCH_9) + _MUBUF_908 + _MIMG_908,
    "CDNA2": _GFX9 + _GFX9_SMEM + _flat9(_FLAT_90A, _SCRATCH_9) + _MUBUF_90A + _MIMG_90A,
    "CDNA3": _GFX9 + _GFX9_SMEM + _flat9(_FLAT_940, _SCRATCH_940) + _MUBUF_940,
    "CDNA4": _GFX9 + _GFX9_SMEM + _flat9(_FLAT_940, _SCRATCH_940) + _MUBUF_940,
    "RDNA2": _GFX10 + _MIMG_10,
    "RDNA3": _GFX11 + _MIMG_11,
    "RDNA4": _GFX12 + _IMAGES_12,
}


@dataclass(frozen=True)
class Format:
    """One layout: the bits that are fixed, and the fields as (name, shift, mask)."""

    name: str
    bits: int
    mask: int
    value: int
    fields: tuple[tuple[str, int, int], ...]

    def places(self) -> dict[str, tuple[int, int]]:
        """Where each field is: name -> (shift, mask)."""
        return {name: (shift, mask) for name, shift, mask in self.fields}


@cache
def formats_of(target: str) -> tuple[Format, ...]:
    """The formats of a target in the order they are to be tried. KeyError for a target without."""
    return tuple(_format(line) for line in _LAYOUTS[hardware.target(target).arch].splitlines() if line.strip())


@cache
def by_top_bits(target: str) -> tuple[tuple[Format, ...], ...]:
    """The formats that an instruction may have, by the six highest bits of its first word."""
    found = []
    for top in range(64):
        fitting = []
        for one in formats_of(target):
            mask = one.mask >> 26 & 63
            if top & mask == one.value >> 26 & mask:
                fitting.append(one)
        found.append(tuple(fitting))
    return tuple(found)


def _format(line: str) -> Format:
    name, bits, prefix, *words = line.split()
    width = len(prefix)
    mask = ((1 << width) - 1) << (32 - width)
    value = int(prefix, 2) << (32 - width)
    fields: dict[str, tuple[int, int]] = {}
    for word in words:
        field, place, *fixed = word.split("=")
        high, _, low = place.partition(":")
        shift = int(low or high)
        ones = (1 << (int(high) - shift + 1)) - 1
        fields[field] = (shift, ones)
        if fixed:
            mask |= ones << shift
            value |= int(fixed[0]) << shift
    return Format(name, int(bits), mask, value, tuple((field, *place) for field, place in fields.items()))
