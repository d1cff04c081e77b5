// A batch of transforms of one to three dimensions on strided arrays: what both hipFFT and rocFFT plans come down to.
#pragma once

#include <cstdint>
#include <vector>

namespace kpt {

using FftInt = int64_t;

enum class FftKind { ComplexToComplex, RealToComplex, ComplexToReal };

struct FftPlan {
    FftKind kind = FftKind::ComplexToComplex;
    bool is_double = false;
    std::vector<FftInt> length;                // slowest dimension first; the last one is halved on the complex side
    std::vector<FftInt> stride_in, stride_out; // in elements, same order
    FftInt distance_in = 0, distance_out = 0, batch = 1;
    double scale = 1;

    FftInt points() const;
    // Fills in dense strides where none were given, the real side padded for an in-place real transform.
    void fill_defaults(bool in_place);
};

// `sign` counts for complex transforms only.
void run_fft(const FftPlan &plan, const void *in, void *out, int sign);

} // namespace kpt
