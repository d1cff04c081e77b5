#include "engines.h"

namespace kpt {

uint32_t Philox::at(uint64_t index) {
    if (index / 4 != cached_) {
        cached_ = index / 4;
        std::array<uint32_t, 4> c{static_cast<uint32_t>(cached_), static_cast<uint32_t>(cached_ >> 32), 0, 0};
        uint32_t key0 = static_cast<uint32_t>(seed_), key1 = static_cast<uint32_t>(seed_ >> 32);
        for (int round = 0; round < 10; ++round) {
            const uint64_t a = uint64_t(0xD2511F53u) * c[0], b = uint64_t(0xCD9E8D57u) * c[2];
            c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(b),
                 static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(a)};
            key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
        }
        block_ = c;
    }
    return block_[index % 4];
}

Xorwow Xorwow::seeded(uint64_t seed) {
    const uint32_t t0 = 1228688033u * (static_cast<uint32_t>(seed) ^ 0x2c7f967fu);
    const uint32_t t1 = 2073658381u * (static_cast<uint32_t>(seed >> 32) ^ 0xa03697cbu);
    return {{123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0}, 6615241u + t1 + t0};
}

uint32_t Xorwow::next() {
    const uint32_t t = x[0] ^ (x[0] >> 2);
    x = {x[1], x[2], x[3], x[4], (x[4] ^ (x[4] << 4)) ^ (t ^ (t << 1))};
    weyl += 362437;
    return weyl + x[4];
}

namespace {

using Bits = std::array<uint32_t, 5>;

// Column c is the image of bit c of the state.
using BitMatrix = std::vector<Bits>;

Bits apply(const BitMatrix &matrix, const Bits &state) {
    Bits out{};
    for (int word = 0; word < 5; ++word)
        for (uint32_t rest = state[word]; rest; rest &= rest - 1) {
            const Bits &column = matrix[word * 32 + __builtin_ctz(rest)];
            for (int w = 0; w < 5; ++w) out[w] ^= column[w];
        }
    return out;
}

BitMatrix squared(const BitMatrix &matrix) {
    BitMatrix out(160);
    for (int c = 0; c < 160; ++c) out[c] = apply(matrix, matrix[c]);
    return out;
}

BitMatrix xorwow_step() {
    BitMatrix step(160);
    for (int c = 0; c < 160; ++c) {
        Xorwow one{{}, 0};
        one.x[c / 32] = 1u << (c % 32);
        one.next();
        step[c] = one.x;
    }
    return step;
}

constexpr uint64_t m1 = 4294967087u, m2 = 4294944443u;
using Modular = std::array<uint64_t, 9>;

Modular product(const Modular &a, const Modular &b, uint64_t m) {
    Modular out{};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 3; ++k) out[i * 3 + j] = (out[i * 3 + j] + a[i * 3 + k] * b[k * 3 + j] % m) % m;
    return out;
}

void apply(const Modular &a, std::array<uint64_t, 3> &s, uint64_t m) {
    const std::array<uint64_t, 3> old = s;
    for (int i = 0; i < 3; ++i)
        s[i] = (a[i * 3] * old[0] % m + a[i * 3 + 1] * old[1] % m + a[i * 3 + 2] * old[2] % m) % m;
}

Modular power_of_two(Modular a, int doublings, uint64_t m) {
    for (int i = 0; i < doublings; ++i) a = product(a, a, m);
    return a;
}

constexpr Modular step1{0, 1, 0, 0, 0, 1, m1 - 810728, 1403580, 0};
constexpr Modular step2{0, 1, 0, 0, 0, 1, m2 - 1370589, 0, 527612};

void skip(Mrg32k3a &engine, uint64_t offset) {
    Modular a = step1, b = step2;
    for (; offset; offset >>= 1) {
        if (offset & 1) apply(a, engine.g1, m1), apply(b, engine.g2, m2);
        a = product(a, a, m1), b = product(b, b, m2);
    }
}

void skip(Xorwow &engine, uint64_t offset) {
    engine.weyl += static_cast<uint32_t>(offset) * 362437u;
    BitMatrix jump = xorwow_step();
    for (; offset; offset >>= 1) {
        if (offset & 1) engine.x = apply(jump, engine.x);
        if (offset > 1) jump = squared(jump);
    }
}

// Engine e + 1 is engine e moved by one subsequence. The offset is the same for all, so it is applied once, before.
template <class Engine, class Jump>
std::vector<Engine> spread(Engine first, size_t count, uint64_t offset, size_t start, Jump jump) {
    if (offset) skip(first, offset);
    std::vector<Engine> engines;
    engines.reserve(count);
    for (size_t e = 0; e < count; ++e) {
        engines.push_back(first);
        if (e < start) engines.back().next();
        jump(first);
    }
    return engines;
}

} // namespace

