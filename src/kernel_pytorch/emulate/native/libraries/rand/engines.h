// The number sequences behind rocRAND's generators, from their published definitions: counters and recurrences, with
// jumps by matrix powers instead of precomputed tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kpt {

using std::size_t;

// Philox-4x32-10 (Salmon et al. 2011): random access, number `index` of subsequence 0.
class Philox {
public:
    explicit Philox(uint64_t seed) : seed_(seed) {}
    uint32_t at(uint64_t index);

private:
    uint64_t seed_, cached_ = ~uint64_t(0);
    std::array<uint32_t, 4> block_{};
};

// XORWOW (Marsaglia 2003): a linear generator over bits plus a Weyl sequence.
struct Xorwow {
    std::array<uint32_t, 5> x;
    uint32_t weyl;
    static Xorwow seeded(uint64_t seed);
    uint32_t next();
};

// MRG32k3a (L'Ecuyer 1999).
struct Mrg32k3a {
    std::array<uint64_t, 3> g1, g2;
    static Mrg32k3a seeded(uint64_t seed);
    uint32_t next(); // 1 to 4294967087
};

// `count` engines, engine e standing at the start of subsequence e (2^67 numbers for XORWOW, 2^76 for MRG32k3a), moved
// on by `offset` numbers, engines before `start` by one more.
std::vector<Xorwow> xorwow_engines(uint64_t seed, size_t count, uint64_t offset, size_t start);
std::vector<Mrg32k3a> mrg_engines(uint64_t seed, size_t count, uint64_t offset, size_t start);

// Sobol numbers with Joe and Kuo's direction numbers; false when the dimension is past the table.
constexpr unsigned sobol_dimensions = 21;
bool sobol_directions(unsigned dimension, std::array<uint32_t, 32> *directions);
bool sobol_directions(unsigned dimension, std::array<uint64_t, 64> *directions);
uint32_t sobol_at(const std::array<uint32_t, 32> &directions, uint64_t index);

} // namespace kpt
