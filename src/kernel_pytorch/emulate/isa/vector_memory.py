"""Global, flat, private and buffer memory: loads, stores, atomics, under the names of every family."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, memory, wave

#: What one lane moves -> names from gfx9 and gfx10, and from gfx11 on.
LOADS = {
    "U8": "ubyte|u8", "I8": "sbyte|i8", "U16": "ushort|u16", "I16": "sshort|i16",
    "W1": "dword|b32", "W2": "dwordx2|b64", "W3": "dwordx3|b96", "W4": "dwordx4|b128",
    "U8_LOW": "ubyte_d16|d16_u8", "U8_HIGH": "ubyte_d16_hi|d16_hi_u8",
    "I8_LOW": "sbyte_d16|d16_i8", "I8_HIGH": "sbyte_d16_hi|d16_hi_i8",
    "16_LOW": "short_d16|d16_b16", "16_HIGH": "short_d16_hi|d16_hi_b16",
}  # fmt: skip
STORES = {
    "U8": "byte|b8", "U16": "short|b16", "W1": "dword|b32", "W2": "dwordx2|b64", "W3": "dwordx3|b96",
    "W4": "dwordx4|b128", "U8_HIGH": "byte_d16_hi|d16_hi_b8", "16_HIGH": "short_d16_hi|d16_hi_b16",
}  # fmt: skip
#: Operation -> names of its 32-bit form, and of its 64-bit form.
ATOMICS = {
    "SWAP": ("swap|swap_b32", "swap_x2|swap_b64"),
    "CMPSWAP": ("cmpswap|cmpswap_b32", "cmpswap_x2|cmpswap_b64"),
    "ADD": ("add|add_u32", "add_x2|add_u64"),
    "SUB": ("sub|sub_u32", "sub_x2|sub_u64"),
    "SMIN": ("smin|min_i32", "smin_x2|min_i64"),
    "UMIN": ("umin|min_u32", "umin_x2|min_u64"),
    "SMAX": ("smax|max_i32", "smax_x2|max_i64"),
    "UMAX": ("umax|max_u32", "umax_x2|max_u64"),
    "AND": ("and|and_b32", "and_x2|and_b64"),
    "OR": ("or|or_b32", "or_x2|or_b64"),
    "XOR": ("xor|xor_b32", "xor_x2|xor_b64"),
    "INC": ("inc|inc_u32", "inc_x2|inc_u64"),
    "DEC": ("dec|dec_u32", "dec_x2|dec_u64"),
    "FADD": ("add_f32", "add_f64"),
    "FMIN": ("fmin|min_f32|min_num_f32", "fmin_x2|min_f64|min_num_f64"),
    "FMAX": ("fmax|max_f32|max_num_f32", "fmax_x2|max_f64|max_num_f64"),
    "FCMPSWAP": ("fcmpswap|cmpswap_f32", "fcmpswap_x2"),
    "PKADD_F16": ("pk_add_f16", ""),
    "PKADD_BF16": ("pk_add_bf16", ""),
    "SUBCLAMP": ("csub|csub_u32|sub_clamp_u32", ""),
    "CONDSUB": ("cond_sub_u32", ""),
}

_INTO_LDS = {"W1": "dword", "W3": "dwordx3", "W4": "dwordx4", "U8": "ubyte", "I8": "sbyte", "U16": "ushort",
             "I16": "sshort"}  # fmt: skip


def _names(prefix: str, names: str) -> str:
    return "|".join(prefix + name for name in names.split("|"))


def _space(prefix: str, space: str) -> tuple[Row, ...]:
    rows: list[Row] = []
    for kind, names in LOADS.items():
        rows += memory(_names(f"{prefix}_load_", names), space=space, action="load", moves=kind)
    for kind, names in STORES.items():
        rows += memory(_names(f"{prefix}_store_", names), space=space, action="store", moves=kind)
    if space != "PRIVATE":
        for operation, forms in ATOMICS.items():
            for bits, names in zip(("32", "64"), forms, strict=True):
                if names:
                    rows += memory(
                        _names(f"{prefix}_atomic_", names), space=space, action="atomic", operation=operation, bits=bits
                    )
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *_space("global", "GLOBAL"),
    *_space("flat", "FLAT"),
    *_space("scratch", "PRIVATE"),
    *_space("buffer", "BUFFER"),
    *memory("global_load_dword_addtid|global_load_addtid_b32", space="GLOBAL", action="load_at_lane", moves="W1"),
    *memory("global_store_dword_addtid|global_store_addtid_b32", space="GLOBAL", action="store_at_lane", moves="W1"),
    *(
        row
        for kind, name in _INTO_LDS.items()
        for prefix, space in (("global", "GLOBAL"), ("scratch", "PRIVATE"))
        if prefix == "global" or kind not in ("W3", "W4")
        for row in memory(f"{prefix}_load_lds_{name}", space=space, action="load_to_lds", moves=kind)
    ),
    *wave("v_readfirstlane_b32", "s1 = v1", "d = a[kpt_first_lane(ex)]"),
    *wave(
        "v_readlane_b32",
        "s1 = v1 u32",
        "kpt_read_from_lane(w, ex, b & (WAVE - 1), {spilled}); d = a[b & (WAVE - 1)]",
    ),
    *wave("v_writelane_b32", "v1 = u32 u32", "d[b & (WAVE - 1)] = a"),
)
