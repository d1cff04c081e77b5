/* Attention of one query over a cache: a program has one head and a part of its keys, of which each wave has some.
 *
 * The parts divide only the keys that the mask shows: those of a window, or those that there are yet. The others would
 * have a weight of exactly zero, so they are not read. Keys and values are asked for a layer ahead of the query. What a program finds goes out as three things in fp32: the
 * highest score, the weight and the mixture of values; the program with a head's first keys puts the parts together. */

constexpr int KEYS_AT_ONCE = WAVES * WAVE / LANES_KEY;
constexpr int MOST_PASSES = CHUNK / KEYS_AT_ONCE;
constexpr int KEYS_HELD = MOST_PASSES < 4 ? MOST_PASSES : 4;
constexpr u32 HEAD_BYTES = u32(LENGTH) * SIZE * 2;
constexpr int PIECE = SIZE + 2; /* words: the mixture, the highest score, the weight */

/* Where the words of each step are in the one buffer that all programs write to and read from. */
struct Exchange {
    u64 *words;

    static constexpr int PIECES = (HEADS + 2 * SHARED_HEADS) * SIZE / 2;
    static constexpr int SEEN = PIECES + (PARTS > 1 ? HEADS * PARTS * PIECE : 0);
    static constexpr int MIDDLE = SEEN + HEADS * SIZE / 2;
    static constexpr int GATED = MIDDLE + HIDDEN / 2;
    static constexpr int ROW = GATED + WIDE / 2;
    static constexpr int FLAGS = ROW + HIDDEN / 2; /* four numbers for each program, then the number of past calls */

    __device__ u64 *qkv() const { return words; }
    __device__ u64 *pieces() const { return words + PIECES; }
    __device__ u64 *seen() const { return words + SEEN; }
    __device__ u64 *middle() const { return words + MIDDLE; }
    __device__ u64 *gated() const { return words + GATED; }
    __device__ u64 *row() const { return words + ROW; }
    __device__ u32 *flag(int step) const { return (u32 *)(words + FLAGS) + step * PROGRAMS; }
    __device__ u32 *calls() const { return flag(4); }
};

/* Keys that a mask shows, and how many of them a program has. */
struct Shown {
    int first, end, chunk;
};

/* What the talking wave and the others of a program share in LDS. */
struct Shared {
    float sums[MOST_ROWS * WAVES];
    float squares[WAVES], squares_after[WAVES];
    alignas(
        16) u32 row[HAS_AFTER_NORMS ? HIDDEN / 2 : 1]; /* the whole residual, in pairs: a lane has what it multiplies */
    int shown_first[KINDS][WAVES], shown_last[KINDS][WAVES];
    Shown shown[KINDS];
    float residual[HIDDEN_EACH];
    float query[SIZE], key[SIZE], value[SIZE];
    float mixed[WAVES][SIZE], top[WAVES], weight[WAVES];
};

/* What layers differ in: some have a window and other angles. */
struct Seeing {
    const Bias *bias;
    int bias_head, bias_key; /* elements from one to the next */
    const u32 *cos, *sin;
};

/* A mask hides a key with minus infinity, or with the most negative number of its type. */
constexpr float HIDDEN_BELOW = -1e30f, SURELY_SHOWN = -1e29f;

/* The eight waves: where the keys begin and end that the mask shows to a head. */
__device__ inline void look(Shared &shared, int kind, const Bias *bias, int bias_key, int wave, int lane) {
    int first = LENGTH, last = -1;
    for (int at = wave * WAVE + lane; at < LENGTH; at += WAVES * WAVE) {
        const bool is_shown = float_of(bias[(long long)at * bias_key]) > HIDDEN_BELOW;
        if (is_shown && first == LENGTH) first = at;
        if (is_shown) last = at;
    }
#pragma unroll
    for (int apart = 1; apart < WAVE; apart *= 2) {
        first = min(first, __shfl_xor(first, apart));
        last = max(last, __shfl_xor(last, apart));
    }
    if (lane == 0) shared.shown_first[kind][wave] = first, shared.shown_last[kind][wave] = last;
}

/* The talking wave: what they found, together. Where the query does not see its own key, nobody may be left out: if a mask hides all of
 * them with the same number, none is hidden. */
