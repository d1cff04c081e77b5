// thrust::complex for machines without rocThrust: torch's own headers need it. A real <thrust/complex.h> wins.
//
// The type has rocThrust's layout. The functions are textbook formulas guarded against overflow, not a copy of
// rocThrust's: results may differ in the last digits.
#pragma once
#include <hip/hip_runtime.h>

#include <cmath>
#include <complex>
#include <type_traits>

#define KPT_BOTH __host__ __device__ inline

namespace thrust {

template <typename T>
struct complex {
    using value_type = T;

    constexpr __host__ __device__ complex(T re = T(), T im = T()) : re_(re), im_(im) {}
    template <typename U>
    constexpr __host__ __device__ complex(const complex<U> &z) : re_(T(z.real())), im_(T(z.imag())) {}
    __host__ complex(const std::complex<T> &z) : re_(z.real()), im_(z.imag()) {}
    __host__ operator std::complex<T>() const { return std::complex<T>(re_, im_); }

    constexpr __host__ __device__ T real() const { return re_; }
    constexpr __host__ __device__ T imag() const { return im_; }
    __host__ __device__ void real(T re) { re_ = re; }
    __host__ __device__ void imag(T im) { im_ = im; }

    __host__ __device__ complex &operator+=(const complex &z) { return *this = complex(re_ + z.re_, im_ + z.im_); }
    __host__ __device__ complex &operator-=(const complex &z) { return *this = complex(re_ - z.re_, im_ - z.im_); }
    __host__ __device__ complex &operator*=(const complex &z) {
        return *this = complex(re_ * z.re_ - im_ * z.im_, re_ * z.im_ + im_ * z.re_);
    }
    // Smith's method: the larger part of the divisor is divided by first, so its square cannot overflow.
    __host__ __device__ complex &operator/=(const complex &z) {
        if (::fabs(z.re_) >= ::fabs(z.im_)) {
            const T ratio = z.im_ / z.re_, scale = z.re_ + z.im_ * ratio;
            return *this = complex((re_ + im_ * ratio) / scale, (im_ - re_ * ratio) / scale);
        }
        const T ratio = z.re_ / z.im_, scale = z.re_ * ratio + z.im_;
        return *this = complex((re_ * ratio + im_) / scale, (im_ * ratio - re_) / scale);
    }

private:
    T re_, im_;
};

#define KPT_OPERATOR(op)                                                                                               \
    template <typename T> KPT_BOTH complex<T> operator op(complex<T> x, const complex<T> &y) { return x op## = y; }    \
    template <typename T> KPT_BOTH complex<T> operator op(complex<T> x, const T &y) { return x op## = complex<T>(y); } \
    template <typename T> KPT_BOTH complex<T> operator op(const T &x, const complex<T> &y) {                           \
        return complex<T>(x) op## = y;                                                                                 \
    }
KPT_OPERATOR(+)
KPT_OPERATOR(-)
KPT_OPERATOR(*)
KPT_OPERATOR(/)
#undef KPT_OPERATOR

template <typename T> KPT_BOTH complex<T> operator+(const complex<T> &z) { return z; }
template <typename T> KPT_BOTH complex<T> operator-(const complex<T> &z) { return complex<T>(-z.real(), -z.imag()); }
template <typename T> KPT_BOTH bool operator==(const complex<T> &x, const complex<T> &y) {
    return x.real() == y.real() && x.imag() == y.imag();
}
template <typename T> KPT_BOTH bool operator!=(const complex<T> &x, const complex<T> &y) { return !(x == y); }

template <typename T> KPT_BOTH T abs(const complex<T> &z) { return ::hypot(z.real(), z.imag()); }
template <typename T> KPT_BOTH T arg(const complex<T> &z) { return ::atan2(z.imag(), z.real()); }
template <typename T> KPT_BOTH T norm(const complex<T> &z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <typename T> KPT_BOTH complex<T> conj(const complex<T> &z) { return complex<T>(z.real(), -z.imag()); }
template <typename T> KPT_BOTH complex<T> polar(const T &r, const T &theta = T()) {
    return complex<T>(r * ::cos(theta), r * ::sin(theta));
}

template <typename T> KPT_BOTH complex<T> exp(const complex<T> &z) {
    const T scale = ::exp(z.real());
    // exp of a real number is real, also where the scale is infinite and zero times it would be NaN.
    return z.imag() == T() ? complex<T>(scale, z.imag()) : complex<T>(scale * ::cos(z.imag()), scale * ::sin(z.imag()));
}
template <typename T> KPT_BOTH complex<T> log(const complex<T> &z) { return complex<T>(::log(abs(z)), arg(z)); }
template <typename T> KPT_BOTH complex<T> log10(const complex<T> &z) {
    return log(z) / T(2.302585092994045684017991454684364208L);
}

template <typename T> KPT_BOTH complex<T> sqrt(const complex<T> &z) {
    const T x = z.real(), y = z.imag();
    if (x == T() && y == T()) return complex<T>(T(), y);
    // Half of each, so that |x| + |z| stays finite for the largest numbers.
    const T root = ::sqrt(T(2)) * ::sqrt(::fabs(x) / T(4) + ::hypot(x / T(4), y / T(4)));
    return x >= T() ? complex<T>(root, y / (T(2) * root)) : complex<T>(::fabs(y) / (T(2) * root), ::copysign(root, y));
}

template <typename T> KPT_BOTH complex<T> pow(const complex<T> &x, const complex<T> &y) {
    return x == complex<T>() ? complex<T>(y == complex<T>() ? T(1) : T()) : exp(y * log(x));
}
template <typename T> KPT_BOTH complex<T> pow(const complex<T> &x, const T &y) { return pow(x, complex<T>(y)); }
template <typename T> KPT_BOTH complex<T> pow(const T &x, const complex<T> &y) { return pow(complex<T>(x), y); }

template <typename T> KPT_BOTH complex<T> sinh(const complex<T> &z) {
    return complex<T>(::sinh(z.real()) * ::cos(z.imag()), ::cosh(z.real()) * ::sin(z.imag()));
}
template <typename T> KPT_BOTH complex<T> cosh(const complex<T> &z) {
    return complex<T>(::cosh(z.real()) * ::cos(z.imag()), ::sinh(z.real()) * ::sin(z.imag()));
}
template <typename T> KPT_BOTH complex<T> tanh(const complex<T> &z) {
    // Past this the result is 1 to every digit, and cosh of twice the number overflows.
    if (::fabs(z.real()) > T(20)) return complex<T>(::copysign(T(1), z.real()), ::copysign(T(), z.imag()));
    const T scale = ::cosh(T(2) * z.real()) + ::cos(T(2) * z.imag());
    return complex<T>(::sinh(T(2) * z.real()) / scale, ::sin(T(2) * z.imag()) / scale);
}
namespace kpt {
template <typename T> KPT_BOTH complex<T> times_i(const complex<T> &z) { return complex<T>(-z.imag(), z.real()); }
template <typename T> KPT_BOTH complex<T> over_i(const complex<T> &z) { return complex<T>(z.imag(), -z.real()); }
} // namespace kpt
template <typename T> KPT_BOTH complex<T> sin(const complex<T> &z) { return kpt::over_i(sinh(kpt::times_i(z))); }
template <typename T> KPT_BOTH complex<T> cos(const complex<T> &z) { return cosh(kpt::times_i(z)); }
template <typename T> KPT_BOTH complex<T> tan(const complex<T> &z) { return kpt::over_i(tanh(kpt::times_i(z))); }

// Kahan's forms: each part from products that do not cancel.
template <typename T> KPT_BOTH complex<T> asinh(const complex<T> &z) {
    const complex<T> a = sqrt(complex<T>(T(1) - z.imag(), z.real()));  // sqrt(1 + iz)
    const complex<T> b = sqrt(complex<T>(T(1) + z.imag(), -z.real())); // sqrt(1 - iz)
    return complex<T>(::asinh(a.real() * b.imag() * T(-1) + a.imag() * b.real()),
                      ::atan2(z.imag(), a.real() * b.real() - a.imag() * b.imag()));
}
template <typename T> KPT_BOTH complex<T> acos(const complex<T> &z) {
    const complex<T> a = sqrt(complex<T>(T(1) - z.real(), -z.imag())), b = sqrt(complex<T>(T(1) + z.real(), z.imag()));
    return complex<T>(T(2) * ::atan2(a.real(), b.real()), ::asinh(b.real() * a.imag() - b.imag() * a.real()));
}
template <typename T> KPT_BOTH complex<T> acosh(const complex<T> &z) {
    const complex<T> a = sqrt(complex<T>(z.real() - T(1), z.imag())), b = sqrt(complex<T>(z.real() + T(1), z.imag()));
    return complex<T>(::asinh(a.real() * b.real() + a.imag() * b.imag()), T(2) * ::atan2(a.imag(), b.real()));
}
template <typename T> KPT_BOTH complex<T> atanh(const complex<T> &z) {
    const T x = z.real(), y = z.imag(), square = y * y;
    const T re = ::log1p(T(4) * x / ((T(1) - x) * (T(1) - x) + square)) / T(4);
    return complex<T>(re, ::atan2(T(2) * y, (T(1) - x) * (T(1) + x) - square) / T(2));
}
template <typename T> KPT_BOTH complex<T> asin(const complex<T> &z) { return kpt::over_i(asinh(kpt::times_i(z))); }
template <typename T> KPT_BOTH complex<T> atan(const complex<T> &z) { return kpt::over_i(atanh(kpt::times_i(z))); }

} // namespace thrust

#undef KPT_BOTH
