/* One row times matrices: eight waves share the columns, so each needs an eighth of the row, and keeps it in registers.
 *
 * The register file of a compute unit has 512 KB, its LDS 64 (gfx950: 160). So weights wait in registers: every wave
 * always has SLOTS loads of 16 bytes a lane under way, and when it has multiplied the last ones of a matrix it asks for
 * the first ones of the next, before it waits for the row that they are to be multiplied by. Nothing waits for these
 * loads at a barrier: s_barrier does not look at the counter of loads. */

/* The same number, of which the compiler knows nothing: it would compute all that follows from a lane's number, such as
 * the offsets of all loads, before the first layer, and keep it in registers that weights are to have. */
__device__ inline u32 anew(u32 number) {
    asm volatile("" : "+v"(number));
    return number;
}

__device__ inline int anew_for_all(int number) {
    asm volatile("" : "+s"(number));
    return number;
}

/* An address that all lanes share, in scalar registers. The compiler cannot know it of one that was read from memory, and
 * would put a loop over the lanes' addresses around every load. */
__device__ inline char *for_all(char *address) {
    const u64 whole = u64(address);
    const u32 first = __builtin_amdgcn_readfirstlane(u32(whole));
    const u32 second = __builtin_amdgcn_readfirstlane(u32(whole >> 32));
    return (char *)(u64(second) << 32 | first);
}

/* A lane's offset that lies outside every matrix: such a load gives 0 and reads nothing. */
constexpr u32 OUTSIDE = 0x80000000u;
constexpr int READ_ONCE = 2; /* nt: the first to leave the caches */

__device__ inline Four load_16(const char *matrix, u32 bytes, u32 offset) {
    const __amdgpu_buffer_rsrc_t place = __builtin_amdgcn_make_buffer_rsrc((void *)matrix, 0, bytes, 0x00020000);
    return __builtin_amdgcn_raw_buffer_load_b128(place, offset, 0, READ_ONCE);
}

/* How a matrix of COLUMNS is cut: LANES lanes of 8 columns have a row, each of the waves an eighth of a step. */
template <int COLUMNS_, int LANES_> struct Cut {
    static constexpr int COLUMNS = COLUMNS_, LANES = LANES_;
    static constexpr int ROWS = WAVE / LANES; /* rows of a load */
    static constexpr int STEP = WAVES * LANES * 8;
    static constexpr int STEPS = (COLUMNS + STEP - 1) / STEP;
    static constexpr bool EVEN = COLUMNS % STEP == 0;
    static constexpr int SLOTS = STEPS > HELD ? STEPS : HELD / STEPS *STEPS;
    static constexpr u32 ROW_BYTES = COLUMNS * 2;

    __device__ static int column(int wave, int lane, int step) {
        return step * STEP + (wave * LANES + lane % LANES) * 8;
    }
    /* A lane's part of an offset. */
    __device__ static u32 mine(int start, int wave, int lane) {
        return anew(u32(start + lane / LANES) * ROW_BYTES + u32(column(wave, lane, 0)) * 2);
    }
    __device__ static Four ask(const char *matrix, int end, u32 mine, int group, int wave, int lane, int step) {
        const u32 offset = mine + u32(group) * (ROWS * ROW_BYTES) + step * STEP * 2;
        const bool inside = EVEN || step < STEPS - 1 || column(wave, lane, step) < COLUMNS;
        return load_16(matrix, u32(end) * ROW_BYTES, inside ? offset : OUTSIDE);
    }
};

/* This program's rows of a matrix; those from `end` on lie outside. */
template <class Cut_> struct Rows {
    using Cut = Cut_;
    const char *matrix;
    int end;
    u32 mine;

    __device__ Rows(const char *matrix, int start, int end, int wave, int lane)
        : matrix(matrix), end(end), mine(Cut::mine(start, wave, lane)) {}
    __device__ Four ask(int group, int wave, int lane, int step) const {
        return Cut::ask(matrix, end, mine, group, wave, lane, step);
    }
};

/* The same rows of two matrices in turns. */
template <class Cut_> struct Pairs {
    using Cut = Cut_;
    const char *gate;
    long long to_up; /* a distance: of two pointers the compiler makes a table in memory */
    int end;
    u32 mine;

    __device__ Pairs(const char *gate, const char *up, int start, int end, int wave, int lane)
        : gate(gate), to_up(up - gate), end(end), mine(Cut::mine(start, wave, lane)) {}
    __device__ Four ask(int group, int wave, int lane, int step) const {
        return Cut::ask(gate + (group % 2 ? to_up : 0), end, mine, group / 2, wave, lane, step);
    }
};

/* After the last matrix. */
struct Nothing {
    struct Cut {
        static constexpr int SLOTS = 0, STEPS = 1;
    };
    __device__ Four ask(int, int, int, int) const { return {}; }
};

/* The first SLOTS loads. */
template <class What> __device__ inline void ask_first(const What &what, Four *held, int from, int wave, int lane) {
#pragma unroll
    for (int i = 0; i < What::Cut::SLOTS; i++)
        if (i >= from) held[i] = what.ask(i / What::Cut::STEPS, wave, lane, i % What::Cut::STEPS);
}

/* Asked for when there is room and not sooner: the compiler would take a second set of registers. */
__device__ inline void in_this_order() { __builtin_amdgcn_sched_barrier(0); }

__device__ inline float dot_8(Four weights, const float *x, float sum) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum = __builtin_fmaf(low(weights[i]), x[2 * i], sum);
        sum = __builtin_fmaf(high(weights[i]), x[2 * i + 1], sum);
    }
    return sum;
}

