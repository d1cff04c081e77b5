/* Loads and stores of a whole wave: global, flat, LDS, private memory and buffers.
 *
 * The common case, every lane on and their addresses one behind the other, is one copy; else 16 lanes at a time are
 * looked at (chunks.h), and what is left goes lane by lane. In checked builds every access is shown to the runtime
 * first, as a whole where its lanes lie one behind the other. */
#ifndef KPT_MEMORY_H
#define KPT_MEMORY_H

#include "memory_places.h"

/* A lane's 8 bytes at a multiple of 8 are read and written whole, as by the hardware: a 64-bit atomic load or store is
 * such an access, and another worker may be at the same place. */
KPT_INLINE int kpt_is_whole(const uint8_t *p, const int kind) { return kind == KPT_W2 && p && !((uintptr_t)p & 7); }
/* So are 16 bytes at a multiple of 16: rocPRIM's scans keep a sum and what it stands for in such a place. `volatile`: the
 * host's compiler may not take it apart. */
typedef uint32_t KptFour __attribute__((vector_size(16)));
KPT_INLINE int kpt_is_whole_four(const uint8_t *p, const int kind) {
    return kind == KPT_W4 && p && !((uintptr_t)p & 15);
}
KPT_INLINE void kpt_put_lane(uint32_t *d, uint32_t l, const uint8_t *p, const int kind) {
    uint32_t x = 0;
    if (kpt_is_whole(p, kind)) {
        const uint64_t both = __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_RELAXED);
        d[l] = (uint32_t)both;
        d[WAVE + l] = (uint32_t)(both >> 32);
        return;
    }
    if (kpt_is_whole_four(p, kind)) {
        const KptFour all = *(const volatile KptFour *)(const void *)p;
        for (int k = 0; k < 4; k++) d[k * WAVE + l] = all[k];
        return;
    }
    switch (kind) {
    case KPT_U8:
        if (p) x = *p;
        d[l] = x;
        break;
    case KPT_I8:
        if (p) x = (uint32_t)(int32_t)(int8_t)*p;
        d[l] = x;
        break;
    case KPT_U16: {
        uint16_t v = 0;
        if (p) memcpy(&v, p, 2);
        d[l] = v;
        break;
    }
    case KPT_I16: {
        int16_t v = 0;
        if (p) memcpy(&v, p, 2);
        d[l] = (uint32_t)(int32_t)v;
        break;
    }
    case KPT_U8_LOW:
        if (p) x = *p;
        d[l] = (d[l] & 0xffff0000u) | x;
        break;
    case KPT_I8_LOW:
        if (p) x = (uint16_t)(int8_t)*p;
        d[l] = (d[l] & 0xffff0000u) | x;
        break;
    case KPT_16_LOW: {
        uint16_t v = 0;
        if (p) memcpy(&v, p, 2);
        d[l] = (d[l] & 0xffff0000u) | v;
        break;
    }
    case KPT_U8_HIGH:
        if (p) x = *p;
        d[l] = (d[l] & 0xffffu) | x << 16;
        break;
    case KPT_I8_HIGH:
        if (p) x = (uint16_t)(int8_t)*p;
        d[l] = (d[l] & 0xffffu) | x << 16;
        break;
    case KPT_16_HIGH: {
        uint16_t v = 0;
        if (p) memcpy(&v, p, 2);
        d[l] = (d[l] & 0xffffu) | (uint32_t)v << 16;
        break;
    }
    default:
        for (int k = 0; k <= kind - KPT_W1; k++) {
            uint32_t v = 0;
            if (p) memcpy(&v, p + 4 * k, 4);
            d[k * WAVE + l] = v;
        }
    }
}
KPT_INLINE void kpt_take_lane(const uint32_t *s, uint32_t l, uint8_t *p, const int kind) {
    if (!p) return;
    if (kpt_is_whole(p, kind)) {
        __atomic_store_n((uint64_t *)(void *)p, s[l] | (uint64_t)s[WAVE + l] << 32, __ATOMIC_RELAXED);
        return;
    }
    if (kpt_is_whole_four(p, kind)) {
        *(volatile KptFour *)(void *)p = (KptFour){s[l], s[WAVE + l], s[2 * WAVE + l], s[3 * WAVE + l]};
        return;
    }
    switch (kind) {
    case KPT_U8: *p = (uint8_t)s[l]; break;
    case KPT_U16: {
        uint16_t v = (uint16_t)s[l];
        memcpy(p, &v, 2);
        break;
    }
    case KPT_U8_HIGH: *p = (uint8_t)(s[l] >> 16); break;
    case KPT_16_HIGH: {
        uint16_t v = (uint16_t)(s[l] >> 16);
        memcpy(p, &v, 2);
        break;
    }
    default:
        for (int k = 0; k <= kind - KPT_W1; k++) memcpy(p + 4 * k, &s[k * WAVE + l], 4);
    }
}
#include "interleave.h"
#include "gathers.h"
#include "chunks.h"
#ifdef KPT_COUNT
KPT_OUTLINE void kpt_count_access(KptWave *w, KptAddress a, uint64_t ex, uint32_t size, uint32_t how, int space) {
    uint64_t at[WAVE];
    uint32_t count = 0;
    KPT_EACH_LANE(l, ex) {
        uint64_t one = kpt_lane_address(a, l);
        int in_lds = space == KPT_LDS || (space == KPT_FLAT && one >> 32 == KPT_SHARED_APERTURE);
        if (space == KPT_FLAT && in_lds) space = KPT_LDS;
        at[count++] = in_lds ? (uint32_t)one : one;
    }
    if (!count || space == KPT_PRIVATE) return;
    if (space == KPT_LDS)
        kpt_count_banks(w, at, count, size);
    else {
        if (how & KPT_READ) kpt_count_lines(w, at, count, size, 0);
        if (how & KPT_WRITE) kpt_count_lines(w, at, count, size, 1);
    }
}
#define KPT_COUNT_ACCESS(w, a, ex, size, how, space) kpt_count_access(w, a, ex, size, how, space)
#else
#define KPT_COUNT_ACCESS(w, a, ex, size, how, space) (void)0
#endif
KPT_INLINE void kpt_load(KptWave *w, uint32_t *d, KptAddress a, uint64_t ex, const int kind, const int space) {
    const uint32_t size = kpt_bytes_of(kind);
    KPT_COUNT_ACCESS(w, a, ex, size, KPT_READ, space);
    const uint8_t *run = kpt_run_of_bytes(w, a, ex, size, KPT_READ, space);
    if (run) {
        if (kind == KPT_W1)
            memcpy(d, run, 4 * WAVE);
        else if (kind > KPT_W1 && kind <= KPT_W4)
            for (uint32_t at = 0; at < WAVE; at += KPT_CHUNK)
                kpt_from_memory(d + at, run + at * size, kind - KPT_W1 + 1);
        else
            for (uint32_t l = 0; l < WAVE; l++) kpt_put_lane(d, l, run + l * size, kind);
        return;
    }
    if (kind >= KPT_W1 && kind <= KPT_W4 && space != KPT_PRIVATE && a.lo) {
        for (uint32_t at = 0; at < WAVE; at += KPT_CHUNK) {
            uint32_t on = (uint32_t)(ex >> at) & ((1u << KPT_CHUNK) - 1);
            if (on) kpt_load_chunk(w, d, a, at, on, kind, space);
        }
        return;
    }
    if (ex == KPT_FULL) {
        for (uint32_t l = 0; l < WAVE; l++)
            kpt_put_lane(d, l, kpt_pointer(w, l, kpt_lane_address(a, l), size, KPT_READ, space), kind);
        return;
    }
    KPT_EACH_LANE(l, ex) kpt_put_lane(d, l, kpt_pointer(w, l, kpt_lane_address(a, l), size, KPT_READ, space), kind);
}
KPT_INLINE void kpt_store(KptWave *w, const uint32_t *s, KptAddress a, uint64_t ex, const int kind, const int space) {
    const uint32_t size = kpt_bytes_of(kind);
    KPT_COUNT_ACCESS(w, a, ex, size, KPT_WRITE, space);
    uint8_t *run = kpt_run_of_bytes(w, a, ex, size, KPT_WRITE, space);
    if (run) {
        if (kind == KPT_W1)
            memcpy(run, s, 4 * WAVE);
        else if (kind > KPT_W1 && kind <= KPT_W4)
            for (uint32_t at = 0; at < WAVE; at += KPT_CHUNK) kpt_to_memory(run + at * size, s + at, kind - KPT_W1 + 1);
        else
            for (uint32_t l = 0; l < WAVE; l++) kpt_take_lane(s, l, run + l * size, kind);
        return;
    }
    if (kind >= KPT_W1 && kind <= KPT_W4 && space != KPT_PRIVATE && a.lo) {
        for (uint32_t at = 0; at < WAVE; at += KPT_CHUNK) {
            uint32_t on = (uint32_t)(ex >> at) & ((1u << KPT_CHUNK) - 1);
            if (on) kpt_store_chunk(w, s, a, at, on, kind, space);
        }
        return;
    }
    KPT_EACH_LANE(l, ex) kpt_take_lane(s, l, kpt_pointer(w, l, kpt_lane_address(a, l), size, KPT_WRITE, space), kind);
}
/* ds_read2 and ds_write2: two places per lane, offsets apart. */
KPT_INLINE void kpt_lds_load2(KptWave *w, uint32_t *d, const uint32_t *lo, uint32_t off0, uint32_t off1, uint64_t ex,
                              const int words) {
    uint32_t copy[WAVE];
    memcpy(copy, lo, sizeof copy);
    KptAddress first = {copy, 0, off0}, second = {copy, 0, off1};
    kpt_load(w, d, first, ex, KPT_W1 + words - 1, KPT_LDS);
    kpt_load(w, d + words * WAVE, second, ex, KPT_W1 + words - 1, KPT_LDS);
}
/* Scalar loads: the same bytes for the whole wave. */
KPT_INLINE void kpt_scalar_load(KptWave *w, uint32_t *d, uint64_t at, uint32_t bytes) {
    at &= ~UINT64_C(3);
#ifdef KPT_CHECK
    w->services->access(w, 0, at, bytes, KPT_READ);
#endif
    (void)w;
    memcpy(d, (const void *)(uintptr_t)at, bytes);
}

