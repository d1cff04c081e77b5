// Vector with vector.
#pragma once

#include "blas.h"

namespace kpt {

template <class T> Status axpy(Int n, const T *alpha, const T *x, Int incx, T *y, Int incy) {
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(alpha, InvalidPointer);
    const auto a = static_cast<Sum<T>>(*alpha);
    KPT_CHECK(a != Sum<T>(0), Ok);
    KPT_CHECK(x && y, InvalidPointer);
    x = first(x, n, incx), y = first(y, n, incy);
    if (incx == 1 && incy == 1)
        for (Int i = 0; i < n; ++i) y[i] = T(a * static_cast<Sum<T>>(x[i]) + static_cast<Sum<T>>(y[i]));
    else
        for (Int i = 0; i < n; ++i)
            y[i * incy] = T(a * static_cast<Sum<T>>(x[i * incx]) + static_cast<Sum<T>>(y[i * incy]));
    return Ok;
}

template <class T> Status copy(Int n, const T *x, Int incx, T *y, Int incy) {
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(x && y, InvalidPointer);
    x = first(x, n, incx), y = first(y, n, incy);
    for (Int i = 0; i < n; ++i) y[i * incy] = x[i * incx];
    return Ok;
}

template <class T> Status swap(Int n, T *x, Int incx, T *y, Int incy) {
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(x && y, InvalidPointer);
    x = first(x, n, incx), y = first(y, n, incy);
    for (Int i = 0; i < n; ++i) std::swap(x[i * incx], y[i * incy]);
    return Ok;
}

template <class T, class A> Status scal(Int n, const A *alpha, T *x, Int incx) {
    KPT_CHECK(n > 0 && incx > 0, Ok);
    KPT_CHECK(alpha && x, InvalidPointer);
    const auto a = static_cast<Sum<A>>(*alpha);
    for (Int i = 0; i < n; ++i) x[i * incx] = T(a * static_cast<Sum<T>>(x[i * incx]));
    return Ok;
}

template <bool Conjugate, class T> Status dot_of(Int n, const T *x, Int incx, const T *y, Int incy, T *result) {
    KPT_CHECK(result, InvalidPointer);
    if (n <= 0) {
        *result = T(0);
        return Ok;
    }
    KPT_CHECK(x && y, InvalidPointer);
    x = first(x, n, incx), y = first(y, n, incy);
    // Partial sums of blocks: as a GPU adds up, and far more accurate in single precision than one running sum.
    Sum<T> sum(0);
    for (Int start = 0; start < n; start += 256) {
        Sum<T> part(0);
        for (Int i = start, end = std::min(n, start + 256); i < end; ++i) {
            const Sum<T> left(x[i * incx]), right(y[i * incy]);
            part += (Conjugate ? conjugate(left) : left) * right;
        }
        sum += part;
    }
    *result = T(sum);
    return Ok;
}

template <class T> Status dot(Int n, const T *x, Int incx, const T *y, Int incy, T *result) {
    return dot_of<false>(n, x, incx, y, incy, result);
}
template <class T> Status dotu(Int n, const T *x, Int incx, const T *y, Int incy, T *result) {
    return dot_of<false>(n, x, incx, y, incy, result);
}
template <class T> Status dotc(Int n, const T *x, Int incx, const T *y, Int incy, T *result) {
    return dot_of<true>(n, x, incx, y, incy, result);
}

template <class T> Status nrm2(Int n, const T *x, Int incx, Real<T> *result) {
    KPT_CHECK(result, InvalidPointer);
    if (n <= 0 || incx <= 0) {
        *result = 0;
        return Ok;
    }
    KPT_CHECK(x, InvalidPointer);
    // Scaled so that squares neither overflow nor vanish.
    long double sum = 0;
    for (Int i = 0; i < n; ++i)
        if constexpr (is_complex<T>)
            sum += static_cast<long double>(x[i * incx].real()) * x[i * incx].real() +
                   static_cast<long double>(x[i * incx].imag()) * x[i * incx].imag();
        else
            sum += static_cast<long double>(x[i * incx]) * x[i * incx];
    *result = static_cast<Real<T>>(std::sqrt(sum));
    return Ok;
}

template <class T> Status asum(Int n, const T *x, Int incx, Real<T> *result) {
    KPT_CHECK(result, InvalidPointer);
    double sum = 0;
    if (n > 0 && incx > 0) {
        KPT_CHECK(x, InvalidPointer);
        for (Int i = 0; i < n; ++i) sum += one_norm(x[i * incx]);
    }
    *result = static_cast<Real<T>>(sum);
    return Ok;
}

// The one-based place of the first element that is further than all before it; 0 for an empty vector.
template <class T, class Index, class Further>
Status place_of(Int n, const T *x, Int incx, Index *result, Further further) {
    KPT_CHECK(result, InvalidPointer);
    *result = 0;
    KPT_CHECK(n > 0 && incx > 0, Ok);
    KPT_CHECK(x, InvalidPointer);
    Int best = 0;
    for (Int i = 1; i < n; ++i)
        if (further(one_norm(x[i * incx]), one_norm(x[best * incx]))) best = i;
    *result = static_cast<Index>(best + 1);
    return Ok;
}

template <class T, class Index> Status amax(Int n, const T *x, Int incx, Index *result) {
    return place_of(n, x, incx, result, [](auto a, auto b) { return a > b; });
}
template <class T, class Index> Status amin(Int n, const T *x, Int incx, Index *result) {
    return place_of(n, x, incx, result, [](auto a, auto b) { return a < b; });
}

template <class T, class S> Status rot(Int n, T *x, Int incx, T *y, Int incy, const Real<T> *c, const S *s) {
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(x && y && c && s, InvalidPointer);
    x = first(x, n, incx), y = first(y, n, incy);
    const Real<T> cosine = *c;
    const S sine = *s;
    for (Int i = 0; i < n; ++i) {
        const T left = x[i * incx], right = y[i * incy];
        x[i * incx] = cosine * left + sine * right;
        y[i * incy] = cosine * right - conjugate(sine) * left;
    }
    return Ok;
}

template <class T> Status rotg(T *a, T *b, Real<T> *c, T *s) {
    KPT_CHECK(a && b && c && s, InvalidPointer);
    using R = Real<T>;
    const R size_a = std::abs(*a), size_b = std::abs(*b);
    if constexpr (is_complex<T>) {
        if (size_a == 0) {
            *c = 0, *s = T(1), *a = *b;
            return Ok;
        }
        const R r = std::hypot(size_a, size_b);
        const T direction = *a / size_a;
        *c = size_a / r;
        *s = direction * std::conj(*b) / r;
        *a = direction * r;
    } else {
        if (size_a + size_b == 0) {
            *c = 1, *s = 0, *a = 0, *b = 0;
            return Ok;
        }
        const R r = std::copysign(std::hypot(*a, *b), size_a > size_b ? *a : *b);
        *c = *a / r, *s = *b / r;
        *b = size_a > size_b ? *s : *c != 0 ? 1 / *c : R(1);
        *a = r;
    }
    return Ok;
}

template <class T> Status rotm(Int n, T *x, Int incx, T *y, Int incy, const T *param) {
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(x && y && param, InvalidPointer);
    const T flag = param[0];
    KPT_CHECK(flag != T(-2), Ok);
    const T h11 = flag == 1 || flag == -1 ? param[1] : T(1), h21 = flag == 1 ? T(-1) : param[2];
    const T h12 = flag == 1 ? T(1) : param[3], h22 = flag == 0 ? T(1) : param[4];
    x = first(x, n, incx), y = first(y, n, incy);
    for (Int i = 0; i < n; ++i) {
        const T left = x[i * incx], right = y[i * incy];
        x[i * incx] = h11 * left + h12 * right;
        y[i * incy] = h21 * left + h22 * right;
    }
    return Ok;
}

template <class T> Status rotmg(T *d1, T *d2, T *x1, const T *y1, T *param) {
    KPT_CHECK(d1 && d2 && x1 && y1 && param, InvalidPointer);
    const T gamma = 4096, gamma_squared = gamma * gamma;
    T h11 = 0, h12 = 0, h21 = 0, h22 = 0, flag = -1;
    const T p2 = *d2 * *y1;
    if (*d1 < 0) {
        *d1 = *d2 = *x1 = 0;
    } else if (p2 == 0) {
        param[0] = -2;
        return Ok;
    } else {
        const T p1 = *d1 * *x1, q2 = p2 * *y1, q1 = p1 * *x1;
        if (std::fabs(q1) > std::fabs(q2)) {
            h11 = h22 = 1, h21 = -*y1 / *x1, h12 = p2 / p1;
            const T u = 1 - h12 * h21;
            if (u > 0) flag = 0, *d1 /= u, *d2 /= u, *x1 *= u;
        } else if (q2 < 0) {
            *d1 = *d2 = *x1 = 0, h11 = h12 = h21 = h22 = 0;
        } else {
            flag = 1, h12 = 1, h21 = -1, h11 = p1 / p2, h22 = *x1 / *y1;
            const T u = 1 + h11 * h22, old = *d2 / u;
            *d2 = *d1 / u, *d1 = old, *x1 = *y1 * u;
        }
        for (T *d : {d1, d2}) {
            T &left = d == d1 ? h11 : h21, &right = d == d1 ? h12 : h22;
            while (*d != 0 && (std::fabs(*d) <= 1 / gamma_squared || std::fabs(*d) >= gamma_squared)) {
                const bool small = std::fabs(*d) <= 1 / gamma_squared;
                flag = -1;
                *d = small ? *d * gamma_squared : *d / gamma_squared;
                const T scale = small ? 1 / gamma : gamma;
                if (d == d1) *x1 *= scale;
                left *= scale, right *= scale;
            }
        }
    }
    param[0] = flag;
    if (flag == -1)
        param[1] = h11, param[2] = h21, param[3] = h12, param[4] = h22;
    else if (flag == 0)
        param[2] = h21, param[3] = h12;
    else
        param[1] = h11, param[4] = h22;
    return Ok;
}

} // namespace kpt
