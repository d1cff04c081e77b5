"""Scalar integer and bit instructions."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, scalar

_SUM = "uint64_t t = (uint64_t)a + b; d = (uint32_t)t; scc = (uint32_t)(t >> 32)"
_SUM_CARRY = "uint64_t t = (uint64_t)a + b + scc; d = (uint32_t)t; scc = (uint32_t)(t >> 32)"
_DIFFERENCE = "d = a - b; scc = b > a"
_DIFFERENCE_BORROW = "uint32_t t = a - b - scc; scc = (uint64_t)b + scc > a; d = t"


def _logic(name: str, expression: str) -> tuple[Row, ...]:
    names = name.split("|")
    return (
        *scalar("|".join(f"s_{one}_b32" for one in names), "u32 = u32 u32", f"d = {expression}; scc = d != 0"),
        *scalar("|".join(f"s_{one}_b64" for one in names), "u64 = u64 u64", f"d = {expression}; scc = d != 0"),
    )


def _compares() -> tuple[Row, ...]:
    found: list[Row] = []
    for relation, operator in (("eq", "=="), ("lg", "!="), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")):
        for one in ("i32", "u32"):
            found += scalar(f"s_cmp_{relation}_{one}", f"= {one} {one}", f"scc = a {operator} b;")
            short = "(int16_t)b" if one == "i32" else "(uint16_t)b"
            found += scalar(f"s_cmpk_{relation}_{one}", f"= {one} {one}", f"scc = a {operator} {short};")
    found += scalar("s_cmp_eq_u64", "= u64 u64", "scc = a == b;")
    found += scalar("s_cmp_lg_u64", "= u64 u64", "scc = a != b;")
    return tuple(found)


def _exec_forms() -> tuple[Row, ...]:
    """Save EXEC, then combine it with the operand."""
    found: list[Row] = []
    # gfx11 names the operand that is inverted; gfx9 and gfx10 count it. D.SGPR op EXEC.
    forms = {
        "and": "a & x", "or": "a | x", "xor": "a ^ x", "nand": "~(a & x)", "nor": "~(a | x)", "xnor": "~(a ^ x)",
        "andn2|and_not1": "a & ~x", "andn1|and_not0": "~a & x", "orn2|or_not1": "a | ~x", "orn1|or_not0": "~a | x",
    }  # fmt: skip
    for names, expression in forms.items():
        for bits, kind in (("b32", "u32"), ("b64", "u64")):
            text = "|".join(f"s_{name}_saveexec_{bits}" for name in names.split("|"))
            body = f"d = x; x = {expression}; scc = x != 0"
            found += scalar(text, f"{kind} = {kind}", body, writes_exec=True)
    for name, expression in (("andn1|and_not0", "~a & x"), ("andn2|and_not1", "a & ~x")):
        for bits, kind in (("b32", "u32"), ("b64", "u64")):
            text = "|".join(f"s_{one}_wrexec_{bits}" for one in name.split("|"))
            body = f"x = {expression}; d = x; scc = x != 0"
            found += scalar(text, f"{kind} = {kind}", body, writes_exec=True)
    return tuple(found)


ROWS: tuple[Row, ...] = (
    *scalar("s_mov_b32", "u32 = u32", "a"),
    *scalar("s_movk_i32", "i32 = u32", "(int16_t)a"),
    *scalar("s_mov_b64", "u64 = u64", "a"),
    *scalar("s_cmov_b32", "+u32 = u32", "d = scc ? a : d;"),
    *scalar("s_cmovk_i32", "+i32 = u32", "d = scc ? (int16_t)a : d;"),
    *scalar("s_cmov_b64", "+u64 = u64", "d = scc ? a : d;"),
    *scalar("s_add_u32|s_add_co_u32", "u32 = u32 u32", _SUM),
    *scalar("s_addc_u32|s_add_co_ci_u32", "u32 = u32 u32", _SUM_CARRY),
    *scalar("s_sub_u32|s_sub_co_u32", "u32 = u32 u32", _DIFFERENCE),
    *scalar("s_subb_u32|s_sub_co_ci_u32", "u32 = u32 u32", _DIFFERENCE_BORROW),
    *scalar("s_add_i32|s_add_co_i32", "u32 = u32 u32", "d = a + b; scc = (~(a ^ b) & (a ^ d)) >> 31"),
    *scalar("s_sub_i32|s_sub_co_i32", "u32 = u32 u32", "d = a - b; scc = ((a ^ b) & (a ^ d)) >> 31"),
    *scalar(
        "s_addk_i32|s_addk_co_i32",
        "+u32 = u32",
        "uint32_t t = d, k = (uint32_t)(int16_t)a; d = t + k; scc = (~(t ^ k) & (t ^ d)) >> 31",
    ),
    *scalar("s_mulk_i32", "+u32 = u32", "d * (uint32_t)(int16_t)a"),
    *scalar("s_add_u64|s_add_nc_u64", "u64 = u64 u64", "a + b"),
    *scalar("s_sub_u64|s_sub_nc_u64", "u64 = u64 u64", "a - b"),
    *scalar("s_mul_u64", "u64 = u64 u64", "a * b"),
    *scalar("s_mul_i32", "u32 = u32 u32", "a * b"),
    *scalar("s_mul_hi_u32", "u32 = u32 u32", "(uint32_t)((uint64_t)a * b >> 32)"),
    *scalar("s_mul_hi_i32", "i32 = i32 i32", "(int32_t)((int64_t)a * b >> 32)"),
    *scalar("s_min_u32", "u32 = u32 u32", "scc = a < b; d = a < b ? a : b"),
    *scalar("s_max_u32", "u32 = u32 u32", "scc = a >= b; d = scc ? a : b"),
    *scalar("s_min_i32", "i32 = i32 i32", "scc = a < b; d = a < b ? a : b"),
    *scalar("s_max_i32", "i32 = i32 i32", "scc = a >= b; d = scc ? a : b"),
    *_logic("and", "a & b"),
    *_logic("or", "a | b"),
    *_logic("xor", "a ^ b"),
    *_logic("andn2|and_not1", "a & ~b"),
    *_logic("orn2|or_not1", "a | ~b"),
    *_logic("nand", "~(a & b)"),
    *_logic("nor", "~(a | b)"),
    *_logic("xnor", "~(a ^ b)"),
    *scalar("s_not_b32", "u32 = u32", "d = ~a; scc = d != 0"),
    *scalar("s_not_b64", "u64 = u64", "d = ~a; scc = d != 0"),
    *scalar("s_lshl_b32", "u32 = u32 u32", "d = a << (b & 31); scc = d != 0"),
    *scalar("s_lshl_b64", "u64 = u64 u32", "d = a << (b & 63); scc = d != 0"),
    *scalar("s_lshr_b32", "u32 = u32 u32", "d = a >> (b & 31); scc = d != 0"),
    *scalar("s_lshr_b64", "u64 = u64 u32", "d = a >> (b & 63); scc = d != 0"),
    *scalar("s_ashr_i32", "i32 = i32 u32", "d = a >> (b & 31); scc = d != 0"),
    *scalar("s_ashr_i64", "i64 = i64 u32", "d = a >> (b & 63); scc = d != 0"),
    *(
        row
        for n in (1, 2, 3, 4)
        for row in scalar(
            f"s_lshl{n}_add_u32",
            "u32 = u32 u32",
            f"uint64_t t = ((uint64_t)a << {n}) + b; d = (uint32_t)t; scc = t >> 32 != 0",
        )
    ),
    *scalar("s_bfm_b32", "u32 = u32 u32", "((1u << (a & 31)) - 1u) << (b & 31)"),
    *scalar("s_bfm_b64", "u64 = u32 u32", "((UINT64_C(1) << (a & 63)) - 1u) << (b & 63)"),
    *scalar(
        "s_bfe_u32",
        "u32 = u32 u32",
        "uint32_t n = b >> 16 & 127; d = n == 0 ? 0 : n >= 32 ? a >> (b & 31) : a >> (b & 31) & ((1u << n) - 1u);"
        " scc = d != 0",
    ),
    *scalar(
        "s_bfe_i32",
        "i32 = i32 u32",
        "uint32_t n = b >> 16 & 127, o = b & 31; int32_t t = a >> o;"
        " d = n == 0 ? 0 : n + o >= 32 ? t : (int32_t)((uint32_t)t << (32 - n)) >> (32 - n); scc = d != 0",
    ),
    *scalar(
        "s_bfe_u64",
        "u64 = u64 u32",
        "uint32_t n = b >> 16 & 127; uint64_t t = a >> (b & 63);"
        " d = n == 0 ? 0 : n >= 64 ? t : t & ((UINT64_C(1) << n) - 1u); scc = d != 0",
    ),
    *scalar(
        "s_bfe_i64",
        "i64 = i64 u32",
        "uint32_t n = b >> 16 & 127, o = b & 63; int64_t t = a >> o;"
        " d = n == 0 ? 0 : n + o >= 64 ? t : (int64_t)((uint64_t)t << (64 - n)) >> (64 - n); scc = d != 0",
    ),
    *scalar(
        "s_absdiff_i32",
        "u32 = i32 i32",
        "uint32_t t = (uint32_t)a - (uint32_t)b; d = (int32_t)t < 0 ? 0u - t : t; scc = d != 0",
    ),
    *scalar("s_abs_i32", "u32 = u32", "d = (int32_t)a < 0 ? 0u - a : a; scc = d != 0"),
    *scalar("s_brev_b32", "u32 = u32", "kpt_bitreverse(a)"),
    *scalar("s_brev_b64", "u64 = u64", "kpt_bitreverse64(a)"),
    *scalar("s_bcnt1_i32_b32", "u32 = u32", "d = (uint32_t)__builtin_popcount(a); scc = d != 0"),
    *scalar("s_bcnt1_i32_b64", "u32 = u64", "d = (uint32_t)__builtin_popcountll(a); scc = d != 0"),
    *scalar("s_bcnt0_i32_b32", "u32 = u32", "d = (uint32_t)__builtin_popcount(~a); scc = d != 0"),
    *scalar("s_bcnt0_i32_b64", "u32 = u64", "d = (uint32_t)__builtin_popcountll(~a); scc = d != 0"),
    *scalar("s_ff1_i32_b32|s_ctz_i32_b32", "u32 = u32", "kpt_first_low(a)"),
    *scalar("s_ff1_i32_b64|s_ctz_i32_b64", "u32 = u64", "kpt_first_low64(a)"),
    *scalar("s_ff0_i32_b32", "u32 = u32", "kpt_first_low(~a)"),
    *scalar("s_ff0_i32_b64", "u32 = u64", "kpt_first_low64(~a)"),
    *scalar("s_flbit_i32_b32|s_clz_i32_u32", "u32 = u32", "kpt_first_high(a)"),
    *scalar("s_flbit_i32_b64|s_clz_i32_u64", "u32 = u64", "kpt_first_high64(a)"),
    *scalar("s_flbit_i32|s_cls_i32", "u32 = u32", "kpt_first_sign_change(a)"),
    *scalar("s_flbit_i32_i64|s_cls_i32_i64", "u32 = u64", "kpt_first_sign_change64(a)"),
    *scalar("s_sext_i32_i8", "i32 = u32", "(int8_t)a"),
    *scalar("s_sext_i32_i16", "i32 = u32", "(int16_t)a"),
    *scalar("s_bitset0_b32", "+u32 = u32", "d & ~(1u << (a & 31))"),
    *scalar("s_bitset1_b32", "+u32 = u32", "d | 1u << (a & 31)"),
    *scalar("s_bitset0_b64", "+u64 = u32", "d & ~(UINT64_C(1) << (a & 63))"),
    *scalar("s_bitset1_b64", "+u64 = u32", "d | UINT64_C(1) << (a & 63)"),
    *scalar("s_bitcmp0_b32", "= u32 u32", "scc = !(a >> (b & 31) & 1);"),
    *scalar("s_bitcmp1_b32", "= u32 u32", "scc = a >> (b & 31) & 1;"),
    *scalar("s_bitcmp0_b64", "= u64 u32", "scc = !(a >> (b & 63) & 1);"),
    *scalar("s_bitcmp1_b64", "= u64 u32", "scc = (uint32_t)(a >> (b & 63) & 1);"),
    *scalar(
        "s_bitreplicate_b64_b32",
        "u64 = u32",
        "d = 0; for (int i = 0; i < 32; i++) d |= (uint64_t)(a >> i & 1) * 3 << 2 * i;",
    ),
    *scalar("s_cselect_b32", "u32 = u32 u32", "d = scc ? a : b;"),
    *scalar("s_cselect_b64", "u64 = u64 u64", "d = scc ? a : b;"),
    *scalar("s_pack_ll_b32_b16", "u32 = u32 u32", "(a & 0xffffu) | b << 16"),
    *scalar("s_pack_lh_b32_b16", "u32 = u32 u32", "(a & 0xffffu) | (b & 0xffff0000u)"),
    *scalar("s_pack_hh_b32_b16", "u32 = u32 u32", "a >> 16 | (b & 0xffff0000u)"),
    *scalar("s_pack_hl_b32_b16", "u32 = u32 u32", "a >> 16 | b << 16"),
    *scalar(
        "s_wqm_b32",
        "u32 = u32",
        "d = 0; for (int i = 0; i < 32; i += 4) if (a >> i & 15) d |= 15u << i; scc = d != 0",
    ),
    *scalar(
        "s_wqm_b64",
        "u64 = u64",
        "d = 0; for (int i = 0; i < 64; i += 4) if (a >> i & 15) d |= UINT64_C(15) << i; scc = d != 0",
    ),
    *scalar(
        "s_quadmask_b32",
        "u32 = u32",
        "d = 0; for (int i = 0; i < 8; i++) d |= (uint32_t)((a >> 4 * i & 15) != 0) << i; scc = d != 0",
    ),
    *scalar(
        "s_quadmask_b64",
        "u64 = u64",
        "d = 0; for (int i = 0; i < 16; i++) d |= (uint64_t)((a >> 4 * i & 15) != 0) << i; scc = d != 0",
    ),
    *_compares(),
    *_exec_forms(),
)