/* ---- buffers: a resource of four words in SGPRs ---- */
enum { KPT_ADD_TID = 1u << 23, KPT_SWIZZLED = 1u << 28, KPT_BOUND_BY_STRIDE = 1u << 29 };
typedef struct KptBuffer {
    uint32_t word[4];
    uint32_t scalar_offset, offset;
    const uint32_t *index, *vector_offset;
} KptBuffer;

#if KPT_IS_GFX125
/* 57 bits of base, 45 bits of bytes, then a stride and how it counts. */
KPT_INLINE uint64_t kpt_buffer_base(const uint32_t *word) { return (uint64_t)(word[1] & 0x1ffffffu) << 32 | word[0]; }
KPT_INLINE uint64_t kpt_buffer_records(const uint32_t *word) {
    return ((uint64_t)(word[3] & 0x3fu) << 32 | word[2]) << 7 | word[1] >> 25;
}
#else
KPT_INLINE uint64_t kpt_buffer_base(const uint32_t *word) { return (uint64_t)(word[1] & 0xffffu) << 32 | word[0]; }
KPT_INLINE uint64_t kpt_buffer_records(const uint32_t *word) { return word[2]; }
#endif
/* Bytes behind a scalar access of a buffer: what lies past the end reads as 0 and is not written. */
KPT_INLINE uint64_t kpt_scalar_limit(const uint32_t *word) {
#if KPT_IS_GFX125
    return kpt_buffer_records(word);
#else
    uint32_t stride = word[1] >> 16 & 0x3fffu;
    return stride ? (uint64_t)word[2] * stride : word[2];
#endif
}
KPT_OUTLINE void kpt_scalar_buffer_load(KptWave *w, uint32_t *d, uint64_t base, uint64_t offset, uint32_t bytes,
                                        uint64_t limit) {
    offset &= ~UINT64_C(3);
    for (uint32_t k = 0; k < bytes / 4; k++) {
        d[k] = 0;
        if (offset + 4 * k + 4 <= limit) kpt_scalar_load(w, d + k, base + offset + 4 * k, 4);
    }
}
KPT_OUTLINE void kpt_scalar_store(KptWave *w, const uint32_t *s, uint64_t base, uint64_t offset, uint32_t bytes,
                                  uint64_t limit) {
    offset &= ~UINT64_C(3);
    for (uint32_t k = 0; k < bytes / 4; k++) {
        if (offset + 4 * k + 4 > limit) return;
        uint64_t at = (base & ~UINT64_C(3)) + offset + 4 * k;
#ifdef KPT_CHECK
        w->services->access(w, 0, at, 4, KPT_WRITE);
#endif
        (void)w;
        memcpy((void *)(uintptr_t)at, s + k, 4);
    }
}

