// What all BLAS routines share. Every routine takes 64-bit sizes and returns rocBLAS's status; each one checks its
// own arguments, so that the exported names only convert types.
#pragma once

#include <algorithm>
#include <vector>

#include "../common/numbers.h"

namespace kpt {

enum Status : int {
    Ok = 0,
    InvalidHandle = 1,
    NotImplemented = 2,
    InvalidPointer = 3,
    InvalidSize = 4,
    MemoryError = 5,
    InternalError = 6,
    InvalidValue = 11,
    InvalidEnum = 100, // hipBLAS tells it apart from InvalidValue, rocBLAS does not
};

enum Op : int { None = 111, Transpose = 112, ConjugateTranspose = 113 };
enum Fill : int { Upper = 121, Lower = 122 };
enum Diagonal : int { NonUnit = 131, Unit = 132 };
enum Side : int { Left = 141, Right = 142 };

inline bool valid_op(int op) { return op >= None && op <= ConjugateTranspose; }
inline bool valid_fill(int fill) { return fill == Upper || fill == Lower; }
inline bool valid_diagonal(int diagonal) { return diagonal == NonUnit || diagonal == Unit; }
inline bool valid_side(int side) { return side == Left || side == Right; }

// BLAS starts at the far end of a vector with a negative step.
template <class T> T *first(T *x, Int n, Int step) { return step < 0 ? x - (n - 1) * step : x; }

template <class T> T scalar(const T *value) { return *value; }

// Sums of 16-bit numbers are kept in float.
template <class T> struct SumOf {
    using type = T;
};
template <> struct SumOf<Half> {
    using type = float;
};
template <> struct SumOf<Bfloat16> {
    using type = float;
};
template <class T> using Sum = typename SumOf<T>::type;

#define KPT_CHECK(condition, status)                                                                                   \
    do {                                                                                                               \
        if (!(condition)) return status;                                                                               \
    } while (0)

} // namespace kpt
