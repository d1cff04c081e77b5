/* All of a decoder for one token in one kernel: layers, final norm and the product that gives the words' scores.
 *
 * One program stays on every compute unit from the first layer to the last. Eight waves multiply (`products.h`); a
 * ninth only talks to the other programs (`words.h`), so that nobody who has weights under way has to wait for them in
 * order to look at a flag: loads of a wave come back in order. The two kinds meet at barriers, twice in every step: when
 * the row is there, and when the sums are.
 *
 * Four times a layer everybody needs what everybody made: the row after the MLP, the result of attention, the row after
 * attention, the gated values. And a head needs its q, k and v. */

using ByHidden = Cut<HIDDEN, LANES_HIDDEN>;
using BySeen = Cut<HEADS * SIZE, LANES_SEEN>;
using ByWide = Cut<WIDE, LANES_WIDE>;

constexpr int most(int a, int b) { return a > b ? a : b; }
constexpr int SLOTS = most(ByHidden::SLOTS, most(BySeen::SLOTS, ByWide::SLOTS));
constexpr int STEPS = most(ByHidden::STEPS, most(BySeen::STEPS, ByWide::STEPS));
constexpr int QKV_ROWS = (HEADS + 2 * SHARED_HEADS) * SIZE;

/* Places of a layer in the table; the last row has the words' matrix as q, k and v, and the final norm. */
enum {
    Q,
    K,
    V,
    O,
    GATE,
    UP,
    DOWN,
    NORM,
    MIDDLE_NORM,
    KEYS,
    VALUES,
    Q_BIAS,
    K_BIAS,
    V_BIAS,
    Q_NORM,
    K_NORM,
    AFTER_SEEN,
    AFTER_WIDE,
    KIND,
    TABLE_COLUMNS = 24
};
/* Flags of those who are done with attention, with the middle row, with the gated values, with the row. */
enum { SEEN, MIDDLE, GATED, ROW };

struct Given {
    char *base;
    const char *start;
    u32 *out;
    const long long *table; /* bytes from the base */
    Exchange exchange;
    const long long *position;
    Seeing seeing, other; /* of most layers, and of those that have their own */
    int cache_head;       /* elements from one to the next */
    float scale, epsilon;

    __device__ char *at(int layer, int what) const { return for_all(base + table[layer * TABLE_COLUMNS + what]); }
    __device__ const u32 *pairs(int layer, int what) const { return (const u32 *)at(layer, what); }
    __device__ int kind(int layer) const {
        return KINDS == 1 ? 0 : __builtin_amdgcn_readfirstlane(int(table[layer * TABLE_COLUMNS + KIND]));
    }
    __device__ Seeing seen_by(int kind) const { return KINDS == 1 || kind == 0 ? seeing : other; }
};

/* Which part of attention a program has. */
struct Task {
    bool attends;
    int head, part;

    __device__ explicit Task(int program)
        : attends(program < HEADS * PARTS), head(attends ? program / PARTS : 0), part(program % PARTS) {}
};

/* Rows of a program: from `start` to `end` of a matrix. */
struct Range {
    int start, end;

    __device__ Range(int block, int each, int rows)
        : start(block * each), end(start + each < rows ? start + each : rows) {}
};

/* A program's rows of q, k and v are all of one of these matrices. */
struct Qkv {
    static constexpr int Q_BLOCKS = (HEADS * SIZE + QKV_EACH - 1) / QKV_EACH;
    static constexpr int K_BLOCKS = (SHARED_HEADS * SIZE + QKV_EACH - 1) / QKV_EACH;
    int matrix;
    Range range;
    int above; /* rows of the matrices before it */

    __device__ explicit Qkv(int program)
        : matrix(program < Q_BLOCKS              ? Q
                 : program < Q_BLOCKS + K_BLOCKS ? K
                                                 : V),
          range(program - (matrix == Q   ? 0
                           : matrix == K ? Q_BLOCKS
                                         : Q_BLOCKS + K_BLOCKS),
                QKV_EACH, (matrix == Q ? HEADS : SHARED_HEADS) * SIZE),
          above(matrix == Q ? 0 : (matrix == K ? HEADS : HEADS + SHARED_HEADS) * SIZE) {}
};

/* The first matrix of a layer: q, k or v, or after the last one the words. */
__device__ inline Rows<ByHidden> first_of(const Given &given, int layer, int program, int wave, int lane) {
    const Qkv qkv(program);
    const Range words(program, WORDS_EACH, WORDS), range = layer == LAYERS ? words : qkv.range;
    return {given.at(layer, qkv.matrix), range.start, range.end, wave, lane};
}