/* The lane's address; `inside` is 0 where the hardware drops the access. */
KPT_INLINE uint8_t *kpt_buffer_pointer(KptWave *w, const KptBuffer *b, uint32_t l, uint32_t bytes, uint32_t how) {
    uint64_t offset = (uint64_t)b->offset + (b->vector_offset ? b->vector_offset[l] : 0u);
#if KPT_IS_GFX125
    /* Swizzled buffers and bounds by stride are not known: the translator refuses those with an index. */
    if (b->word[3] & (KPT_SWIZZLED | KPT_BOUND_BY_STRIDE)) {
        w->services->fault(w, KPT_FAULT_TRAP, l, b->word[3], 0);
        return 0;
    }
    if (offset + b->scalar_offset + bytes > kpt_buffer_records(b->word)) return 0;
    return kpt_pointer(w, l, kpt_buffer_base(b->word) + offset + b->scalar_offset, bytes, how, KPT_GLOBAL);
#endif
    if (b->word[3] & KPT_ADD_TID)
        /* Private memory: the hardware interleaves lanes, so the scalar offset counts the whole wave's bytes. */
        return kpt_pointer(w, l, (uint32_t)(offset + b->scalar_offset / WAVE), bytes, how, KPT_PRIVATE);
    uint64_t base = kpt_buffer_base(b->word);
    uint32_t stride = b->word[1] >> 16 & 0x3fffu, records = b->word[2];
    uint64_t at = offset + b->scalar_offset;
    if (stride) {
        uint64_t index = b->index ? b->index[l] : 0u;
        if (index >= records || offset + bytes > stride) return 0;
        at += index * stride;
    } else if (offset + b->scalar_offset + bytes > records) {
        return 0;
    }
    return kpt_pointer(w, l, base + at, bytes, how, KPT_GLOBAL);
}
KPT_INLINE void kpt_buffer_load(KptWave *w, uint32_t *d, const KptBuffer *b, uint64_t ex, const int kind) {
    KPT_EACH_LANE(l, ex) kpt_put_lane(d, l, kpt_buffer_pointer(w, b, l, kpt_bytes_of(kind), KPT_READ), kind);
}
KPT_INLINE void kpt_buffer_store(KptWave *w, const uint32_t *s, const KptBuffer *b, uint64_t ex, const int kind) {
    KPT_EACH_LANE(l, ex) kpt_take_lane(s, l, kpt_buffer_pointer(w, b, l, kpt_bytes_of(kind), KPT_WRITE), kind);
}