std::vector<Xorwow> xorwow_engines(uint64_t seed, size_t count, uint64_t offset, size_t start) {
    static const BitMatrix subsequence = [] {
        BitMatrix jump = xorwow_step();
        for (int i = 0; i < 67; ++i) jump = squared(jump);
        return jump;
    }();
    // 2^67 steps of the Weyl sequence are none.
    return spread(Xorwow::seeded(seed), count, offset, start, [](Xorwow &e) { e.x = apply(subsequence, e.x); });
}

Mrg32k3a Mrg32k3a::seeded(uint64_t seed) {
    if (seed == 0) seed = 12345;
    const uint64_t x = static_cast<uint32_t>(seed) ^ 0x55555555u, y = static_cast<uint32_t>((seed >> 32) ^ 0xAAAAAAAAu);
    const auto times = [&](uint64_t a, uint64_t m) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * seed % m);
    };
    return {{times(x, m1), times(y, m1), times(x, m1)}, {times(y, m2), times(x, m2), times(y, m2)}};
}

uint32_t Mrg32k3a::next() {
    const uint64_t p1 = (1403580 * g1[1] + 810728 * (m1 - g1[0])) % m1;
    const uint64_t p2 = (527612 * g2[2] + 1370589 * (m2 - g2[0])) % m2;
    g1 = {g1[1], g1[2], p1}, g2 = {g2[1], g2[2], p2};
    return static_cast<uint32_t>(p1 - p2 + (p1 <= p2 ? m1 : 0));
}

std::vector<Mrg32k3a> mrg_engines(uint64_t seed, size_t count, uint64_t offset, size_t start) {
    static const Modular jump1 = power_of_two(step1, 76, m1), jump2 = power_of_two(step2, 76, m2);
    return spread(Mrg32k3a::seeded(seed), count, offset, start,
                  [](Mrg32k3a &e) { apply(jump1, e.g1, m1), apply(jump2, e.g2, m2); });
}

template <class Word, int Bits> static bool directions_of(unsigned dimension, std::array<Word, Bits> *directions) {
    // Joe and Kuo's set D6: degree, coefficients of the primitive polynomial, initial direction numbers.
    struct Row {
        int degree;
        uint32_t coefficients, initial[7];
    };
    static constexpr Row rows[] = {
        {1, 0, {1}},
        {2, 1, {1, 3}},
        {3, 1, {1, 3, 1}},
        {3, 2, {1, 1, 1}},
        {4, 1, {1, 1, 3, 3}},
        {4, 4, {1, 3, 5, 13}},
        {5, 2, {1, 1, 5, 5, 17}},
        {5, 4, {1, 1, 5, 5, 5}},
        {5, 7, {1, 1, 7, 11, 19}},
        {5, 11, {1, 1, 5, 1, 1}},
        {5, 13, {1, 1, 1, 3, 11}},
        {5, 14, {1, 3, 5, 5, 31}},
        {6, 1, {1, 3, 3, 9, 7, 49}},
        {6, 13, {1, 1, 1, 15, 21, 21}},
        {6, 16, {1, 3, 1, 13, 27, 49}},
        {6, 19, {1, 1, 1, 15, 7, 5}},
        {6, 22, {1, 3, 1, 15, 13, 25}},
        {6, 25, {1, 1, 5, 5, 19, 61}},
        {7, 1, {1, 3, 7, 11, 23, 15, 103}},
        {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    };
    auto &v = *directions;
    if (dimension == 0) {
        for (int i = 0; i < Bits; ++i) v[i] = Word(1) << (Bits - 1 - i);
        return true;
    }
    static_assert(sizeof(rows) / sizeof(rows[0]) + 1 == sobol_dimensions);
    if (dimension >= sobol_dimensions) return false;
    const Row &row = rows[dimension - 1];
    for (int i = 0; i < Bits; ++i) {
        if (i < row.degree) {
            v[i] = Word(row.initial[i]) << (Bits - 1 - i);
            continue;
        }
        v[i] = v[i - row.degree] ^ (v[i - row.degree] >> row.degree);
        for (int k = 1; k < row.degree; ++k)
            if ((row.coefficients >> (row.degree - 1 - k)) & 1) v[i] ^= v[i - k];
    }
    return true;
}

bool sobol_directions(unsigned dimension, std::array<uint32_t, 32> *directions) {
    return directions_of<uint32_t, 32>(dimension, directions);
}
bool sobol_directions(unsigned dimension, std::array<uint64_t, 64> *directions) {
    return directions_of<uint64_t, 64>(dimension, directions);
}

uint32_t sobol_at(const std::array<uint32_t, 32> &directions, uint64_t index) {
    uint32_t value = 0, gray = static_cast<uint32_t>(index ^ (index >> 1));
    for (; gray; gray &= gray - 1) value ^= directions[__builtin_ctz(gray)];
    return value;
}

} // namespace kpt
