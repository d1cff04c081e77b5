/* MFMA: D = A * B + C on a wave of 64, one fused multiply-add after the other in the order of k; EXEC is ignored.
 *
 * Sources are first spread to one array per element number, a value per lane: element e of lane l is A[i][k] with
 * i = l % M and k = per_lane * (group of lanes) + e, so a row of B is consecutive, and the row of C that it is added to
 * is consecutive lanes of one register. All loops below then run along columns and vectorise. */
#ifndef KPT_MATRIX_H
#define KPT_MATRIX_H

#include "floats.h"
#include "small_floats.h"

#if WAVE == 64
enum {
    KPT_IN_F32,
    KPT_IN_XF32,
    KPT_IN_F16,
    KPT_IN_BF16,
    KPT_IN_F16_FLUSHED,
    KPT_IN_BF16_FLUSHED,
    KPT_IN_FP8,
    KPT_IN_BF8,
    KPT_IN_FP8_FNUZ,
    KPT_IN_BF8_FNUZ,
    KPT_IN_FP6,
    KPT_IN_BF6,
    KPT_IN_FP4
};
/* gfx90a's matrix units lose the denormals of half and bfloat16 operands and results. */
#define KPT_LOSES(kind) ((kind) == KPT_IN_F16_FLUSHED || (kind) == KPT_IN_BF16_FLUSHED)

KPT_INLINE int kpt_matrix_bits(int kind) {
    return kind <= KPT_IN_XF32           ? 32
           : kind <= KPT_IN_BF16_FLUSHED ? 16
           : kind <= KPT_IN_BF8_FNUZ     ? 8
           : kind <= KPT_IN_BF6          ? 6
                                         : 4;
}
KPT_INLINE float kpt_matrix_value(int kind, uint32_t bits) {
    switch (kind) {
    case KPT_IN_F32: return kpt_f32(bits);
    case KPT_IN_XF32: return kpt_f32(bits & 0xffffe000u);
    case KPT_IN_F16: return kpt_half_to_f32((uint16_t)bits);
    case KPT_IN_BF16: return kpt_bf16_to_f32(bits);
    case KPT_IN_F16_FLUSHED: return kpt_half_to_f32(kpt_flush_half((uint16_t)bits));
    case KPT_IN_BF16_FLUSHED: return kpt_flush_f32(kpt_bf16_to_f32(bits));
    case KPT_IN_FP8: return kpt_small_to_f32(kpt_fp8_ocp, bits);
    case KPT_IN_BF8: return kpt_small_to_f32(kpt_bf8_ocp, bits);
    case KPT_IN_FP8_FNUZ: return kpt_small_to_f32(kpt_fp8_fnuz, bits);
    case KPT_IN_BF8_FNUZ: return kpt_small_to_f32(kpt_bf8_fnuz, bits);
    case KPT_IN_FP6: return kpt_small_to_f32(kpt_fp6, bits);
    case KPT_IN_BF6: return kpt_small_to_f32(kpt_bf6, bits);
    }
    return kpt_small_to_f32(kpt_fp4, bits);
}
/* Which lane's B a lane uses. */
KPT_INLINE uint32_t kpt_matrix_lane(uint32_t blgp, uint32_t lane) {
    if (blgp == 0) return lane;
    if (blgp == 1) return lane & 31u;
    if (blgp == 2) return lane | 32u;
    if (blgp == 3) return (lane + 16u) & 63u;
    return (lane & 15u) | (blgp - 4u) << 4;
}
KPT_INLINE void kpt_matrix_spread(float (*out)[64], const uint32_t *in, int kind, int count, uint32_t blgp) {
    const int bits = kpt_matrix_bits(kind);
    for (int e = 0; e < count; e++) {
        const int at = e * bits, word = at / 32, shift = at % 32;
        const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1u;
        for (uint32_t l = 0; l < 64; l++) {
            const uint32_t from = kpt_matrix_lane(blgp, l);
            uint32_t raw = in[word * 64 + from] >> shift;
            if (32 % bits != 0 && shift + bits > 32) raw |= in[(word + 1) * 64 + from] << (32 - shift);
            out[e][l] = kpt_matrix_value(kind, raw & mask);
        }
    }
}
/* One row of D: N columns, from the row of C. */
KPT_INLINE void kpt_matrix_row(uint32_t *d, const uint32_t *c, float (*a)[64], float (*b)[64], int n, int per_lane,
                               int groups, int stride, int from_a, int from_b, int loses) {
    float sum[32];
    for (int j = 0; j < n; j++) sum[j] = loses ? kpt_flush_f32(kpt_f32(c[j])) : kpt_f32(c[j]);
    for (int group = 0; group < groups; group++)
        for (int e = 0; e < per_lane; e++) {
            const float left = a[e][group * stride + from_a];
            const float *right = &b[e][group * stride + from_b];
            for (int j = 0; j < n; j++) {
                sum[j] = __builtin_fmaf(left, right[j], sum[j]);
                if (loses) sum[j] = kpt_flush_f32(sum[j]);
            }
        }
    for (int j = 0; j < n; j++) d[j] = kpt_u32(sum[j]);
}
/* 32 x 32 and 16 x 16, one block over groups of k or several blocks. */
KPT_INLINE void kpt_mfma_f32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int m, int blocks,
                             int depth, int kind_a, int kind_b, uint32_t cbsz, uint32_t abid, uint32_t blgp) {
    float left[32][64], right[32][64];
    const int per_lane = depth * m * blocks / 64, groups = 64 / (m * blocks), loses = KPT_LOSES(kind_a);
    kpt_matrix_spread(left, a, kind_a, per_lane, 0);
    kpt_matrix_spread(right, b, kind_b, per_lane, blgp);
    for (int block = 0; block < blocks; block++) {
        const int source = cbsz ? (int)(((uint32_t)block >> cbsz << cbsz) + abid) : block;
        for (int i = 0; i < m; i++) {
            const int element = m == 32 ? 16 * block + 4 * (i >> 3) + (i & 3) : 4 * block + (i & 3);
            const int lane = m == 32 ? 32 * (i >> 2 & 1) : 16 * (i >> 2);
            const int at = element * 64 + lane;
            kpt_matrix_row(d + at, c + at, left, right, m, per_lane, groups, m * blocks, source * m + i, block * m,
                           loses);
        }
    }
}
/* 16 blocks of 4 x 4: lane l is column l % 4 of block l / 4, register i its row i. */
KPT_INLINE void kpt_mfma_f32_4x4(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int depth,
                                 int kind, uint32_t cbsz, uint32_t abid, uint32_t blgp) {
    float left[4][64], right[4][64], sum[4][64];
    const int loses = KPT_LOSES(kind);
    kpt_matrix_spread(left, a, kind, depth, 0);
    kpt_matrix_spread(right, b, kind, depth, blgp);
    for (int i = 0; i < 4; i++)
        for (uint32_t l = 0; l < 64; l++) {
            const uint32_t block = l >> 2, source = cbsz ? (block >> cbsz << cbsz) + abid : block;
            float total = kpt_f32(c[i * 64 + l]);
            if (loses) total = kpt_flush_f32(total);
            for (int k = 0; k < depth; k++) {
                total = __builtin_fmaf(left[k][4 * source + (uint32_t)i], right[k][l], total);
                if (loses) total = kpt_flush_f32(total);
            }
            sum[i][l] = total;
        }
    for (int i = 0; i < 4; i++)
        for (int l = 0; l < 64; l++) d[i * 64 + l] = kpt_u32(sum[i][l]);
}