/* One function for each kind and space that a module uses: the calls in a kernel stay small. The parts of an address go
 * in registers: as a structure it would be put together in memory, and read back before that is done. */
#define KPT_DEFINE_ACCESS(kind, space)                                                                                 \
    KPT_OUTLINE void kpt_load_##kind##_##space(KptWave *w, uint32_t *d, const uint32_t *lo, const uint32_t *hi,        \
                                               uint64_t base, uint64_t ex) {                                           \
        kpt_load(w, d, (KptAddress){lo, hi, base}, ex, KPT_##kind, KPT_##space);                                       \
    }                                                                                                                  \
    KPT_OUTLINE void kpt_store_##kind##_##space(KptWave *w, const uint32_t *s, const uint32_t *lo, const uint32_t *hi, \
                                                uint64_t base, uint64_t ex) {                                          \
        kpt_store(w, s, (KptAddress){lo, hi, base}, ex, KPT_##kind, KPT_##space);                                      \
    }
#define KPT_DEFINE_KIND(kind)                                                                                          \
    KPT_DEFINE_ACCESS(kind, GLOBAL)                                                                                    \
    KPT_DEFINE_ACCESS(kind, FLAT)                                                                                      \
    KPT_DEFINE_ACCESS(kind, LDS)                                                                                       \
    KPT_DEFINE_ACCESS(kind, PRIVATE)                                                                                   \
    KPT_OUTLINE void kpt_buffer_load_##kind(KptWave *w, uint32_t *d, const KptBuffer *b, uint64_t ex) {                \
        kpt_buffer_load(w, d, b, ex, KPT_##kind);                                                                      \
    }                                                                                                                  \
    KPT_OUTLINE void kpt_buffer_store_##kind(KptWave *w, const uint32_t *s, const KptBuffer *b, uint64_t ex) {         \
        kpt_buffer_store(w, s, b, ex, KPT_##kind);                                                                     \
    }
KPT_DEFINE_KIND(U8)
KPT_DEFINE_KIND(I8)
KPT_DEFINE_KIND(U16)
KPT_DEFINE_KIND(I16)
KPT_DEFINE_KIND(W1)
KPT_DEFINE_KIND(W2)
KPT_DEFINE_KIND(W3)
KPT_DEFINE_KIND(W4)
KPT_DEFINE_KIND(U8_LOW)
KPT_DEFINE_KIND(I8_LOW)
KPT_DEFINE_KIND(16_LOW)
KPT_DEFINE_KIND(U8_HIGH)
KPT_DEFINE_KIND(I8_HIGH)
KPT_DEFINE_KIND(16_HIGH)
#define KPT_DEFINE_LOAD2(words)                                                                                        \
    KPT_OUTLINE void kpt_lds_load2_##words(KptWave *w, uint32_t *d, const uint32_t *lo, uint32_t off0, uint32_t off1,  \
                                           uint64_t ex) {                                                              \
        kpt_lds_load2(w, d, lo, off0, off1, ex, words);                                                                \
    }
KPT_DEFINE_LOAD2(1)
KPT_DEFINE_LOAD2(2)
#endif