/* A matrix back to the hidden size. */
template <class Cut> __device__ inline Rows<Cut> onto_residual(const char *matrix, int program, int wave, int lane) {
    const Range range(program, HIDDEN_EACH, HIDDEN);
    return {matrix, range.start, range.end, wave, lane};
}

__device__ inline float norm_factor(const float *squares, float epsilon) {
    float sum = 0;
#pragma unroll
    for (int wave = 0; wave < WAVES; wave++) sum += squares[wave];
    return __frsqrt_rn(sum / HIDDEN + epsilon);
}

/* The eight waves: which keys this program's head is shown, once for all layers that see alike. */
__device__ inline void look_at_masks(const Given &given, Shared &shared, int program, int wave, int lane) {
    if (!HAS_BIAS) return;
    const Task task(program);
#pragma unroll
    for (int kind = 0; kind < KINDS; kind++) {
        const Seeing seeing = given.seen_by(kind);
        look(shared, kind, seeing.bias + (long long)task.head * seeing.bias_head, seeing.bias_key, wave, lane);
    }
}

/* A row of the hidden size that everybody has told. Where a product is normed before it is added (Gemma 2), that row is
 * the product alone: everybody needs all of it for the factor, and keeps the residual. The talking wave comes to the
 * barrier as well. */
__device__ inline void hear_normed(const Given &given, const u64 *words, int layer, int norm, u32 round, float *x,
                                   Shared &shared, int wave, int lane) {
    Four weights[ByHidden::STEPS];
    if (HAS_AFTER_NORMS) load_row<ByHidden>(given.at(layer, norm), weights, wave, lane);
    hear_row<ByHidden>(words, round, x, wave, lane);
    if (!HAS_AFTER_NORMS) return;
    square<ByHidden>(x, shared.squares_after, wave, lane);
    __syncthreads();
    settle<ByHidden>(x, shared.row, weights, norm_factor(shared.squares_after, given.epsilon), wave, lane);
}

__device__ inline void meet_for_norm() {
    if (HAS_AFTER_NORMS) __syncthreads();
}

__device__ inline void multiplying(const Given &given, Shared &shared, u32 calls, int block, int wave, int thread) {
    Four held[SLOTS], norm[ByHidden::STEPS];
    float x[8 * STEPS];
    Attention attention;
    int lane = thread, program = block;
    Rows<ByHidden> first = first_of(given, 0, program, wave, lane);
    ask_first(first, held, 0, wave, lane);
    look_at_masks(given, shared, program, wave, lane);
    __syncthreads();
    __syncthreads();
    for (int layer = 0; layer < LAYERS; layer++) {
        lane = anew(thread), program = anew_for_all(block);
        const Task task(program);
        const u64 in_cache = u64(task.head / GROUP) * u32(given.cache_head) * 2;
        const Range wide(program, WIDE_EACH, WIDE);
        const u32 round = calls * LAYERS + layer + 1;
        load_row<ByHidden>(given.at(layer, NORM), norm, wave, lane);
        const int kind = given.kind(layer);
        const Seeing seeing = given.seen_by(kind);
        const Bias *bias = seeing.bias + (long long)task.head * seeing.bias_head;
        if (task.attends) {
            attention.keys = given.at(layer, KEYS) + in_cache;
            attention.values = given.at(layer, VALUES) + in_cache;
            attention.ask_first(shared.shown[kind], task.part, wave, lane);
        }
        /* q, k and v */
        __syncthreads();
        if (layer == 0) {
            Four row[ByHidden::STEPS];
            load_row<ByHidden>(given.start, row, wave, lane);
            unpack<ByHidden::STEPS>(row, x);
            if (HAS_AFTER_NORMS) keep_row<ByHidden>(row, shared.row, wave, lane);
        } else {
            hear_normed(given, given.exchange.row(), layer - 1, AFTER_WIDE, round - 1, x, shared, wave, lane);
        }
        weigh<ByHidden>(x, norm, shared.squares, wave, lane);
        const Rows<BySeen> output = onto_residual<BySeen>(given.at(layer, O), program, wave, lane);
        multiply<QKV_EACH / ByHidden::ROWS>(first, output, held, x, shared.sums, wave, lane);
        __syncthreads();
        /* attention */
        __syncthreads();
        if (task.attends) attend(attention, shared, bias, seeing.bias_key, *given.position, given.scale, wave, lane);
        load_row<ByHidden>(given.at(layer, MIDDLE_NORM), norm, wave, lane);
        __syncthreads();
        __syncthreads();
        hear_row<BySeen>(given.exchange.seen(), round, x, wave, lane);
        const Pairs<ByHidden> gated(given.at(layer, GATE), given.at(layer, UP), wide.start, wide.end, wave, lane);
        multiply<HIDDEN_EACH / BySeen::ROWS>(output, gated, held, x, shared.sums, wave, lane);
        __syncthreads();
        /* the MLP */
        __syncthreads();
        hear_normed(given, given.exchange.middle(), layer, AFTER_SEEN, round, x, shared, wave, lane);
        weigh<ByHidden>(x, norm, shared.squares, wave, lane);
        const Rows<ByWide> down = onto_residual<ByWide>(given.at(layer, DOWN), program, wave, lane);
        multiply<2 * (WIDE_EACH / ByHidden::ROWS)>(gated, down, held, x, shared.sums, wave, lane);
        __syncthreads();
        __syncthreads();
        hear_row<ByWide>(given.exchange.gated(), round, x, wave, lane);
        first = first_of(given, layer + 1, program, wave, lane);
        multiply<HIDDEN_EACH / ByWide::ROWS>(down, first, held, x, shared.sums, wave, lane);
        __syncthreads();
    }
    load_row<ByHidden>(given.at(LAYERS, NORM), norm, wave, lane);
    __syncthreads();
    hear_normed(given, given.exchange.row(), LAYERS - 1, AFTER_WIDE, calls * LAYERS + LAYERS, x, shared, wave, lane);
    weigh<ByHidden>(x, norm, shared.squares, wave, lane);
    multiply<WORDS_EACH / ByHidden::ROWS>(first, Nothing(), held, x, shared.sums, wave, lane);
    __syncthreads();
}

