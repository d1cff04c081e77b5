// Arrays whose element type is known only when called, by hipDataType.
#pragma once

#include <vector>

#include "numbers.h"

namespace kpt {

enum DataType : int {
    R32F = 0,
    R64F = 1,
    R16F = 2,
    R8I = 3,
    C32F = 4,
    C64F = 5,
    C16F = 6,
    R8U = 8,
    R32I = 10,
    R32U = 12,
    R16BF = 14,
    C16BF = 15,
    R16I = 20,
    R16U = 22,
    R64I = 24,
    R64U = 26,
    R8F = 28,
    R8BF = 29,
    R8FFnuz = 1000,
    R8BFFnuz = 1001,
};

// The numbers that rocBLAS and rocSPARSE have for these types; -1 for those that are not here.
inline int from_rocm_type(int type) {
    switch (type) {
    case 150: return R16F;
    case 151: return R32F;
    case 152: return R64F;
    case 154: return C32F;
    case 155: return C64F;
    case 160: return R8I;
    case 161: return R8U;
    case 162: return R32I;
    case 163: return R32U;
    case 168: return R16BF;
    default: return -1;
    }
}

inline bool complex_type(int type) { return type == C32F || type == C64F || type == C16F || type == C16BF; }

// Calls visit(pointer to a value of the C++ type); false when the type is not known.
template <class Visit> bool with_type(int type, Visit visit) {
    switch (type) {
    case R32F: visit(static_cast<float *>(nullptr)); return true;
    case R64F: visit(static_cast<double *>(nullptr)); return true;
    case R16F: visit(static_cast<Half *>(nullptr)); return true;
    case R16BF: visit(static_cast<Bfloat16 *>(nullptr)); return true;
    case C32F: visit(static_cast<Complex *>(nullptr)); return true;
    case C64F: visit(static_cast<DoubleComplex *>(nullptr)); return true;
    case R8I: visit(static_cast<int8_t *>(nullptr)); return true;
    case R8U: visit(static_cast<uint8_t *>(nullptr)); return true;
    case R16I: visit(static_cast<int16_t *>(nullptr)); return true;
    case R16U: visit(static_cast<uint16_t *>(nullptr)); return true;
    case R32I: visit(static_cast<int32_t *>(nullptr)); return true;
    case R32U: visit(static_cast<uint32_t *>(nullptr)); return true;
    case R64I: visit(static_cast<int64_t *>(nullptr)); return true;
    case R64U: visit(static_cast<uint64_t *>(nullptr)); return true;
    case R8F: visit(static_cast<Fp8 *>(nullptr)); return true;
    case R8BF: visit(static_cast<Bf8 *>(nullptr)); return true;
    case R8FFnuz: visit(static_cast<Fp8Fnuz *>(nullptr)); return true;
    case R8BFFnuz: visit(static_cast<Bf8Fnuz *>(nullptr)); return true;
    default: return false;
    }
}

inline Int size_of_type(int type) {
    Int bytes = 0;
    with_type(type, [&](auto *element) { bytes = sizeof(*element); });
    return bytes;
}

template <class To, class From> To convert(From value) {
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (is_complex<To>) {
        if constexpr (is_complex<From>)
            return To(static_cast<Real<To>>(value.real()), static_cast<Real<To>>(value.imag()));
        else
            return To(convert<Real<To>>(value));
    } else if constexpr (is_complex<From>) {
        return convert<To>(value.real());
    } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
        // GPU conversions round to nearest and saturate.
        const double wide = std::nearbyint(static_cast<double>(static_cast<Real<From>>(value)));
        const double low = static_cast<double>(std::numeric_limits<To>::min());
        const double high = static_cast<double>(std::numeric_limits<To>::max());
        return wide <= low    ? std::numeric_limits<To>::min()
               : wide >= high ? std::numeric_limits<To>::max()
                              : static_cast<To>(wide);
    } else if constexpr (std::is_integral_v<To> || std::is_floating_point_v<To>) {
        if constexpr (std::is_arithmetic_v<From>)
            return static_cast<To>(value);
        else
            return static_cast<To>(static_cast<float>(value));
    } else {
        return To(static_cast<float>(value)); // the small formats
    }
}

template <class W> W load(int type, const void *data, Int index) {
    W value(0);
    with_type(type, [&](auto *kind) {
        value = convert<W>(static_cast<const std::remove_pointer_t<decltype(kind)> *>(data)[index]);
    });
    return value;
}

template <class W> void store(int type, void *data, Int index, W value) {
    with_type(type, [&](auto *kind) {
        using T = std::remove_pointer_t<decltype(kind)>;
        static_cast<T *>(data)[index] = convert<T>(value);
    });
}

// Element (i, j) of the result is data[i * row_step + j * column_step]; column-major with `rows` rows.
template <class W>
std::vector<W> load_matrix(int type, const void *data, Int rows, Int columns, Int row_step, Int column_step) {
    std::vector<W> matrix(static_cast<size_t>(rows * columns));
    with_type(type, [&](auto *kind) {
        auto *from = static_cast<const std::remove_pointer_t<decltype(kind)> *>(data);
        for (Int j = 0; j < columns; ++j)
            for (Int i = 0; i < rows; ++i) matrix[i + j * rows] = convert<W>(from[i * row_step + j * column_step]);
    });
    return matrix;
}

template <class W>
void store_matrix(int type, void *data, Int rows, Int columns, Int row_step, Int column_step, const W *matrix) {
    with_type(type, [&](auto *kind) {
        using T = std::remove_pointer_t<decltype(kind)>;
        auto *to = static_cast<T *>(data);
        for (Int j = 0; j < columns; ++j)
            for (Int i = 0; i < rows; ++i) to[i * row_step + j * column_step] = convert<T>(matrix[i + j * rows]);
    });
}

inline void *offset(void *data, int type, Int elements) {
    return data ? static_cast<char *>(data) + elements * size_of_type(type) : nullptr;
}
inline const void *offset(const void *data, int type, Int elements) {
    return data ? static_cast<const char *>(data) + elements * size_of_type(type) : nullptr;
}

} // namespace kpt
