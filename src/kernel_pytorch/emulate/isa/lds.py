"""Local data share: loads, stores, atomics, and the exchanges between lanes that go through its crossbar."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, memory, wave

_LOADS = {
    "U8": "u8", "I8": "i8", "U16": "u16", "I16": "i16", "W1": "b32", "W2": "b64", "W3": "b96", "W4": "b128",
    "U8_LOW": "u8_d16", "U8_HIGH": "u8_d16_hi", "I8_LOW": "i8_d16", "I8_HIGH": "i8_d16_hi", "16_LOW": "u16_d16",
    "16_HIGH": "u16_d16_hi",
}  # fmt: skip
_STORES = {"U8": "b8", "U16": "b16", "W1": "b32", "W2": "b64", "W3": "b96", "W4": "b128", "U8_HIGH": "b8_d16_hi",
           "16_HIGH": "b16_d16_hi"}  # fmt: skip
_ATOMICS = {
    "ADD": ("add", "u32", "u64"), "SUB": ("sub", "u32", "u64"), "RSUB": ("rsub", "u32", "u64"),
    "INC": ("inc", "u32", "u64"), "DEC": ("dec", "u32", "u64"), "SMIN": ("min", "i32", "i64"),
    "SMAX": ("max", "i32", "i64"), "UMIN": ("min", "u32", "u64"), "UMAX": ("max", "u32", "u64"),
    "AND": ("and", "b32", "b64"), "OR": ("or", "b32", "b64"), "XOR": ("xor", "b32", "b64"),
    "MSKOR": ("mskor", "b32", "b64"), "FADD": ("add", "f32", "f64"), "FMIN": ("min", "f32", "f64"),
    "FMAX": ("max", "f32", "f64"), "PKADD_F16": ("pk_add", "f16", ""), "PKADD_BF16": ("pk_add", "bf16", ""),
    "SUBCLAMP": ("sub_clamp", "u32", ""), "CONDSUB": ("cond_sub", "u32", ""),
}  # fmt: skip


def _atomics() -> tuple[Row, ...]:
    rows: list[Row] = []
    for operation, (name, *types) in _ATOMICS.items():
        for bits, kind in zip(("32", "64"), types, strict=True):
            if kind:
                facts = {"space": "LDS", "action": "atomic", "operation": operation, "bits": bits}
                rows += memory(f"ds_{name}_{kind}", **facts)
                rows += memory(f"ds_{name}_rtn_{kind}", **facts, returns="yes")
                if kind in ("f32", "f64") and operation in ("FMIN", "FMAX"):
                    rows += memory(f"ds_{name}_num_{kind}", **facts)
                    rows += memory(f"ds_{name}_num_rtn_{kind}", **facts, returns="yes")
    for bits in ("32", "64"):
        facts = {"space": "LDS", "action": "atomic", "bits": bits}
        rows += memory(f"ds_wrxchg_rtn_b{bits}|ds_storexchg_rtn_b{bits}", **facts, operation="SWAP", returns="yes")
        # gfx9 and gfx10 name what to compare with first; gfx11 turned the two round.
        rows += memory(f"ds_cmpst_b{bits}", **facts, operation="CMPSWAP", order="compare-first")
        rows += memory(f"ds_cmpst_rtn_b{bits}", **facts, operation="CMPSWAP", order="compare-first", returns="yes")
        rows += memory(f"ds_cmpstore_b{bits}", **facts, operation="CMPSWAP")
        rows += memory(f"ds_cmpstore_rtn_b{bits}", **facts, operation="CMPSWAP", returns="yes")
        rows += memory(f"ds_cmpst_f{bits}", **facts, operation="FCMPSWAP", order="compare-first")
        rows += memory(f"ds_cmpst_rtn_f{bits}", **facts, operation="FCMPSWAP", order="compare-first", returns="yes")
        rows += memory(f"ds_cmpstore_f{bits}", **facts, operation="FCMPSWAP")
        rows += memory(f"ds_cmpstore_rtn_f{bits}", **facts, operation="FCMPSWAP", returns="yes")
    rows += memory("ds_wrap_rtn_b32", space="LDS", action="atomic", bits="32", operation="WRAP", returns="yes")
    rows += memory(
        "ds_condxchg32_rtn_b64", space="LDS", action="atomic", bits="64", operation="CONDXCHG", returns="yes"
    )
    return tuple(rows)


def _pairs() -> tuple[Row, ...]:
    rows: list[Row] = []
    for bits, words in (("32", "1"), ("64", "2")):
        for names, scale in (("ds_{}2_b{}|ds_{}_2addr_b{}", 1), ("ds_{}2st64_b{}|ds_{}_2addr_stride64_b{}", 64)):
            old, new = names.split("|")
            step = str(int(bits) // 8 * scale)
            read = f"{old.format('read', bits)}|{new.format('load', bits)}"
            write = f"{old.format('write', bits)}|{new.format('store', bits)}"
            rows += memory(read, space="LDS", action="load2", words=words, step=step)
            rows += memory(write, space="LDS", action="store2", words=words, step=step)
        for names, scale in (("wrxchg2|storexchg_2addr", 1), ("wrxchg2st64|storexchg_2addr_stride64", 64)):
            rows += memory(
                "|".join(f"ds_{name}_rtn_b{bits}" for name in names.split("|")),
                space="LDS",
                action="exchange2",
                words=words,
                step=str(int(bits) // 8 * scale),
            )
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *(
        row
        for kind, name in _LOADS.items()
        for row in memory(f"ds_read_{name}|ds_load_{name}", space="LDS", action="load", moves=kind)
    ),
    *(
        row
        for kind, name in _STORES.items()
        for row in memory(f"ds_write_{name}|ds_store_{name}", space="LDS", action="store", moves=kind)
    ),
    *_atomics(),
    *_pairs(),
    # One place for the whole wave, at M0: it grows or shrinks by the number of active lanes.
    *memory("ds_append", space="LDS", action="count_lanes", sign="+"),
    *memory("ds_consume", space="LDS", action="count_lanes", sign="-"),
    *memory("ds_read_addtid_b32|ds_load_addtid_b32", space="LDS", action="load_at_lane", moves="W1"),
    *memory("ds_write_addtid_b32|ds_store_addtid_b32", space="LDS", action="store_at_lane", moves="W1"),
    *wave(
        "ds_bpermute_b32",
        "v1 = v1 v1",
        "kpt_bpermute(w, d, a, b, {offset}, ex)",
        modifiers=("offset",),
        counts_as="lds",
    ),
    *wave("ds_permute_b32", "v1 = v1 v1", "kpt_permute(d, a, b, {offset}, ex)", modifiers=("offset",), counts_as="lds"),
    *wave("ds_swizzle_b32", "v1 = v1", "kpt_swizzle(w, d, a, {offset}, ex)", modifiers=("offset",), counts_as="lds"),
)