/* The eight waves' sums of a row together. */
__device__ inline float whole(const Shared &shared, int row) {
    float sum = 0;
#pragma unroll
    for (int wave = 0; wave < WAVES; wave++) sum += shared.sums[row * WAVES + wave];
    return sum;
}

/* A product onto the residual, or before the norm that comes between, rounded as the row is, to everybody. */
__device__ inline void tell_residual(Shared &shared, u64 *words, int program, u32 round, int lane) {
    const int start = program * HIDDEN_EACH;
    for (int row = lane * 2; row < HIDDEN_EACH && start + row < HIDDEN; row += 2 * WAVE) {
        float two[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const float sum = whole(shared, row + i);
            two[i] = HAS_AFTER_NORMS ? sum : rounded(shared.residual[row + i] + sum);
            if (!HAS_AFTER_NORMS) shared.residual[row + i] = two[i];
        }
        tell(words + (start + row) / 2, packed(two[0], two[1]), round);
    }
}

__device__ inline float active(float gate) {
    if (ACTIVATION == SILU) return gate / (1.0f + __expf(-gate));
    if (ACTIVATION == GELU_ERF) return 0.5f * gate * (1.0f + erf_of(gate * 0.70710678f));
    /* 0.5 (1 + tanh(z)) is the logistic function of 2 z */
    const float twice = 1.5957691216f * (gate + 0.044715f * gate * gate * gate);
    return gate / (1.0f + __expf(-twice));
}

/* Values of the MLP: groups of rows of the two matrices lie in turns. */
__device__ inline void tell_gated(const Shared &shared, u64 *words, float factor, int program, u32 round, int lane) {
    const int start = program * WIDE_EACH;
    for (int row = lane * 2; row < WIDE_EACH && start + row < WIDE; row += 2 * WAVE) {
        float two[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int at = (row + i) / ByHidden::ROWS * 2 * ByHidden::ROWS + (row + i) % ByHidden::ROWS;
            const float gate = whole(shared, at) * factor, up = whole(shared, at + ByHidden::ROWS) * factor;
            two[i] = active(gate) * up;
        }
        tell(words + (start + row) / 2, packed(two[0], two[1]), round);
    }
}