__device__ inline Shown shown_of(const Shared &shared, int kind, const Bias *bias, int bias_key, long long position) {
    Shown shown = {0, LENGTH, CHUNK};
    if (!HAS_BIAS || position < 0 || position >= LENGTH) return shown;
    if (!(float_of(bias[position * bias_key]) > SURELY_SHOWN)) return shown;
    int first = LENGTH, last = -1;
#pragma unroll
    for (int wave = 0; wave < WAVES; wave++) {
        first = min(first, shared.shown_first[kind][wave]);
        last = max(last, shared.shown_last[kind][wave]);
    }
    shown.first = first, shown.end = last + 1;
    const int each = (shown.end - shown.first + PARTS - 1) / PARTS;
    shown.chunk = (each + KEYS_AT_ONCE - 1) / KEYS_AT_ONCE * KEYS_AT_ONCE;
    return shown;
}

struct Attention {
    const char *keys, *values; /* of this head, in this layer */
    u32 mine;                  /* a lane's part of an offset, as for weights */
    Four held_keys[KEYS_HELD], held_values[KEYS_HELD];

    int start, stop; /* this program's keys */

    __device__ int key(int pass, int wave, int lane) const {
        return start + pass * KEYS_AT_ONCE + (wave * WAVE + lane) / LANES_KEY;
    }
    __device__ static int element(int lane) { return lane % LANES_KEY * 8; }

    __device__ void ask(int slot, int pass, int wave, int lane) {
        const bool inside = element(lane) < SIZE && key(pass, wave, lane) < stop;
        const u32 offset = inside ? mine + u32(pass) * (KEYS_AT_ONCE * SIZE * 2) : OUTSIDE;
        held_keys[slot] = load_16(keys, HEAD_BYTES, offset);
        held_values[slot] = load_16(values, HEAD_BYTES, offset);
    }
    __device__ void ask_first(const Shown &shown, int part, int wave, int lane) {
        start = __builtin_amdgcn_readfirstlane(shown.first + part * shown.chunk);
        stop = __builtin_amdgcn_readfirstlane(min(start + shown.chunk, shown.end));
        mine = anew((u32(key(0, wave, lane)) * SIZE + element(lane)) * 2);
#pragma unroll
        for (int slot = 0; slot < KEYS_HELD; slot++) ask(slot, slot, wave, lane);
    }
};

/* CAP * tanh(score / CAP), without a number that is too large. */
__device__ inline float capped(float score) {
    if (CAP == 0) return score;
    const float doubled = __expf(-2.0f / CAP * __builtin_fabsf(score));
    return __builtin_copysignf(CAP * (1.0f - doubled) / (1.0f + doubled), score);
}

__device__ inline float finite(float top) { return top == NOTHING ? 0.0f : top; }

/* The eight waves' part. */
__device__ inline void attend(Attention &a, Shared &shared, const Bias *bias, int bias_key, long long position,
                              float scale, int wave, int lane) {
    const int first = Attention::element(lane);
    float query[8], new_value[8], mixed[8], own = 0, top = NOTHING, weight = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const bool inside = first < SIZE;
        query[i] = inside ? shared.query[first + i] : 0.0f;
        own = __builtin_fmaf(query[i], inside ? shared.key[first + i] : 0.0f, own);
        new_value[i] = inside ? shared.value[first + i] : 0.0f;
        mixed[i] = 0;
    }
#pragma unroll 1
    for (int pass = 0; a.start + pass * KEYS_AT_ONCE < a.stop; pass += KEYS_HELD)
#pragma unroll
        for (int slot = 0; slot < KEYS_HELD; slot++) {
            const int at = a.key(pass + slot, wave, lane);
            const bool counts = at < a.stop;
            const bool is_own = at == position; /* what the cache has there is of another time */
            const float dot = across_for_all<LANES_KEY>(is_own ? own : dot_8(a.held_keys[slot], query, 0));
            float score = capped(dot * scale);
            if (HAS_BIAS && counts) score += float_of(bias[(long long)at * bias_key]);
            if (!counts) score = NOTHING;
            const float both = __builtin_fmaxf(top, score), safe = finite(both);
            const float fading = __expf(top - safe), share = __expf(score - safe);
            top = both;
            weight = weight * fading + share;
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const float value = is_own ? new_value[i] : half_of(a.held_values[slot][i / 2], i % 2);
                mixed[i] = mixed[i] * fading + share * value;
            }
            if (MOST_PASSES > KEYS_HELD) a.ask(slot, pass + slot + KEYS_HELD, wave, lane);
        }
