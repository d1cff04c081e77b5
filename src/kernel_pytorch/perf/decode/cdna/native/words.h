/* How the programs of the decoder tell each other their results: a value and the number of the round in one word.
 *
 * A word of 64 bits is written and read whole, by relaxed atomics of agent scope: they go past the caches of a compute
 * unit, and past the L2 of an XCD, which the other seven do not see. A reader that finds the number of its round has the
 * value of that round, so there is no fence, which would write back or empty a whole L2, and nothing to reset.
 *
 * Flags say that a program is done with a step. They keep thousands of threads from looking at words all the time, and
 * they are what allows a word to be written anew: who has set its flag has read what came before. Every program has a
 * flag of its own, which it stores: 304 additions to one number would queue. */

typedef unsigned u32;
typedef unsigned long long u64;
typedef u32 Four __attribute__((ext_vector_type(4)));

constexpr int WAVE = 64;
constexpr int WAVES = 8; /* that multiply; one more talks to the other programs */
constexpr int THREADS = (WAVES + 1) * WAVE;
constexpr float NOTHING = -__builtin_inff();

__device__ inline u64 load_word(const u64 *place) {
    return __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

__device__ inline void tell(u64 *place, u32 value, u32 round) {
    __hip_atomic_store(place, u64(round) << 32 | value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

/* COUNT words that lie one behind the other, each with the number of the round; all are asked for at once. */
template <int COUNT> __device__ inline void hear(const u64 *place, u32 round, u32 *values) {
    bool late;
    do {
        late = false;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const u64 word = load_word(place + i);
            values[i] = u32(word);
            late |= u32(word >> 32) != round;
        }
    } while (late);
}

__device__ inline u32 hear(const u64 *place, u32 round) {
    u32 value;
    hear<1>(place, round, &value);
    return value;
}

__device__ inline void set_flag(u32 *flag, u32 round) {
    __hip_atomic_store(flag, round, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

/* One wave, until `count` programs that are `apart` from each other have set their flags. */
__device__ inline void wait_for(const u32 *flags, int count, int apart, u32 round, int lane) {
    for (;;) {
        bool late = false;
        for (int i = lane; i < count; i += WAVE)
            late |= int(__hip_atomic_load(flags + i * apart, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) - round) < 0;
        if (!__any(late)) return;
        __builtin_amdgcn_s_sleep(1);
    }
}

/* Two values of the model's type in 32 bits. */
#if IS_HALF
__device__ inline float low(u32 pair) { return float(__builtin_bit_cast(_Float16, (unsigned short)(pair))); }
__device__ inline float high(u32 pair) { return float(__builtin_bit_cast(_Float16, (unsigned short)(pair >> 16))); }
__device__ inline u32 bits(float value) { return __builtin_bit_cast(unsigned short, _Float16(value)); }
#else
__device__ inline float low(u32 pair) { return __builtin_bit_cast(float, pair << 16); }
__device__ inline float high(u32 pair) { return __builtin_bit_cast(float, pair & 0xffff0000u); }
__device__ inline u32 bits(float value) {
    const u32 whole = __builtin_bit_cast(u32, value);
    if ((whole & 0x7fffffffu) > 0x7f800000u) return 0x7fc0; /* not a number: rounding could make it infinite */
    return (whole + 0x7fff + (whole >> 16 & 1)) >> 16;
}
#endif

__device__ inline u32 packed(float first, float second) { return bits(first) | bits(second) << 16; }
__device__ inline float rounded(float value) { return low(bits(value)); }
__device__ inline float half_of(u32 pair, int which) { return which ? high(pair) : low(pair); }

/* The mask that is added to scores: of the model's type, or fp32. */
#if BIAS_IS_FLOAT
typedef float Bias;
__device__ inline float float_of(Bias value) { return value; }
#else
typedef unsigned short Bias;
__device__ inline float float_of(Bias value) { return low(value); }
#endif

/* A step of a sum across lanes. CONTROL says whose value is added; rows of 16 that ROWS leaves out keep theirs. */
template <int CONTROL, int ROWS> __device__ inline float plus_of(float value) {
    const int other = __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, value), CONTROL, ROWS, 0xf, false);
    return value + __builtin_bit_cast(float, other);
}

/* The sum over each run of LANES lanes: in its last lane, and up to 16 in all of them. */
template <int LANES> __device__ inline float across(float value) {
    if (LANES >= 2) value = plus_of<0xb1, 0xf>(value);   /* quad_perm 1,0,3,2 */
    if (LANES >= 4) value = plus_of<0x4e, 0xf>(value);   /* quad_perm 2,3,0,1 */
    if (LANES >= 8) value = plus_of<0x141, 0xf>(value);  /* row_half_mirror */
    if (LANES >= 16) value = plus_of<0x140, 0xf>(value); /* row_mirror */
    if (LANES >= 32) value = plus_of<0x142, 0xa>(value); /* row_bcast:15 */
    if (LANES >= 64) value = plus_of<0x143, 0xc>(value); /* row_bcast:31 */
    return value;
}

/* The same sum in all lanes. */
template <int LANES> __device__ inline float across_for_all(float value) {
    value = across < LANES<16 ? LANES : 16>(value);
    if (LANES >= 32) value += __shfl_xor(value, 16);
    if (LANES >= 64) value += __shfl_xor(value, 32);
    return value;
}

enum { SILU, GELU_TANH, GELU_ERF }; /* what ACTIVATION is */

/* The error function, off by less than 2e-7 (Abramowitz and Stegun, 7.1.26): a library's needs a library. */
__device__ inline float erf_of(float x) {
    const float size = __builtin_fabsf(x), t = 1.0f / (1.0f + 0.3275911f * size);
    const float sum =
        ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    return __builtin_copysignf(1.0f - sum * __expf(-size * size), x);
}
