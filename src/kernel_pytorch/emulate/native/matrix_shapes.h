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
KPT_MFMA(kpt_mfma_32x32x4_2b_f16, 32, 2, 4, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA(kpt_mfma_16x16x4_4b_f16, 16, 4, 4, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA(kpt_mfma_32x32x8_f16, 32, 1, 8, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA(kpt_mfma_16x16x16_f16, 16, 1, 16, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA(kpt_mfma_16x16x32_f16, 16, 1, 32, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA(kpt_mfma_32x32x16_f16, 32, 1, 16, KPT_IN_F16, KPT_IN_F16)
KPT_MFMA_4X4(kpt_mfma_4x4x4_16b_f16, 4, KPT_IN_F16)
KPT_MFMA(kpt_mfma_32x32x4_2b_f16_flushed, 32, 2, 4, KPT_IN_F16_FLUSHED, KPT_IN_F16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x4_4b_f16_flushed, 16, 4, 4, KPT_IN_F16_FLUSHED, KPT_IN_F16_FLUSHED)
KPT_MFMA(kpt_mfma_32x32x8_f16_flushed, 32, 1, 8, KPT_IN_F16_FLUSHED, KPT_IN_F16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x16_f16_flushed, 16, 1, 16, KPT_IN_F16_FLUSHED, KPT_IN_F16_FLUSHED)
KPT_MFMA_4X4(kpt_mfma_4x4x4_16b_f16_flushed, 4, KPT_IN_F16_FLUSHED)
KPT_MFMA(kpt_mfma_32x32x4_2b_bf16, 32, 2, 4, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_16x16x4_4b_bf16, 16, 4, 4, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_32x32x8_bf16, 32, 1, 8, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_16x16x16_bf16, 16, 1, 16, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_16x16x32_bf16, 16, 1, 32, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_32x32x16_bf16, 32, 1, 16, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_32x32x2_2b_bf16, 32, 2, 2, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_16x16x2_4b_bf16, 16, 4, 2, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_32x32x4_bf16, 32, 1, 4, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_16x16x8_bf16, 16, 1, 8, KPT_IN_BF16, KPT_IN_BF16)
KPT_MFMA_4X4(kpt_mfma_4x4x4_16b_bf16, 4, KPT_IN_BF16)
KPT_MFMA_4X4(kpt_mfma_4x4x2_16b_bf16, 2, KPT_IN_BF16)
KPT_MFMA(kpt_mfma_32x32x4_2b_bf16_flushed, 32, 2, 4, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x4_4b_bf16_flushed, 16, 4, 4, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_32x32x8_bf16_flushed, 32, 1, 8, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x16_bf16_flushed, 16, 1, 16, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_32x32x2_2b_bf16_flushed, 32, 2, 2, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x2_4b_bf16_flushed, 16, 4, 2, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_32x32x4_bf16_flushed, 32, 1, 4, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x8_bf16_flushed, 16, 1, 8, KPT_IN_BF16_FLUSHED, KPT_IN_BF16_FLUSHED)
KPT_MFMA_4X4(kpt_mfma_4x4x4_16b_bf16_flushed, 4, KPT_IN_BF16_FLUSHED)
KPT_MFMA_4X4(kpt_mfma_4x4x2_16b_bf16_flushed, 2, KPT_IN_BF16_FLUSHED)
KPT_MFMA(kpt_mfma_16x16x32_fp8_fp8, 16, 1, 32, KPT_IN_FP8, KPT_IN_FP8)
KPT_MFMA(kpt_mfma_32x32x16_fp8_fp8, 32, 1, 16, KPT_IN_FP8, KPT_IN_FP8)
KPT_MFMA(kpt_mfma_16x16x32_fp8_fp8_fnuz, 16, 1, 32, KPT_IN_FP8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_MFMA(kpt_mfma_32x32x16_fp8_fp8_fnuz, 32, 1, 16, KPT_IN_FP8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_MFMA(kpt_mfma_16x16x32_fp8_bf8, 16, 1, 32, KPT_IN_FP8, KPT_IN_BF8)
KPT_MFMA(kpt_mfma_32x32x16_fp8_bf8, 32, 1, 16, KPT_IN_FP8, KPT_IN_BF8)
KPT_MFMA(kpt_mfma_16x16x32_fp8_bf8_fnuz, 16, 1, 32, KPT_IN_FP8_FNUZ, KPT_IN_BF8_FNUZ)
KPT_MFMA(kpt_mfma_32x32x16_fp8_bf8_fnuz, 32, 1, 16, KPT_IN_FP8_FNUZ, KPT_IN_BF8_FNUZ)
KPT_MFMA(kpt_mfma_16x16x32_bf8_fp8, 16, 1, 32, KPT_IN_BF8, KPT_IN_FP8)
KPT_MFMA(kpt_mfma_32x32x16_bf8_fp8, 32, 1, 16, KPT_IN_BF8, KPT_IN_FP8)
KPT_MFMA(kpt_mfma_16x16x32_bf8_fp8_fnuz, 16, 1, 32, KPT_IN_BF8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_MFMA(kpt_mfma_32x32x16_bf8_fp8_fnuz, 32, 1, 16, KPT_IN_BF8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_MFMA(kpt_mfma_16x16x32_bf8_bf8, 16, 1, 32, KPT_IN_BF8, KPT_IN_BF8)
KPT_MFMA(kpt_mfma_32x32x16_bf8_bf8, 32, 1, 16, KPT_IN_BF8, KPT_IN_BF8)
KPT_MFMA(kpt_mfma_16x16x32_bf8_bf8_fnuz, 16, 1, 32, KPT_IN_BF8_FNUZ, KPT_IN_BF8_FNUZ)
KPT_MFMA(kpt_mfma_32x32x16_bf8_bf8_fnuz, 32, 1, 16, KPT_IN_BF8_FNUZ, KPT_IN_BF8_FNUZ)
KPT_MFMA_I8(kpt_mfma_32x32x4_2b_i8, 32, 2, 4)
KPT_MFMA_I8(kpt_mfma_16x16x4_4b_i8, 16, 4, 4)
KPT_MFMA_I8(kpt_mfma_32x32x8_i8, 32, 1, 8)
KPT_MFMA_I8(kpt_mfma_16x16x16_i8, 16, 1, 16)
KPT_MFMA_I8(kpt_mfma_32x32x16_i8, 32, 1, 16)
KPT_MFMA_I8(kpt_mfma_16x16x32_i8, 16, 1, 32)
KPT_MFMA_I8(kpt_mfma_16x16x64_i8, 16, 1, 64)
KPT_MFMA_I8(kpt_mfma_32x32x32_i8, 32, 1, 32)
KPT_SMFMAC(kpt_smfmac_16x16x32_f16, 16, 32, KPT_IN_F16, KPT_IN_F16)
KPT_SMFMAC(kpt_smfmac_32x32x16_f16, 32, 16, KPT_IN_F16, KPT_IN_F16)
KPT_SMFMAC(kpt_smfmac_16x16x64_f16, 16, 64, KPT_IN_F16, KPT_IN_F16)
KPT_SMFMAC(kpt_smfmac_32x32x32_f16, 32, 32, KPT_IN_F16, KPT_IN_F16)
KPT_SMFMAC(kpt_smfmac_16x16x32_bf16, 16, 32, KPT_IN_BF16, KPT_IN_BF16)
KPT_SMFMAC(kpt_smfmac_32x32x16_bf16, 32, 16, KPT_IN_BF16, KPT_IN_BF16)
KPT_SMFMAC(kpt_smfmac_16x16x64_bf16, 16, 64, KPT_IN_BF16, KPT_IN_BF16)
KPT_SMFMAC(kpt_smfmac_32x32x32_bf16, 32, 32, KPT_IN_BF16, KPT_IN_BF16)
KPT_SMFMAC(kpt_smfmac_16x16x64_fp8_fp8, 16, 64, KPT_IN_FP8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_32x32x32_fp8_fp8, 32, 32, KPT_IN_FP8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_16x16x128_fp8_fp8, 16, 128, KPT_IN_FP8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_32x32x64_fp8_fp8, 32, 64, KPT_IN_FP8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_16x16x64_fp8_fp8_fnuz, 16, 64, KPT_IN_FP8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_SMFMAC(kpt_smfmac_32x32x32_fp8_fp8_fnuz, 32, 32, KPT_IN_FP8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_SMFMAC(kpt_smfmac_16x16x64_fp8_bf8, 16, 64, KPT_IN_FP8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_32x32x32_fp8_bf8, 32, 32, KPT_IN_FP8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_16x16x128_fp8_bf8, 16, 128, KPT_IN_FP8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_32x32x64_fp8_bf8, 32, 64, KPT_IN_FP8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_16x16x64_fp8_bf8_fnuz, 16, 64, KPT_IN_FP8_FNUZ, KPT_IN_BF8_FNUZ)
KPT_SMFMAC(kpt_smfmac_32x32x32_fp8_bf8_fnuz, 32, 32, KPT_IN_FP8_FNUZ, KPT_IN_BF8_FNUZ)
KPT_SMFMAC(kpt_smfmac_16x16x64_bf8_fp8, 16, 64, KPT_IN_BF8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_32x32x32_bf8_fp8, 32, 32, KPT_IN_BF8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_16x16x128_bf8_fp8, 16, 128, KPT_IN_BF8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_32x32x64_bf8_fp8, 32, 64, KPT_IN_BF8, KPT_IN_FP8)
KPT_SMFMAC(kpt_smfmac_16x16x64_bf8_fp8_fnuz, 16, 64, KPT_IN_BF8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_SMFMAC(kpt_smfmac_32x32x32_bf8_fp8_fnuz, 32, 32, KPT_IN_BF8_FNUZ, KPT_IN_FP8_FNUZ)
KPT_SMFMAC(kpt_smfmac_16x16x64_bf8_bf8, 16, 64, KPT_IN_BF8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_32x32x32_bf8_bf8, 32, 32, KPT_IN_BF8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_16x16x128_bf8_bf8, 16, 128, KPT_IN_BF8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_32x32x64_bf8_bf8, 32, 64, KPT_IN_BF8, KPT_IN_BF8)
KPT_SMFMAC(kpt_smfmac_16x16x64_bf8_bf8_fnuz, 16, 64, KPT_IN_BF8_FNUZ, KPT_IN_BF8_FNUZ)
KPT_SMFMAC(kpt_smfmac_32x32x32_bf8_bf8_fnuz, 32, 32, KPT_IN_BF8_FNUZ, KPT_IN_BF8_FNUZ)
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