#pragma unroll
    for (int apart = LANES_KEY; apart < WAVE; apart *= 2) {
        const float other = __shfl_xor(top, apart), both = __builtin_fmaxf(top, other), safe = finite(both);
        const float mine = __expf(top - safe), theirs = __expf(other - safe);
        weight = weight * mine + __shfl_xor(weight, apart) * theirs;
#pragma unroll
        for (int i = 0; i < 8; i++) mixed[i] = mixed[i] * mine + __shfl_xor(mixed[i], apart) * theirs;
        top = both;
    }
    if (lane < LANES_KEY && first < SIZE)
#pragma unroll
        for (int i = 0; i < 8; i++) shared.mixed[wave][first + i] = mixed[i];
    if (lane == 0) shared.top[wave] = top, shared.weight[wave] = weight;
}

/* The element that an element of a head is rotated with: half of the rotated ones away, or its neighbour. */
__device__ inline int partner(int element) {
    if (element >= TURNED) return element;
    if (ARE_NEIGHBOURS) return element ^ 1;
    return element < TURNED / 2 ? element + TURNED / 2 : element - TURNED / 2;
}

/* A value that may be rotated with another. */
struct Pair {
    float own, other;

    __device__ void weigh(const u32 *norm, float factor, int element) {
        const int there = partner(element);
        own *= factor * (half_of(norm[element / 2], element % 2) + NORM_PLUS);
        other *= factor * (half_of(norm[there / 2], there % 2) + NORM_PLUS);
    }
    __device__ float turned(const u32 *cos, const u32 *sin, int element) const {
        if (element >= TURNED) return rounded(own);
        const bool is_first = ARE_NEIGHBOURS ? element % 2 == 0 : element < TURNED / 2;
        const float c = half_of(cos[element / 2], element % 2), s = half_of(sin[element / 2], element % 2);
        return rounded(own * c + (is_first ? -other : other) * s);
    }
};

__device__ inline float over_head(const Pair *values, float epsilon) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < (SIZE + WAVE - 1) / WAVE; i++) sum = __builtin_fmaf(values[i].own, values[i].own, sum);
    return __frsqrt_rn(across_for_all<WAVE>(sum) / SIZE + epsilon);
}

/* The talking wave: this head's new query, key and value, normed and rotated, from those who made them. */
__device__ inline void hear_query(const Exchange &exchange, Shared &shared, const Seeing &seeing, const u32 *query_norm,
                                  const u32 *key_norm, float epsilon, int head, u32 round, int lane) {
    const u64 *query = exchange.qkv() + head * SIZE / 2;
    const u64 *key = exchange.qkv() + (HEADS + head / GROUP) * SIZE / 2;
    const u64 *value = exchange.qkv() + (HEADS + SHARED_HEADS + head / GROUP) * SIZE / 2;
    constexpr int EACH = (SIZE + WAVE - 1) / WAVE;
    Pair queries[EACH], keys[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int element = i * WAVE + lane;
        queries[i] = keys[i] = {0, 0};
        if (element >= SIZE) continue;
        const int other = partner(element);
        const u64 *places[5] = {query + element / 2, query + other / 2, key + element / 2, key + other / 2,
                                value + element / 2};
        u32 found[5];
        bool late;
        do {
            late = false;
#pragma unroll
            for (int j = 0; j < 5; j++) {
                const u64 word = load_word(places[j]);
                found[j] = u32(word);
                late |= u32(word >> 32) != round;
            }
        } while (late);
        queries[i] = {half_of(found[0], element % 2), half_of(found[1], other % 2)};
        keys[i] = {half_of(found[2], element % 2), half_of(found[3], other % 2)};
        shared.value[element] = half_of(found[4], element % 2);
    }
    const float query_factor = HAS_HEAD_NORMS ? over_head(queries, epsilon) : 1.0f;
    const float key_factor = HAS_HEAD_NORMS ? over_head(keys, epsilon) : 1.0f;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int element = i * WAVE + lane;
        if (element >= SIZE) continue;
        if (HAS_HEAD_NORMS) {
            queries[i].weigh(query_norm, query_factor, element);
            keys[i].weigh(key_norm, key_factor, element);
        }
        shared.query[element] = queries[i].turned(seeing.cos, seeing.sin, element);
        shared.key[element] = keys[i].turned(seeing.cos, seeing.sin, element);
    }
}

