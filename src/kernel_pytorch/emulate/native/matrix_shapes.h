/* The shapes of MFMA and SMFMAC. The names say rows, columns, depth, blocks where there are several, and types;
 * _flushed: without denormals (gfx90a); _fnuz: the 8-bit formats of gfx942. */
#ifndef KPT_MATRIX_SHAPES_H
#define KPT_MATRIX_SHAPES_H

#include "matrix.h"

#if WAVE == 64
KPT_MFMA(kpt_mfma_32x32x1_2b_f32, 32, 2, 1, KPT_IN_F32, KPT_IN_F32)
KPT_MFMA(kpt_mfma_16x16x1_4b_f32, 16, 4, 1, KPT_IN_F32, KPT_IN_F32)
KPT_MFMA(kpt_mfma_32x32x2_f32, 32, 1, 2, KPT_IN_F32, KPT_IN_F32)
KPT_MFMA(kpt_mfma_16x16x4_f32, 16, 1, 4, KPT_IN_F32, KPT_IN_F32)
KPT_MFMA_4X4(kpt_mfma_4x4x1_16b_f32, 1, KPT_IN_F32)
KPT_MFMA(kpt_mfma_16x16x8_xf32, 16, 1, 8, KPT_IN_XF32, KPT_IN_XF32)
KPT_MFMA(kpt_mfma_32x32x4_xf32, 32, 1, 4, KPT_IN_XF32, KPT_IN_XF32)

