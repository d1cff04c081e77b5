/* Bits: reinterpretation, and the integer operations C has no operator for. All of it vectorises in a lane loop. */
#ifndef KPT_BITS_H
#define KPT_BITS_H

#include <stdint.h>
#include <string.h>

/* CDNA5: gfx12's encodings with addresses, buffers and matrices of its own. */
#define KPT_IS_GFX125 (GFX == 12 && GFX_MINOR == 5)

#define KPT_FULL (WAVE == 64 ? ~UINT64_C(0) : UINT64_C(0xffffffff))

static inline float kpt_f32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static inline uint32_t kpt_u32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
static inline double kpt_f64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}
static inline uint64_t kpt_u64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static inline uint32_t kpt_select(uint32_t mask, uint32_t yes, uint32_t no) { return (yes & mask) | (no & ~mask); }

static inline uint32_t kpt_bfe_u32(uint32_t value, uint32_t offset, uint32_t width) {
    offset &= 31, width &= 31;
    return (value >> offset) & ((1u << width) - 1u);
}
static inline uint32_t kpt_bfe_i32(uint32_t value, uint32_t offset, uint32_t width) {
    offset &= 31, width &= 31;
    uint32_t field = (value >> offset) & ((1u << width) - 1u);
    uint32_t sign = width == 0 ? 0u : 1u << ((width - 1) & 31);
    /* Past bit 31 the hardware extends the sign of the value itself. */
    uint32_t beyond = (uint32_t)((int32_t)value >> offset);
    return offset + width < 32 ? (field ^ sign) - sign : width == 0 ? 0u : beyond;
}
static inline uint32_t kpt_bitreverse(uint32_t x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
static inline uint64_t kpt_bitreverse64(uint64_t x) {
    return (uint64_t)kpt_bitreverse((uint32_t)x) << 32 | kpt_bitreverse((uint32_t)(x >> 32));
}
static inline uint32_t kpt_popcount(uint32_t x) {
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return x * 0x01010101u >> 24;
}
/* Position of the first one: from the top (flbit) or the bottom (ff1); all ones when there is none. Counted: vector
 * units without an instruction for it can do that too. */
static inline uint32_t kpt_first_high(uint32_t x) {
    uint32_t below = x | x >> 1;
    below |= below >> 2;
    below |= below >> 4;
    below |= below >> 8;
    below |= below >> 16;
    return (32u - kpt_popcount(below)) | (0u - (uint32_t)(x == 0));
}
static inline uint32_t kpt_first_low(uint32_t x) { return kpt_popcount(~x & (x - 1u)) | (0u - (uint32_t)(x == 0)); }
/* Lanes of the lower or the upper half of a wave that come before lane l. */
static inline uint32_t kpt_lanes_before_low(uint32_t l) { return ((1u << (l & 31)) - 1u) | (0u - (uint32_t)(l >= 32)); }
static inline uint32_t kpt_lanes_before_high(uint32_t l) {
    return ((1u << (l & 31)) - 1u) & (0u - (uint32_t)(l >= 32));
}
static inline uint32_t kpt_first_high64(uint64_t x) { return x ? (uint32_t)__builtin_clzll(x) : ~0u; }
static inline uint32_t kpt_first_low64(uint64_t x) { return x ? (uint32_t)__builtin_ctzll(x) : ~0u; }
/* The first bit from the top that differs from the sign. */
static inline uint32_t kpt_first_sign_change(uint32_t x) { return kpt_first_high((int32_t)x < 0 ? ~x : x); }
static inline uint32_t kpt_first_sign_change64(uint64_t x) { return kpt_first_high64((int64_t)x < 0 ? ~x : x); }

/* v_perm_b32: bytes 0-3 of `low`, 4-7 of `high`, 8-11 signs, 12 zero, above it ones. */
static inline uint32_t kpt_perm(uint32_t high, uint32_t low, uint32_t selector) {
    uint32_t result = 0;
    for (int byte = 0; byte < 4; byte++) {
        uint32_t which = selector >> (8 * byte) & 255u;
        uint32_t word = which & 4 ? high : low;
        uint32_t plain = word >> (8 * (which & 3)) & 255u;
        uint32_t source = which & 2 ? high : low;
        uint32_t sign = (source >> (which & 1 ? 31 : 15) & 1u) * 255u;
        uint32_t found = which >= 13 ? 255u : which == 12 ? 0u : which >= 8 ? sign : plain;
        result |= found << (8 * byte);
    }
    return result;
}
static inline uint32_t kpt_add_sat_u32(uint32_t a, uint32_t b) {
    uint32_t r = a + b;
    return r < a ? ~0u : r;
}
static inline uint32_t kpt_sub_sat_u32(uint32_t a, uint32_t b) { return a < b ? 0u : a - b; }
static inline int32_t kpt_clamp_i64_to_i32(int64_t x) {
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}
static inline int32_t kpt_sext24(uint32_t x) { return (int32_t)(x << 8) >> 8; }
static inline uint32_t kpt_sad_u8(uint32_t a, uint32_t b, uint32_t c) {
    for (int byte = 0; byte < 4; byte++) {
        uint32_t x = a >> (8 * byte) & 255u, y = b >> (8 * byte) & 255u;
        c += x > y ? x - y : y - x;
    }
    return c;
}
static inline uint32_t kpt_msad_u8(uint32_t a, uint32_t b, uint32_t c) {
    for (int byte = 0; byte < 4; byte++) {
        uint32_t x = a >> (8 * byte) & 255u, y = b >> (8 * byte) & 255u;
        c += y == 0 ? 0u : x > y ? x - y : y - x;
    }
    return c;
}
static inline uint32_t kpt_sad_u16(uint32_t a, uint32_t b, uint32_t c) {
    for (int half = 0; half < 2; half++) {
        uint32_t x = a >> (16 * half) & 0xffffu, y = b >> (16 * half) & 0xffffu;
        c += x > y ? x - y : y - x;
    }
    return c;
}
#define KPT_MEDIAN(name, type)                                                                                         \
    static inline type name(type a, type b, type c) {                                                                  \
        type low = a < b ? a : b, high = a < b ? b : a;                                                                \
        type capped = high < c ? high : c;                                                                             \
        return capped > low ? capped : low;                                                                            \
    }
KPT_MEDIAN(kpt_med3_u32, uint32_t)
KPT_MEDIAN(kpt_med3_i32, int32_t)
KPT_MEDIAN(kpt_med3_u16, uint16_t)
KPT_MEDIAN(kpt_med3_i16, int16_t)
/* Any function of three bits, by its truth table. */
static inline uint32_t kpt_bitop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;
    for (int row = 0; row < 8; row++)
        if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}
#endif