/* The talking wave: what the eight waves found, together; to the program that puts a head's parts together. */
__device__ inline void tell_piece(const Exchange &exchange, const Shared &shared, int head, int part, u32 round,
                                  int lane) {
    float top = NOTHING, weight = 0;
#pragma unroll
    for (int wave = 0; wave < WAVES; wave++) top = __builtin_fmaxf(top, shared.top[wave]);
    const float safe = finite(top);
#pragma unroll
    for (int wave = 0; wave < WAVES; wave++) weight += shared.weight[wave] * __expf(shared.top[wave] - safe);
    for (int element = lane * 2; element < SIZE; element += 2 * WAVE) {
        float sum[2] = {0, 0};
#pragma unroll
        for (int wave = 0; wave < WAVES; wave++) {
            const float share = __expf(shared.top[wave] - safe);
            sum[0] += shared.mixed[wave][element] * share;
            sum[1] += shared.mixed[wave][element + 1] * share;
        }
        if (PARTS == 1) {
            tell(exchange.seen() + (head * SIZE + element) / 2, packed(sum[0] / weight, sum[1] / weight), round);
            continue;
        }
        u64 *piece = exchange.pieces() + (head * PARTS + part) * PIECE;
        tell(piece + element, __builtin_bit_cast(u32, sum[0]), round);
        tell(piece + element + 1, __builtin_bit_cast(u32, sum[1]), round);
    }
    if (PARTS > 1 && lane == 0) {
        u64 *ends = exchange.pieces() + (head * PARTS + part) * PIECE + SIZE;
        tell(ends, __builtin_bit_cast(u32, top), round);
        tell(ends + 1, __builtin_bit_cast(u32, weight), round);
    }
}

/* The talking wave of a head's first part: the parts together, to everybody. */
__device__ inline void join_pieces(const Exchange &exchange, int head, u32 round, int lane) {
    const u64 *pieces = exchange.pieces() + head * PARTS * PIECE;
    float top = NOTHING, weight = 0;
    for (int part = 0; part < PARTS; part++) {
        u32 ends[2];
        hear<2>(pieces + part * PIECE + SIZE, round, ends);
        const float its = __builtin_bit_cast(float, ends[0]), both = __builtin_fmaxf(top, its), safe = finite(both);
        weight = weight * __expf(top - safe) + __builtin_bit_cast(float, ends[1]) * __expf(its - safe);
        top = both;
    }
    for (int element = lane * 2; element < SIZE; element += 2 * WAVE) {
        float sum[2] = {0, 0};
        for (int part = 0; part < PARTS; part++) {
            u32 found[2];
            hear<2>(pieces + part * PIECE + element, round, found);
            const float its = __builtin_bit_cast(float, hear(pieces + part * PIECE + SIZE, round));
            const float share = __expf(its - finite(top));
#pragma unroll
            for (int i = 0; i < 2; i++) sum[i] += __builtin_bit_cast(float, found[i]) * share;
        }
        tell(exchange.seen() + (head * SIZE + element) / 2, packed(sum[0] / weight, sum[1] / weight), round);
    }
}

/* The new key and value into the cache; past its end there is nothing of ours. */
__device__ inline void store_new(const Shared &shared, char *keys, char *values, const Shown &shown, long long position,
                                 int part, int lane) {
    if (position < 0 || position >= LENGTH || (position - shown.first) / shown.chunk != part) return;
    for (int element = lane * 2; element < SIZE; element += 2 * WAVE) {
        const u64 at = (u64(position) * SIZE + element) * 2;
        *(u32 *)(keys + at) = packed(shared.key[element], shared.key[element + 1]);
        *(u32 *)(values + at) = packed(shared.value[element], shared.value[element + 1]);
    }
}
