#include "transform.h"

#include <complex>
#include <map>
#include <memory>

#include "fft.h"

namespace kpt {
namespace {

using Value = std::complex<double>;

// Offset of the index-th point, counted with the last dimension fastest.
FftInt place(FftInt index, const std::vector<FftInt> &length, const std::vector<FftInt> &stride) {
    FftInt at = 0;
    for (size_t d = length.size(); d-- > 0;) {
        at += index % length[d] * stride[d];
        index /= length[d];
    }
    return at;
}

template <class Real> Value read_complex(const void *data, FftInt at) {
    return static_cast<const std::complex<Real> *>(data)[at];
}

template <class Real> void transform(const FftPlan &plan, const void *in, void *out, int sign) {
    std::vector<FftInt> half = plan.length;
    half.back() = half.back() / 2 + 1;
    const FftInt points = plan.points(), row = plan.length.back();
    std::vector<std::unique_ptr<Fft>> by_dimension;
    for (const FftInt n : plan.length) by_dimension.push_back(std::make_unique<Fft>(static_cast<size_t>(n)));
    FftInt half_points = 1;
    for (const FftInt n : half) half_points *= n;
    if (plan.kind != FftKind::ComplexToComplex) sign = plan.kind == FftKind::RealToComplex ? -1 : 1;

    std::vector<std::vector<Value>> results; // in-place plans may have overlapping batches: read all, then write
    for (FftInt b = 0; b < plan.batch; ++b) {
        const FftInt start = b * plan.distance_in;
        std::vector<Value> grid(static_cast<size_t>(points));
        if (plan.kind == FftKind::ComplexToComplex) {
            for (FftInt i = 0; i < points; ++i)
                grid[i] = read_complex<Real>(in, start + place(i, plan.length, plan.stride_in));
        } else if (plan.kind == FftKind::RealToComplex) {
            for (FftInt i = 0; i < points; ++i)
                grid[i] = static_cast<const Real *>(in)[start + place(i, plan.length, plan.stride_in)];
        } else {
            // The other half is the conjugate of the given one, mirrored in every dimension.
            for (FftInt i = 0; i < half_points; ++i) {
                const Value value = read_complex<Real>(in, start + place(i, half, plan.stride_in));
                FftInt rest = i, direct = 0, mirrored = 0, step = 1;
                for (size_t d = half.size(); d-- > 0;) {
                    const FftInt k = rest % half[d], n = plan.length[d];
                    rest /= half[d];
                    direct += k * step, mirrored += (n - k) % n * step, step *= n;
                }
                // Lines 0 and n/2 hold both a value and its mirror: what is given wins over what is mirrored.
                if (i % half.back() != 0 && !(row % 2 == 0 && i % half.back() == row / 2))
                    grid[mirrored] = std::conj(value);
                grid[direct] = value;
            }
        }
        FftInt step = 1;
        for (size_t d = plan.length.size(); d-- > 0;) {
            const FftInt n = plan.length[d];
            std::vector<Value> line(static_cast<size_t>(n));
            for (FftInt base = 0; base < points; ++base) {
                if (base / step % n != 0) continue;
                for (FftInt k = 0; k < n; ++k) line[k] = grid[base + k * step];
                by_dimension[d]->run(line.data(), sign);
                for (FftInt k = 0; k < n; ++k) grid[base + k * step] = line[k];
            }
            step *= n;
        }
        results.push_back(std::move(grid));
    }
    for (FftInt b = 0; b < plan.batch; ++b) {
        const FftInt start = b * plan.distance_out;
        const std::vector<Value> &grid = results[b];
        if (plan.kind == FftKind::ComplexToReal)
            for (FftInt i = 0; i < points; ++i)
                static_cast<Real *>(out)[start + place(i, plan.length, plan.stride_out)] =
                    static_cast<Real>(grid[i].real() * plan.scale);
        else if (plan.kind == FftKind::ComplexToComplex)
            for (FftInt i = 0; i < points; ++i)
                static_cast<std::complex<Real> *>(out)[start + place(i, plan.length, plan.stride_out)] =
                    std::complex<Real>(grid[i] * plan.scale);
        else
            for (FftInt i = 0; i < half_points; ++i)
                static_cast<std::complex<Real> *>(out)[start + place(i, half, plan.stride_out)] =
                    std::complex<Real>(grid[i / half.back() * row + i % half.back()] * plan.scale);
    }
}

} // namespace

FftInt FftPlan::points() const {
    FftInt product = 1;
    for (const FftInt n : length) product *= n;
    return product;
}

void FftPlan::fill_defaults(bool in_place) {
    const auto dense = [&](bool complex_side, bool real_side) {
        std::vector<FftInt> stride(length.size());
        FftInt step = 1;
        for (size_t d = length.size(); d-- > 0;) {
            stride[d] = step;
            FftInt n = length[d];
            if (d + 1 == length.size()) n = complex_side ? n / 2 + 1 : real_side && in_place ? 2 * (n / 2 + 1) : n;
            step *= n;
        }
        stride.push_back(step); // the distance between batches
        return stride;
    };
    auto in = dense(kind == FftKind::ComplexToReal, kind == FftKind::RealToComplex);
    auto out = dense(kind == FftKind::RealToComplex, kind == FftKind::ComplexToReal);
    if (!distance_in) distance_in = in.back();
    if (!distance_out) distance_out = out.back();
    in.pop_back(), out.pop_back();
    if (stride_in.empty()) stride_in = in;
    if (stride_out.empty()) stride_out = out;
}

void run_fft(const FftPlan &plan, const void *in, void *out, int sign) {
    if (plan.is_double)
        transform<double>(plan, in, out, sign);
    else
        transform<float>(plan, in, out, sign);
}

} // namespace kpt
