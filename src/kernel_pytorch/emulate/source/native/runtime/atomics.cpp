/* Atomic operations: CUDA's own, and what the compiler makes of std::atomic and __atomic builtins. */
#include <atomic>
#include <cmath>
#include <cstring>

#include "runtime.h"

using namespace kpt;

namespace {

template <class To, class From> To bits(From value) {
    To out;
    memcpy(&out, &value, sizeof out);
    return out;
}

float half_to_float(uint16_t h) {
    uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    if (exponent == 31) return bits<float>(sign | 0x7f800000 | mantissa << 13);
    if (exponent) return bits<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    float value = float(mantissa) * 5.9604644775390625e-8f;
    return sign ? -value : value;
}

uint16_t float_to_half(float f) {
    uint32_t x = bits<uint32_t>(f), sign = x >> 16 & 0x8000;
    x &= 0x7fffffff;
    if (x > 0x7f800000) return uint16_t(sign | 0x7e00);
    if (x >= 0x477ff000) return uint16_t(sign | 0x7c00);
    if (x < 0x38800000) return uint16_t(sign | uint32_t(std::nearbyintf(bits<float>(x) * 16777216.0f)));
    uint32_t round = x + 0xfff + (x >> 13 & 1);
    return uint16_t(sign | ((round - 0x38000000) >> 13));
}

template <class F> F floating(int operation, F old, F value) {
    if (operation == KPT_ATOMIC_ADD_F) return old + value;
    if (operation == KPT_ATOMIC_MIN_F) return value < old ? value : old;
    return value > old ? value : old;
}

uint64_t changed(int operation, int bytes, uint64_t old, uint64_t value, uint64_t compare) {
    int64_t a = bytes == 8 ? int64_t(old) : int32_t(old), b = bytes == 8 ? int64_t(value) : int32_t(value);
    switch (operation) {
    case KPT_ATOMIC_ADD: return old + value;
    case KPT_ATOMIC_SUB: return old - value;
    case KPT_ATOMIC_EXCHANGE:
    case KPT_ATOMIC_STORE: return value;
    case KPT_ATOMIC_MIN_S: return a < b ? old : value;
    case KPT_ATOMIC_MAX_S: return a > b ? old : value;
    case KPT_ATOMIC_MIN_U: return old < value ? old : value;
    case KPT_ATOMIC_MAX_U: return old > value ? old : value;
    case KPT_ATOMIC_AND: return old & value;
    case KPT_ATOMIC_OR: return old | value;
    case KPT_ATOMIC_XOR: return old ^ value;
    case KPT_ATOMIC_INC: return old >= value ? 0 : old + 1;
    case KPT_ATOMIC_DEC: return old == 0 || old > value ? value : old - 1;
    case KPT_ATOMIC_CAS: return old == compare ? value : old;
    case KPT_ATOMIC_LOAD: return old;
    }
    if (bytes == 8) return bits<uint64_t>(floating(operation, bits<double>(old), bits<double>(value)));
    if (bytes == 2) {
        float sum = floating(operation, half_to_float(uint16_t(old)), half_to_float(uint16_t(value)));
        return float_to_half(sum);
    }
    return bits<uint32_t>(floating(operation, bits<float>(uint32_t(old)), bits<float>(uint32_t(value))));
}

template <class T> uint64_t apply(int operation, void *address, uint64_t value, uint64_t compare) {
    auto *memory = static_cast<T *>(address);
    T old = __atomic_load_n(memory, __ATOMIC_SEQ_CST);
    for (;;) {
        T next = T(changed(operation, sizeof(T), old, T(value), T(compare)));
        if (operation == KPT_ATOMIC_LOAD) return old;
        if (__atomic_compare_exchange_n(memory, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
    }
}

uint64_t atomic(int operation, int bytes, void *address, uint64_t value, uint64_t compare, Place place, bool ordering) {
    bool reads = operation != KPT_ATOMIC_STORE, writes = operation != KPT_ATOMIC_LOAD;
    check_access(uintptr_t(address), unsigned(bytes), writes, true, false, place);
    Thread *t = kpt_current;
    if (t && settings.races && writes) {
        if (ordering && !t->fenced) kpt_fence(2);
        release_to(t, uintptr_t(address));
    }
    uint64_t old;
    switch (bytes) {
    case 1: old = apply<uint8_t>(operation, address, value, compare); break;
    case 2: old = apply<uint16_t>(operation, address, value, compare); break;
    case 4: old = apply<uint32_t>(operation, address, value, compare); break;
    default: old = apply<uint64_t>(operation, address, value, compare);
    }
    if (t && settings.memory && operation == KPT_ATOMIC_STORE) mark_written(uintptr_t(address), uint64_t(bytes));
    if (t && settings.memory && operation == KPT_ATOMIC_EXCHANGE) mark_written(uintptr_t(address), uint64_t(bytes));
    if (t && settings.races && reads) acquire_from(t, uintptr_t(address));
    return old;
}

} // namespace

extern "C" uint64_t kpt_atomic(int operation, int bytes, void *address, uint64_t value, uint64_t compare, int,
                               const char *file, int line) {
    return atomic(operation, bytes, address, value, compare, {file, uint32_t(line)}, false);
}

extern "C" void kpt_fence(int) {
    Thread *t = kpt_current;
    if (!t) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    t->fenced = true;
    t->fence_clock = t->clock++;
}

#define KPT_PC                                                                                                         \
    Place { nullptr, offset_of(uintptr_t(__builtin_return_address(0)) - 1) }
#define KPT_ORDERS(order) ((order) != __ATOMIC_RELAXED)
#define KPT_RMW(T, bits, name, operation)                                                                              \
    T __tsan_atomic##bits##_##name(volatile T *a, T v, int order) {                                                    \
        return T(atomic(operation, sizeof(T), const_cast<T *>(a), v, 0, KPT_PC, KPT_ORDERS(order)));                   \
    }
#define KPT_ATOMICS(T, bits)                                                                                           \
    T __tsan_atomic##bits##_load(const volatile T *a, int) {                                                           \
        return T(atomic(KPT_ATOMIC_LOAD, sizeof(T), const_cast<T *>(a), 0, 0, KPT_PC, false));                         \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile T *a, T v, int order) {                                                  \
        atomic(KPT_ATOMIC_STORE, sizeof(T), const_cast<T *>(a), v, 0, KPT_PC, KPT_ORDERS(order));                      \
    }                                                                                                                  \
    KPT_RMW(T, bits, exchange, KPT_ATOMIC_EXCHANGE)                                                                    \
    KPT_RMW(T, bits, fetch_add, KPT_ATOMIC_ADD)                                                                        \
    KPT_RMW(T, bits, fetch_sub, KPT_ATOMIC_SUB)                                                                        \
    KPT_RMW(T, bits, fetch_and, KPT_ATOMIC_AND)                                                                        \
    KPT_RMW(T, bits, fetch_or, KPT_ATOMIC_OR)                                                                          \
    KPT_RMW(T, bits, fetch_xor, KPT_ATOMIC_XOR)                                                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *a, T *expected, T v, int order, int) {               \
        T old = T(atomic(KPT_ATOMIC_CAS, sizeof(T), const_cast<T *>(a), v, *expected, KPT_PC, KPT_ORDERS(order)));     \
        bool same = old == *expected;                                                                                  \
        *expected = old;                                                                                               \
        return same;                                                                                                   \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *a, T *expected, T v, int order, int) {                 \
        T old = T(atomic(KPT_ATOMIC_CAS, sizeof(T), const_cast<T *>(a), v, *expected, KPT_PC, KPT_ORDERS(order)));     \
        bool same = old == *expected;                                                                                  \
        *expected = old;                                                                                               \
        return same;                                                                                                   \
    }                                                                                                                  \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *a, T expected, T v, int order, int) {                     \
        return T(atomic(KPT_ATOMIC_CAS, sizeof(T), const_cast<T *>(a), v, expected, KPT_PC, KPT_ORDERS(order)));       \
    }

extern "C" {
KPT_ATOMICS(uint8_t, 8)
KPT_ATOMICS(uint16_t, 16)
KPT_ATOMICS(uint32_t, 32)
KPT_ATOMICS(uint64_t, 64)
void __tsan_atomic_thread_fence(int) { kpt_fence(2); }
void __tsan_atomic_signal_fence(int) {}
}