/* Of both 16-bit types. */
#define KPT_MFMA_16_BIT(types, in)                                                                                     \
    KPT_MFMA(kpt_mfma_32x32x4_2b_##types, 32, 2, 4, in, in)                                                            \
    KPT_MFMA(kpt_mfma_16x16x4_4b_##types, 16, 4, 4, in, in)                                                            \
    KPT_MFMA(kpt_mfma_32x32x8_##types, 32, 1, 8, in, in)                                                               \
    KPT_MFMA(kpt_mfma_16x16x16_##types, 16, 1, 16, in, in)                                                             \
    KPT_MFMA_4X4(kpt_mfma_4x4x4_16b_##types, 4, in)
KPT_MFMA_16_BIT(f16, KPT_IN_F16)
KPT_MFMA_16_BIT(f16_flushed, KPT_IN_F16_FLUSHED)
KPT_MFMA_16_BIT(bf16, KPT_IN_BF16)
KPT_MFMA_16_BIT(bf16_flushed, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x32_f16, 16, 1, 32, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA(kpt_mfma_32x32x16_f16, 32, 1, 16, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA(kpt_mfma_16x16x32_bf16, 16, 1, 32, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_32x32x16_bf16, 32, 1, 16, KPT_IN_BF16, KPT_IN_BF16)
/* gfx908's of bf16 are half as deep. */
#define KPT_MFMA_BF16_OLD(types, in)                                                                                   \
    KPT_MFMA(kpt_mfma_32x32x2_2b_##types, 32, 2, 2, in, in)                                                            \
    KPT_MFMA(kpt_mfma_16x16x2_4b_##types, 16, 4, 2, in, in)                                                            \
    KPT_MFMA(kpt_mfma_32x32x4_##types, 32, 1, 4, in, in)                                                               \
    KPT_MFMA(kpt_mfma_16x16x8_##types, 16, 1, 8, in, in)                                                               \
    KPT_MFMA_4X4(kpt_mfma_4x4x2_16b_##types, 2, in)
KPT_MFMA_BF16_OLD(bf16, KPT_IN_BF16)
KPT_MFMA_BF16_OLD(bf16_flushed, KPT_IN_BF16_FLUSHED)

KPT_MFMA_I8(kpt_mfma_32x32x4_2b_i8, 32, 2, 4)
KPT_MFMA_I8(kpt_mfma_16x16x4_4b_i8, 16, 4, 4)
KPT_MFMA_I8(kpt_mfma_32x32x8_i8, 32, 1, 8)
KPT_MFMA_I8(kpt_mfma_16x16x16_i8, 16, 1, 16)
KPT_MFMA_I8(kpt_mfma_32x32x16_i8, 32, 1, 16)
KPT_MFMA_I8(kpt_mfma_16x16x32_i8, 16, 1, 32)
KPT_MFMA_I8(kpt_mfma_16x16x64_i8, 16, 1, 64)
KPT_MFMA_I8(kpt_mfma_32x32x32_i8, 32, 1, 32)

#define KPT_SMFMAC_16_BIT(types, in)                                                                                   \
    KPT_SMFMAC(kpt_smfmac_16x16x32_##types, 16, 32, in, in)                                                            \
    KPT_SMFMAC(kpt_smfmac_32x32x16_##types, 32, 16, in, in)                                                            \
    KPT_SMFMAC(kpt_smfmac_16x16x64_##types, 16, 64, in, in)                                                            \
    KPT_SMFMAC(kpt_smfmac_32x32x32_##types, 32, 32, in, in)
KPT_SMFMAC_16_BIT(f16, KPT_IN_F16)
KPT_SMFMAC_16_BIT(bf16, KPT_IN_BF16)

/* Of the 8-bit types, dense and sparse; gfx950 has deeper sparse ones of its own formats. */
#define KPT_8_BIT(types, in_a, in_b)                                                                                   \
    KPT_MFMA(kpt_mfma_16x16x32_##types, 16, 1, 32, in_a, in_b)                                                         \
    KPT_MFMA(kpt_mfma_32x32x16_##types, 32, 1, 16, in_a, in_b)                                                         \
    KPT_SMFMAC(kpt_smfmac_16x16x64_##types, 16, 64, in_a, in_b)                                                        \
    KPT_SMFMAC(kpt_smfmac_32x32x32_##types, 32, 32, in_a, in_b)
#define KPT_8_BIT_PAIR(types, in_a, in_b)                                                                              \
    KPT_8_BIT(types, in_a, in_b)                                                                                       \
    KPT_8_BIT(types##_fnuz, in_a##_FNUZ, in_b##_FNUZ)                                                                  \
    KPT_SMFMAC(kpt_smfmac_16x16x128_##types, 16, 128, in_a, in_b)                                                      \
    KPT_SMFMAC(kpt_smfmac_32x32x64_##types, 32, 64, in_a, in_b)
KPT_8_BIT_PAIR(fp8_fp8, KPT_IN_FP8, KPT_IN_FP8)
KPT_8_BIT_PAIR(fp8_bf8, KPT_IN_FP8, KPT_IN_BF8)
KPT_8_BIT_PAIR(bf8_fp8, KPT_IN_BF8, KPT_IN_FP8)
KPT_8_BIT_PAIR(bf8_bf8, KPT_IN_BF8, KPT_IN_BF8)

KPT_SMFMAC_I8(kpt_smfmac_16x16x64_i8, 16, 64)
KPT_SMFMAC_I8(kpt_smfmac_32x32x32_i8, 32, 32)
KPT_SMFMAC_I8(kpt_smfmac_16x16x128_i8, 16, 128)
KPT_SMFMAC_I8(kpt_smfmac_32x32x64_i8, 32, 64)

/* Formats of v_mfma_f32_*_f8f6f4, as cbsz (A) and blgp (B) number them. */
KPT_INLINE int kpt_f8f6f4(uint32_t code) {
    return code == 0   ? KPT_IN_FP8
           : code == 1 ? KPT_IN_BF8
           : code == 2 ? KPT_IN_FP6
           : code == 3 ? KPT_IN_BF6
                       : KPT_IN_FP4;
}
#define KPT_F8F6F4(name, m, depth)                                                                                     \
    KPT_SHAPE name(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t of_a,                \
                   uint32_t of_b) {                                                                                    \
        if (of_a == 0 && of_b == 0)                                                                                    \
            kpt_mfma_f32(d, a, b, c, m, 1, depth, KPT_IN_FP8, KPT_IN_FP8, 0, 0, 0);                                    \
        else if (of_a == 4 && of_b == 4)                                                                               \
            kpt_mfma_f32(d, a, b, c, m, 1, depth, KPT_IN_FP4, KPT_IN_FP4, 0, 0, 0);                                    \
        else                                                                                                           \
            kpt_mfma_f32_any(d, a, b, c, m, 1, depth, kpt_f8f6f4(of_a), kpt_f8f6f4(of_b), 0, 0, 0);                    \
    }
/* With a scale of 2^(byte - 127) for the 32 elements of A, and of B, that a lane holds; 255 is NaN. */
KPT_INLINE void kpt_matrix_scale(float (*values)[64], const uint32_t *scales, uint32_t byte) {
    float factor[64];
    for (int l = 0; l < 64; l++) {
        const uint32_t power = scales[l] >> (8 * byte) & 255u;
        factor[l] = kpt_f32(power == 255u ? 0x7fc00000u : power == 0 ? 0x00400000u : power << 23);
    }
    for (int e = 0; e < 32; e++)
        for (int l = 0; l < 64; l++) values[e][l] *= factor[l];
}
KPT_SHAPE kpt_mfma_scaled(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, const uint32_t *scale_a,
                          const uint32_t *scale_b, int m, uint32_t of_a, uint32_t of_b, uint32_t byte_a,
                          uint32_t byte_b) {
    float left[32][64], right[32][64];
    kpt_matrix_spread(left, a, kpt_f8f6f4(of_a), 32, 0);
    kpt_matrix_spread(right, b, kpt_f8f6f4(of_b), 32, 0);
    kpt_matrix_scale(left, scale_a, byte_a);
    kpt_matrix_scale(right, scale_b, byte_b);
    for (int i = 0; i < m; i++) {
        const int at = m == 32 ? (4 * (i >> 3) + (i & 3)) * 64 + 32 * (i >> 2 & 1) : (i & 3) * 64 + 16 * (i >> 2);
        kpt_matrix_row(d + at, c + at, left, right, m, 32, 64 / m, m, i, 0, 0);
    }
}
KPT_F8F6F4(kpt_mfma_16x16x128_f8f6f4, 16, 128)
KPT_F8F6F4(kpt_mfma_32x32x64_f8f6f4, 32, 64)
#endif
#endif
