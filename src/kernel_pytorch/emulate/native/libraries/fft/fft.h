// Discrete Fourier transforms of any length in double precision: mixed radices, and Bluestein's algorithm for lengths
// with a large prime factor. Unnormalised, as all GPU libraries do it.
#pragma once

#include <complex>
#include <memory>
#include <vector>

namespace kpt {

class Fft {
public:
    explicit Fft(size_t length);
    // In place; sign -1 is the forward transform.
    void run(std::complex<double> *data, int sign) const;

private:
    using Value = std::complex<double>;
    void stage(const Value *from, Value *to, size_t length, size_t step, size_t factor_index, bool inverse) const;
    void bluestein(Value *data, bool inverse) const;

    size_t length_;
    std::vector<size_t> factors_;
    std::vector<Value> roots_; // exp(-2 pi i k / length)
    // Bluestein: a convolution with a chirp by a transform of a power of two.
    std::unique_ptr<Fft> power_;
    std::vector<Value> chirp_, chirp_transform_;
};

} // namespace kpt
