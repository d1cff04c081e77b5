#include "fft.h"

#include <cmath>

namespace kpt {
namespace {

using Value = std::complex<double>;
constexpr size_t largest_radix = 13;

// k is reduced first so that the angle keeps all its bits.
Value root(size_t k, size_t n) {
    const double angle = 2 * 3.14159265358979323846 * static_cast<double>(k % n) / static_cast<double>(n);
    return {std::cos(angle), -std::sin(angle)};
}

} // namespace

Fft::Fft(size_t length) : length_(length) {
    size_t rest = length;
    for (size_t radix : {4, 2, 3, 5, 7, 11, 13})
        while (rest % radix == 0 && rest > 1) factors_.push_back(radix), rest /= radix;
    if (rest == 1) {
        roots_.resize(length);
        for (size_t k = 0; k < length; ++k) roots_[k] = root(k, length);
        return;
    }
    size_t padded = 1;
    while (padded < 2 * length - 1) padded *= 2;
    power_ = std::make_unique<Fft>(padded);
    chirp_.resize(length);
    for (size_t k = 0; k < length; ++k) // exp(-i pi k^2 / length); k^2 modulo 2 length keeps the angle small
        chirp_[k] = root(k * k % (2 * length), 2 * length);
    chirp_transform_.assign(padded, Value(0));
    for (size_t k = 0; k < length; ++k) {
        chirp_transform_[k] = std::conj(chirp_[k]);
        if (k) chirp_transform_[padded - k] = std::conj(chirp_[k]);
    }
    power_->run(chirp_transform_.data(), -1);
}

// Decimation in time: `length` values that lie `step` apart in `from` become consecutive ones in `to`.
void Fft::stage(const Value *from, Value *to, size_t length, size_t step, size_t factor_index, bool inverse) const {
    if (length == 1) {
        *to = *from;
        return;
    }
    const size_t radix = factors_[factor_index], part = length / radix;
    for (size_t r = 0; r < radix; ++r)
        stage(from + r * step, to + r * part, part, step * radix, factor_index + 1, inverse);
    const auto twiddle = [&](size_t index) { return inverse ? std::conj(roots_[index]) : roots_[index]; };
    Value in[largest_radix];
    for (size_t k = 0; k < part; ++k) {
        for (size_t r = 0; r < radix; ++r) in[r] = to[r * part + k] * twiddle(r * k * step);
        if (radix == 2) {
            to[k] = in[0] + in[1], to[part + k] = in[0] - in[1];
        } else if (radix == 4) {
            const Value a = in[0] + in[2], b = in[0] - in[2], c = in[1] + in[3], d = in[1] - in[3];
            const Value turned = inverse ? Value(-d.imag(), d.real()) : Value(d.imag(), -d.real());
            to[k] = a + c, to[part + k] = b + turned, to[2 * part + k] = a - c, to[3 * part + k] = b - turned;
        } else {
            for (size_t q = 0; q < radix; ++q) {
                Value sum = in[0];
                for (size_t r = 1; r < radix; ++r) sum += in[r] * twiddle(q * r % radix * (length_ / radix));
                to[q * part + k] = sum;
            }
        }
    }
}

void Fft::bluestein(Value *data, bool inverse) const {
    const size_t padded = chirp_transform_.size();
    std::vector<Value> work(padded, Value(0));
    // The inverse is the forward transform of the conjugate, conjugated.
    for (size_t k = 0; k < length_; ++k) work[k] = (inverse ? std::conj(data[k]) : data[k]) * chirp_[k];
    power_->run(work.data(), -1);
    for (size_t k = 0; k < padded; ++k) work[k] *= chirp_transform_[k];
    power_->run(work.data(), 1);
    for (size_t k = 0; k < length_; ++k) {
        const Value value = work[k] * chirp_[k] / static_cast<double>(padded);
        data[k] = inverse ? std::conj(value) : value;
    }
}

void Fft::run(Value *data, int sign) const {
    if (length_ <= 1) return;
    if (power_) {
        bluestein(data, sign > 0);
        return;
    }
    const std::vector<Value> copy(data, data + length_);
    stage(copy.data(), data, length_, 1, 0, sign > 0);
}

} // namespace kpt