/* ---- 8-bit integers ---- */
KPT_INLINE void kpt_matrix_spread_i8(int32_t (*out)[64], const uint32_t *in, int count, uint32_t blgp) {
    for (int e = 0; e < count; e++)
        for (uint32_t l = 0; l < 64; l++)
            out[e][l] = (int8_t)(in[e / 4 * 64 + (int)kpt_matrix_lane(blgp, l)] >> (8 * (e % 4)));
}
KPT_INLINE void kpt_mfma_i32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int m, int blocks,
                             int depth, uint32_t cbsz, uint32_t abid, uint32_t blgp) {
    int32_t left[16][64], right[16][64];
    const int per_lane = depth * m * blocks / 64, groups = 64 / (m * blocks);
    kpt_matrix_spread_i8(left, a, per_lane, 0);
    kpt_matrix_spread_i8(right, b, per_lane, blgp);
    for (int block = 0; block < blocks; block++) {
        const int source = cbsz ? (int)(((uint32_t)block >> cbsz << cbsz) + abid) : block;
        for (int i = 0; i < m; i++) {
            const int element = m == 32 ? 16 * block + 4 * (i >> 3) + (i & 3) : 4 * block + (i & 3);
            const int at = element * 64 + (m == 32 ? 32 * (i >> 2 & 1) : 16 * (i >> 2));
            uint32_t sum[32];
            for (int j = 0; j < m; j++) sum[j] = c[at + j];
            for (int group = 0; group < groups; group++)
                for (int e = 0; e < per_lane; e++) {
                    const int32_t x = left[e][group * m * blocks + source * m + i];
                    const int32_t *y = &right[e][group * m * blocks + block * m];
                    for (int j = 0; j < m; j++) sum[j] += (uint32_t)(x * y[j]);
                }
            for (int j = 0; j < m; j++) d[at + j] = sum[j];
        }
    }
}
KPT_INLINE void kpt_mfma_i32_4x4(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t cbsz,
                                 uint32_t abid, uint32_t blgp) {
    int32_t left[4][64], right[4][64];
    uint32_t sum[4][64];
    kpt_matrix_spread_i8(left, a, 4, 0);
    kpt_matrix_spread_i8(right, b, 4, blgp);
    for (int i = 0; i < 4; i++)
        for (uint32_t l = 0; l < 64; l++) {
            const uint32_t block = l >> 2, source = cbsz ? (block >> cbsz << cbsz) + abid : block;
            uint32_t total = c[i * 64 + l];
            for (int k = 0; k < 4; k++) total += (uint32_t)(left[k][4 * source + (uint32_t)i] * right[k][l]);
            sum[i][l] = total;
        }
    memcpy(d, sum, sizeof sum);
}