/* What a wave's columns give for the rows of a group, into LDS. */
template <class Cut> __device__ inline void keep_sum(float *sums, int group, float sum, int wave, int lane) {
    sum = across<Cut::LANES>(sum);
    if (lane % Cut::LANES == Cut::LANES - 1) sums[(group * Cut::ROWS + lane / Cut::LANES) * WAVES + wave] = sum;
}

/* GROUPS groups of rows times x; their weights make room for the first of what comes next. */
template <int GROUPS, class Now, class Next>
__device__ inline void multiply(const Now &now, const Next &next, Four *held, const float *x, float *sums, int wave,
                                int lane) {
    using Cut = typename Now::Cut;
    constexpr int STEPS = Cut::STEPS, EACH = Cut::SLOTS / STEPS;
    constexpr int ROUNDS = (GROUPS + EACH - 1) / EACH, LAST = GROUPS - (ROUNDS - 1) * EACH;
#pragma unroll 1
    for (int round = 0; round < ROUNDS - 1; round++)
#pragma unroll
        for (int group = 0; group < EACH; group++) {
            float sum = 0;
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                Four &slot = held[group * STEPS + step];
                sum = dot_8(slot, x + 8 * step, sum);
                slot = now.ask((round + 1) * EACH + group, wave, lane, step);
            }
            keep_sum<Cut>(sums, round * EACH + group, sum, wave, lane);
            in_this_order();
        }
#pragma unroll
    for (int group = 0; group < EACH; group++) {
        float sum = 0;
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            const int i = group * STEPS + step;
            if (group < LAST) sum = dot_8(held[i], x + 8 * step, sum);
            if (i < Next::Cut::SLOTS) held[i] = next.ask(i / Next::Cut::STEPS, wave, lane, i % Next::Cut::STEPS);
        }
        if (group < LAST) keep_sum<Cut>(sums, (ROUNDS - 1) * EACH + group, sum, wave, lane);
        in_this_order();
    }
    ask_first(next, held, Cut::SLOTS, wave, lane);
}

/* A wave's part of a row that other programs write. */
template <class Cut> __device__ inline void hear_row(const u64 *words, u32 round, float *x, int wave, int lane) {
#pragma unroll
    for (int step = 0; step < Cut::STEPS; step++) {
        const int at = Cut::column(wave, lane, step);
        u32 pairs[4] = {0, 0, 0, 0};
        if (Cut::EVEN || at < Cut::COLUMNS) hear<4>(words + at / 2, round, pairs);
#pragma unroll
        for (int i = 0; i < 4; i++) x[8 * step + 2 * i] = low(pairs[i]), x[8 * step + 2 * i + 1] = high(pairs[i]);
    }
}

/* A wave's part of a row that was there before the kernel began. */
template <class Cut> __device__ inline void load_row(const char *row, Four *parts, int wave, int lane) {
#pragma unroll
    for (int step = 0; step < Cut::STEPS; step++) {
        const int at = Cut::column(wave, lane, step);
        const bool inside = Cut::EVEN || at < Cut::COLUMNS;
        parts[step] = load_16(row, Cut::ROW_BYTES, inside ? u32(at) * 2 : OUTSIDE);
    }
}

/* x times the weights of its norm. The norm's factor can wait until after the sums: only squares are needed here. */
template <class Cut>
__device__ inline void weigh(float *x, const Four *norm, float *squares, int wave, int lane) {
    float sum = 0;
#pragma unroll
    for (int step = 0; step < Cut::STEPS; step++)
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float &value = x[8 * step + i];
            sum = __builtin_fmaf(value, value, sum);
            value *= half_of(norm[step][i / 2], i % 2) + NORM_PLUS;
        }
    sum = across<Cut::LANES>(sum);
    if (lane == Cut::LANES - 1) squares[wave] = sum;
}

/* A wave's part of a row as it is written, from pairs. */
template <int STEPS> __device__ inline void unpack(const Four *parts, float *x) {
#pragma unroll
    for (int i = 0; i < 8 * STEPS; i++) x[i] = half_of(parts[i / 8][i % 8 / 2], i % 2);
}

/* Its squares, for the factor of a norm that comes before the residual. */
template <class Cut> __device__ inline void square(const float *x, float *squares, int wave, int lane) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8 * Cut::STEPS; i++) sum = __builtin_fmaf(x[i], x[i], sum);
    sum = across<Cut::LANES>(sum);
    if (lane == Cut::LANES - 1) squares[wave] = sum;
}

/* The residual in LDS, where every lane reads only what it wrote: lanes with the same columns write the same. */
template <class Cut> __device__ inline void keep_row(const Four *parts, u32 *row, int wave, int lane) {
#pragma unroll
    for (int step = 0; step < Cut::STEPS; step++) {
        const int at = Cut::column(wave, lane, step);
        if (Cut::EVEN || at < Cut::COLUMNS) *(Four *)(row + at / 2) = parts[step];
    }
}

/* x = residual + norm(x), rounded as the row is; the residual of the next time. */
template <class Cut>
__device__ inline void settle(float *x, u32 *row, const Four *norm, float factor, int wave, int lane) {
#pragma unroll
    for (int step = 0; step < Cut::STEPS; step++) {
        const int at = Cut::column(wave, lane, step);
        Four residual = {0, 0, 0, 0};
        if (Cut::EVEN || at < Cut::COLUMNS) residual = *(Four *)(row + at / 2);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float &value = x[8 * step + i];
            const float added = rounded(value * factor * (half_of(norm[step][i / 2], i % 2) + NORM_PLUS));
            value = rounded(half_of(residual[i / 2], i % 2) + added);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) residual[i] = packed(x[8 * step + 2 * i], x[8 * step + 2 * i + 1]);
        if (Cut::EVEN || at < Cut::COLUMNS) *(Four *)(row + at / 2) = residual;
    }
}