__device__ inline void talking(const Given &given, Shared &shared, u32 calls, int block, int thread) {
    const Exchange &exchange = given.exchange;
    int lane = thread, program = block;
    __syncthreads();
    for (int kind = 0; kind < KINDS; kind++) {
        const Seeing seeing = given.seen_by(kind);
        const Bias *bias = seeing.bias + (long long)Task(program).head * seeing.bias_head;
        shared.shown[kind] = shown_of(shared, kind, bias, seeing.bias_key, *given.position);
    }
    __syncthreads();
    for (int row = lane; row < HIDDEN_EACH && program * HIDDEN_EACH + row < HIDDEN; row += WAVE) {
        const int at = program * HIDDEN_EACH + row;
        shared.residual[row] = half_of(((const u32 *)given.start)[at / 2], at % 2);
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        lane = anew(thread), program = anew_for_all(block);
        const Task task(program);
        const Qkv qkv(program);
        const u32 round = calls * LAYERS + layer + 1;
        if (layer > 0) wait_for(exchange.flag(ROW), PROGRAMS, 1, round - 1, lane);
        __syncthreads();
        if (layer > 0) meet_for_norm();
        __syncthreads();
        const float factor = norm_factor(shared.squares, given.epsilon);
        const u32 *biases = HAS_QKV_BIASES ? given.pairs(layer, Q_BIAS + qkv.matrix) : nullptr;
        for (int row = lane * 2; qkv.range.start + row < qkv.range.end; row += 2 * WAVE) {
            const u32 two = HAS_QKV_BIASES ? biases[(qkv.range.start + row) / 2] : 0;
            tell(exchange.qkv() + (qkv.above + qkv.range.start + row) / 2,
                 packed(whole(shared, row) * factor + low(two), whole(shared, row + 1) * factor + high(two)), round);
        }
        const int kind = given.kind(layer);
        const Seeing seeing = given.seen_by(kind);
        if (task.attends)
            hear_query(exchange, shared, seeing, HAS_HEAD_NORMS ? given.pairs(layer, Q_NORM) : nullptr,
                       HAS_HEAD_NORMS ? given.pairs(layer, K_NORM) : nullptr, given.epsilon, task.head, round, lane);
        __syncthreads();
        __syncthreads();
        if (task.attends) tell_piece(exchange, shared, task.head, task.part, round, lane);
        if (PARTS > 1 && task.attends && task.part == 0) join_pieces(exchange, task.head, round, lane);
        if (lane == 0) set_flag(exchange.flag(SEEN) + program, round);
        if (task.attends && task.head % GROUP == 0) {
            const u64 in_cache = u64(task.head / GROUP) * u32(given.cache_head) * 2;
            store_new(shared, given.at(layer, KEYS) + in_cache, given.at(layer, VALUES) + in_cache, shared.shown[kind],
                      *given.position, task.part, lane);
        }
        wait_for(exchange.flag(SEEN), HEADS, PARTS, round, lane);
        __syncthreads();
        __syncthreads();
        tell_residual(shared, exchange.middle(), program, round, lane);
        if (lane == 0) set_flag(exchange.flag(MIDDLE) + program, round);
        wait_for(exchange.flag(MIDDLE), PROGRAMS, 1, round, lane);
        __syncthreads();
        meet_for_norm();
        __syncthreads();
        tell_gated(shared, exchange.gated(), norm_factor(shared.squares, given.epsilon), program, round, lane);
        if (lane == 0) set_flag(exchange.flag(GATED) + program, round);
        wait_for(exchange.flag(GATED), PROGRAMS, 1, round, lane);
        __syncthreads();
        __syncthreads();
        tell_residual(shared, exchange.row(), program, round, lane);
        if (lane == 0) set_flag(exchange.flag(ROW) + program, round);
    }
    wait_for(exchange.flag(ROW), PROGRAMS, 1, calls * LAYERS + LAYERS, lane);
    __syncthreads();
    meet_for_norm();
    __syncthreads();
    const int start = program * WORDS_EACH;
    const float factor = norm_factor(shared.squares, given.epsilon);
    for (int row = lane * 2; row < WORDS_EACH && start + row < WORDS; row += 2 * WAVE)
        given.out[(start + row) / 2] = packed(whole(shared, row) * factor, whole(shared, row + 1) * factor);
    /* Everybody has read it: all have had a part in the last layer. */
    if (program == 0 && lane == 0) *exchange.calls() = calls + 1;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    decoder(char *base, const char *start, u32 *out, const long long *table, u64 *words, const long long *position,
            const u32 *cos, const u32 *sin, const Bias *bias, int bias_head, int bias_key, const u32 *other_cos,
            const u32 *other_sin, const Bias *other_bias, int other_bias_head, int other_bias_key, int cache_head,
            float scale, float epsilon) {
    __shared__ Shared shared;
    const Seeing seeing = {bias, bias_head, bias_key, cos, sin};
    const Seeing other = {other_bias, other_bias_head, other_bias_key, other_cos, other_sin};
    const Given given = {base, start, out, table, {words}, position, seeing, other, cache_head, scale, epsilon};
    const int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / WAVE), lane = threadIdx.x % WAVE;
    const u32 past = *given.exchange.calls();
    if (wave == WAVES)
        talking(given, shared, past, blockIdx.x, lane);
    else
        multiplying(given, shared, past, blockIdx.x, wave, lane);
}