/* ---- double precision; neg bits: A, B, C ---- */
KPT_INLINE double kpt_matrix_f64(const uint32_t *in, int element, int lane, uint32_t negate) {
    uint64_t bits = in[2 * element * 64 + lane] | (uint64_t)in[(2 * element + 1) * 64 + lane] << 32;
    return kpt_f64(bits ^ (uint64_t)(negate & 1u) << 63);
}
KPT_INLINE void kpt_mfma_f64_16x16x4(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                                     uint32_t neg) {
    double left[64], right[64], sum[4][64];
    for (int l = 0; l < 64; l++) left[l] = kpt_matrix_f64(a, 0, l, neg), right[l] = kpt_matrix_f64(b, 0, l, neg >> 1);
    for (int r = 0; r < 4; r++)
        for (int row = 0; row < 4; row++) { /* i = 4 r + row, in lanes 16 row and up */
            for (int j = 0; j < 16; j++) sum[r][16 * row + j] = kpt_matrix_f64(c, r, 16 * row + j, neg >> 2);
            for (int k = 0; k < 4; k++)
                for (int j = 0; j < 16; j++)
                    sum[r][16 * row + j] =
                        __builtin_fma(left[16 * k + 4 * r + row], right[16 * k + j], sum[r][16 * row + j]);
        }
    for (int r = 0; r < 4; r++)
        for (int l = 0; l < 64; l++) {
            d[2 * r * 64 + l] = (uint32_t)kpt_u64(sum[r][l]);
            d[(2 * r + 1) * 64 + l] = (uint32_t)(kpt_u64(sum[r][l]) >> 32);
        }
}
/* Four blocks of 4 x 4: i (or k) is lane / 16, the block lane / 4 % 4. */
KPT_INLINE void kpt_mfma_f64_4x4x4(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t cbsz,
                                   uint32_t abid, uint32_t neg) {
    double left[64], right[64], sum[64];
    for (int l = 0; l < 64; l++) left[l] = kpt_matrix_f64(a, 0, l, neg), right[l] = kpt_matrix_f64(b, 0, l, neg >> 1);
    for (uint32_t l = 0; l < 64; l++) {
        const uint32_t block = l >> 2 & 3u, i = l >> 4, j = l & 3u;
        const uint32_t source = cbsz ? (block >> cbsz << cbsz) + abid : block;
        double total = kpt_matrix_f64(c, 0, (int)l, neg >> 2);
        for (uint32_t k = 0; k < 4; k++)
            total = __builtin_fma(left[16 * k + 4 * source + i], right[16 * k + 4 * block + j], total);
        sum[l] = total;
    }
    for (int l = 0; l < 64; l++) d[l] = (uint32_t)kpt_u64(sum[l]), d[64 + l] = (uint32_t)(kpt_u64(sum[l]) >> 32);
}

