/* Integer intrinsics, loads and stores with cache hints. */
#pragma once

#include "warp.h"

KPT_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
KPT_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KPT_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
KPT_DEVICE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
KPT_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
KPT_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
KPT_DEVICE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
KPT_DEVICE unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
KPT_DEVICE int __mul24(int a, int b) {
    return (int)((unsigned)((int)((unsigned)a << 8) >> 8) * (unsigned)((int)((unsigned)b << 8) >> 8));
}
KPT_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
KPT_DEVICE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
KPT_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
KPT_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
KPT_DEVICE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
KPT_DEVICE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
KPT_DEVICE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
KPT_DEVICE unsigned __sad(int a, int b, unsigned c) {
    return (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c;
}
KPT_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
KPT_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    n &= 31;
    return n ? high << n | low >> (32 - n) : high;
}
KPT_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    n &= 31;
    return n ? low >> n | high << (32 - n) : low;
}
KPT_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned out = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = selector >> 4 * i;
        unsigned byte = (unsigned)(both >> 8 * (pick & 7)) & 0xff;
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
        out |= byte << 8 * i;
    }
    return out;
}
KPT_DEVICE int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++) c += (int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i);
    return c;
}
KPT_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; i++) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
    return c;
}

/* By pointer, so that the load itself stands at the user's line and is checked there. */
#define __ldg(p) (*(p))
#define __ldca(p) (*(p))
#define __ldcg(p) (*(p))
#define __ldcs(p) (*(p))
#define __ldlu(p) (*(p))
#define __ldcv(p) (*(p))
#define __stwb(p, v) (void)(*(p) = (v))
#define __stcg(p, v) (void)(*(p) = (v))
#define __stcs(p, v) (void)(*(p) = (v))
#define __stwt(p, v) (void)(*(p) = (v))
