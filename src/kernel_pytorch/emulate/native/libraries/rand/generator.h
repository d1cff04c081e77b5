// A generator of the host interface: which engine gives which output, and the distributions.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "../common/numbers.h"
#include "engines.h"

namespace kpt {

enum class RandomKind { Xorwow, Mrg32k3a, Philox, Mt19937, Sobol32 };

// rocRAND's default ordering: output i of a call comes from engine i modulo 131072 (512 blocks of 256 threads), and the
// next call goes on where the last one stopped. Philox is one sequence, MT19937 here too.
constexpr size_t random_engines = 131072;

class RandomGenerator {
public:
    explicit RandomGenerator(RandomKind kind) : kind(kind) {}

    RandomKind kind;
    uint64_t seed = 0, offset = 0;
    unsigned dimensions = 1;
    void *stream = nullptr;

    void reset() { ready_ = false; }

    // Each group of `Out` outputs is made from `In` raw numbers by make(in, out).
    template <int In, int Out, class T, class Make> void fill(T *data, size_t n, Make make) {
        prepare((n + Out - 1) / Out);
        for (size_t group = 0; group * Out < n; ++group) {
            uint32_t in[In];
            T out[Out];
            draw(group, in, In);
            make(in, out);
            for (size_t o = 0; o < Out && group * Out + o < n; ++o) data[group * Out + o] = out[o];
        }
        advance((n + Out - 1) / Out, In);
    }

    bool is_quasi() const { return kind == RandomKind::Sobol32; }

    // Dimension by dimension, n / dimensions values each; false when there are more dimensions than direction numbers.
    template <class T, class Make> bool fill_quasi(T *data, size_t n, Make make) {
        const size_t each = n / dimensions;
        for (unsigned d = 0; d < dimensions; ++d) {
            std::array<uint32_t, 32> directions;
            if (!sobol_directions(d, &directions)) return false;
            for (size_t i = 0; i < each; ++i) data[d * each + i] = make(sobol_at(directions, position_quasi() + i));
        }
        ready_ = true, position_ = position_quasi() + each;
        return true;
    }

private:
    uint64_t position_quasi() const { return ready_ ? position_ : offset; }
    void prepare(size_t groups);
    void draw(size_t group, uint32_t *in, int count);
    void advance(size_t groups, int width);

    bool ready_ = false;
    uint64_t position_ = 0; // Philox: next number; XORWOW and MRG32k3a: the engine of the next output
    std::unique_ptr<Philox> philox_;
    std::mt19937 twister_;
    std::vector<Xorwow> xorwow_;
    std::vector<Mrg32k3a> mrg_;
};

constexpr float two_power_minus_32 = 2.3283064e-10f;

inline float uniform_float(uint32_t v) { return two_power_minus_32 + static_cast<float>(v) * two_power_minus_32; }
inline double uniform_double(uint32_t low, uint32_t high) {
    const uint64_t v = low | static_cast<uint64_t>(high >> 11) << 32;
    return 0x1p-53 + static_cast<double>(v) * 0x1p-53;
}
inline float uniform_mrg(uint32_t v) { return static_cast<float>(static_cast<double>(v) * 2.3283065498378288e-10); }
inline uint32_t whole_mrg(uint32_t v) { return static_cast<uint32_t>((v - 1) * 1.000000048661607); }

} // namespace kpt