/* ---- sparse: of every four elements of a row of A two are stored, with their places in `index` ---- */
KPT_INLINE void kpt_smfmac_f32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *index, int m,
                               int depth, int kind_a, int kind_b, uint32_t cbsz, uint32_t abid) {
    float left[16][64], right[32][64];
    const int stored = depth * m / 128, groups = 64 / m;
    const uint32_t first = cbsz ? 0u : 2u * (uint32_t)stored * abid;
    kpt_matrix_spread(left, a, kind_a, stored, 0);
    kpt_matrix_spread(right, b, kind_b, 2 * stored, 0);
    for (int i = 0; i < m; i++) {
        const int at = m == 32 ? (4 * (i >> 3) + (i & 3)) * 64 + 32 * (i >> 2 & 1) : (i & 3) * 64 + 16 * (i >> 2);
        float sum[32];
        for (int j = 0; j < m; j++) sum[j] = kpt_f32(d[at + j]);
        for (int group = 0; group < groups; group++)
            for (int e = 0; e < stored; e++) {
                const uint32_t place = index[group * m + i] >> (first + 2u * (uint32_t)e) & 3u;
                const float x = left[e][group * m + i];
                const float *y = &right[4 * (e / 2) + (int)place][group * m];
                for (int j = 0; j < m; j++) sum[j] = __builtin_fmaf(x, y[j], sum[j]);
            }
        for (int j = 0; j < m; j++) d[at + j] = kpt_u32(sum[j]);
    }
}
KPT_INLINE void kpt_smfmac_i32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *index, int m,
                               int depth, uint32_t cbsz, uint32_t abid) {
    int32_t left[16][64], right[32][64];
    const int stored = depth * m / 128, groups = 64 / m;
    const uint32_t first = cbsz ? 0u : 2u * (uint32_t)stored * abid;
    kpt_matrix_spread_i8(left, a, stored, 0);
    kpt_matrix_spread_i8(right, b, 2 * stored, 0);
    for (int i = 0; i < m; i++) {
        const int at = m == 32 ? (4 * (i >> 3) + (i & 3)) * 64 + 32 * (i >> 2 & 1) : (i & 3) * 64 + 16 * (i >> 2);
        for (int group = 0; group < groups; group++)
            for (int e = 0; e < stored; e++) {
                const uint32_t place = index[group * m + i] >> (first + 2u * (uint32_t)e) & 3u;
                const int32_t x = left[e][group * m + i];
                const int32_t *y = &right[4 * (e / 2) + (int)place][group * m];
                for (int j = 0; j < m; j++) d[at + j] += (uint32_t)(x * y[j]);
            }
    }
}

/* ---- one function per shape, made where a kernel uses it ---- */
#define KPT_SHAPE static inline __attribute__((noinline)) void
KPT_SHAPE kpt_mfma_f32_any(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int m, int blocks,
                           int depth, int kind_a, int kind_b, uint32_t cbsz, uint32_t abid, uint32_t blgp) {
    kpt_mfma_f32(d, a, b, c, m, blocks, depth, kind_a, kind_b, cbsz, abid, blgp);
}
#define KPT_MFMA(name, m, blocks, depth, kind_a, kind_b)                                                               \
    KPT_SHAPE name(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t cbsz, uint32_t abid, \
                   uint32_t blgp) {                                                                                    \
        if (cbsz | blgp)                                                                                               \
            kpt_mfma_f32_any(d, a, b, c, m, blocks, depth, kind_a, kind_b, cbsz, abid, blgp);                          \
        else                                                                                                           \
            kpt_mfma_f32(d, a, b, c, m, blocks, depth, kind_a, kind_b, 0, 0, 0);                                       \
    }
#define KPT_MFMA_4X4(name, depth, kind)                                                                                \
    KPT_SHAPE name(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t cbsz, uint32_t abid, \
                   uint32_t blgp) {                                                                                    \
        kpt_mfma_f32_4x4(d, a, b, c, depth, kind, cbsz, abid, blgp);                                                   \
    }
#define KPT_MFMA_I8(name, m, blocks, depth)                                                                            \
    KPT_SHAPE name(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t cbsz, uint32_t abid, \
                   uint32_t blgp) {                                                                                    \
        kpt_mfma_i32(d, a, b, c, m, blocks, depth, cbsz, abid, blgp);                                                  \
    }
#define KPT_SMFMAC(name, m, depth, kind_a, kind_b)                                                                     \
    KPT_SHAPE name(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *index, uint32_t cbsz,            \
                   uint32_t abid) {                                                                                    \
        kpt_smfmac_f32(d, a, b, index, m, depth, kind_a, kind_b, cbsz, abid);                                          \
    }
#define KPT_SMFMAC_I8(name, m, depth)                                                                                  \
    KPT_SHAPE name(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *index, uint32_t cbsz,            \
                   uint32_t abid) {                                                                                    \
        kpt_smfmac_i32(d, a, b, index, m, depth, cbsz, abid);                                                          \
    }
#endif
#endif
