// hipBLAS: handles, settings, copies between host and device.
#include <cstring>

#include "run.h"

namespace {

using namespace kpt;

enum : int { Success = 0, NotInitialized = 1, InvalidArgument = 3, HandleIsNull = 9, BadEnum = 10 };

BlasHandle *handle_of(void *handle) { return static_cast<BlasHandle *>(handle); }

int copy_vector(Int n, Int bytes, const void *x, Int incx, void *y, Int incy) {
    if (n == 0) return Success;
    if (n < 0 || bytes <= 0 || incx <= 0 || incy <= 0 || !x || !y) return InvalidArgument;
    auto *from = static_cast<const char *>(x);
    auto *to = static_cast<char *>(y);
    for (Int i = 0; i < n; ++i) std::memcpy(to + i * incy * bytes, from + i * incx * bytes, static_cast<size_t>(bytes));
    return Success;
}

int copy_matrix(Int rows, Int columns, Int bytes, const void *a, Int lda, void *b, Int ldb) {
    if (rows == 0 || columns == 0) return Success;
    if (rows < 0 || columns < 0 || bytes <= 0 || lda < rows || ldb < rows || !a || !b) return InvalidArgument;
    for (Int j = 0; j < columns; ++j)
        std::memcpy(static_cast<char *>(b) + j * ldb * bytes, static_cast<const char *>(a) + j * lda * bytes,
                    static_cast<size_t>(rows * bytes));
    return Success;
}

template <class Copy> int after(void *stream, Copy copy) { return wait_for(stream) ? 6 : copy(); }

} // namespace

extern "C" {

int hipblasCreate(void **handle) {
    if (!handle) return HandleIsNull;
    *handle = new BlasHandle;
    return Success;
}

int hipblasDestroy(void *handle) {
    if (!handle) return NotInitialized;
    delete handle_of(handle);
    return Success;
}

int hipblasSetStream(void *handle, void *stream) {
    if (!handle) return NotInitialized;
    handle_of(handle)->stream = stream;
    return Success;
}

int hipblasGetStream(void *handle, void **stream) {
    if (!handle) return NotInitialized;
    if (!stream) return InvalidArgument;
    *stream = handle_of(handle)->stream;
    return Success;
}

int hipblasSetPointerMode(void *handle, int mode) {
    if (!handle) return NotInitialized;
    if (mode != 0 && mode != 1) return BadEnum;
    handle_of(handle)->pointer_mode = mode;
    return Success;
}

int hipblasGetPointerMode(void *handle, int *mode) {
    if (!handle) return NotInitialized;
    if (!mode) return InvalidArgument;
    *mode = handle_of(handle)->pointer_mode;
    return Success;
}

int hipblasSetAtomicsMode(void *handle, int mode) {
    if (!handle) return NotInitialized;
    if (mode != 0 && mode != 1) return BadEnum;
    handle_of(handle)->atomics_mode = mode;
    return Success;
}

int hipblasGetAtomicsMode(void *handle, int *mode) {
    if (!handle) return NotInitialized;
    if (!mode) return InvalidArgument;
    *mode = handle_of(handle)->atomics_mode;
    return Success;
}

int hipblasSetMathMode(void *handle, int mode) {
    if (!handle) return NotInitialized;
    handle_of(handle)->math_mode = mode;
    return Success;
}

int hipblasGetMathMode(void *handle, int *mode) {
    if (!handle) return NotInitialized;
    if (!mode) return InvalidArgument;
    *mode = handle_of(handle)->math_mode;
    return Success;
}

int hipblasSetWorkspace(void *handle, void *workspace, size_t bytes) {
    if (!handle) return NotInitialized;
    handle_of(handle)->workspace = workspace;
    handle_of(handle)->workspace_bytes = bytes;
    return Success;
}

const char *hipblasStatusToString(int status) {
    static const char *const names[] = {
        "HIPBLAS_STATUS_SUCCESS",           "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED",
        "HIPBLAS_STATUS_INVALID_VALUE",     "HIPBLAS_STATUS_MAPPING_ERROR",   "HIPBLAS_STATUS_EXECUTION_FAILED",
        "HIPBLAS_STATUS_INTERNAL_ERROR",    "HIPBLAS_STATUS_NOT_SUPPORTED",   "HIPBLAS_STATUS_ARCH_MISMATCH",
        "HIPBLAS_STATUS_HANDLE_IS_NULLPTR", "HIPBLAS_STATUS_INVALID_ENUM",    "HIPBLAS_STATUS_UNKNOWN"};
    return status >= 0 && status < 12 ? names[status] : "<undefined hipblasStatus_t value>";
}

#define KPT_COPIES(SIZE)                                                                                               \
    int hipblasSetVector(SIZE n, SIZE bytes, const void *x, SIZE incx, void *y, SIZE incy) {                           \
        return after(nullptr, [&] { return copy_vector(n, bytes, x, incx, y, incy); });                                \
    }                                                                                                                  \
    int hipblasGetVector(SIZE n, SIZE bytes, const void *x, SIZE incx, void *y, SIZE incy) {                           \
        return after(nullptr, [&] { return copy_vector(n, bytes, x, incx, y, incy); });                                \
    }                                                                                                                  \
    int hipblasSetVectorAsync(SIZE n, SIZE bytes, const void *x, SIZE incx, void *y, SIZE incy, void *stream) {        \
        return after(stream, [&] { return copy_vector(n, bytes, x, incx, y, incy); });                                 \
    }                                                                                                                  \
    int hipblasGetVectorAsync(SIZE n, SIZE bytes, const void *x, SIZE incx, void *y, SIZE incy, void *stream) {        \
        return after(stream, [&] { return copy_vector(n, bytes, x, incx, y, incy); });                                 \
    }                                                                                                                  \
    int hipblasSetMatrix(SIZE m, SIZE n, SIZE bytes, const void *a, SIZE lda, void *b, SIZE ldb) {                     \
        return after(nullptr, [&] { return copy_matrix(m, n, bytes, a, lda, b, ldb); });                               \
    }                                                                                                                  \
    int hipblasGetMatrix(SIZE m, SIZE n, SIZE bytes, const void *a, SIZE lda, void *b, SIZE ldb) {                     \
        return after(nullptr, [&] { return copy_matrix(m, n, bytes, a, lda, b, ldb); });                               \
    }                                                                                                                  \
    int hipblasSetMatrixAsync(SIZE m, SIZE n, SIZE bytes, const void *a, SIZE lda, void *b, SIZE ldb, void *stream) {  \
        return after(stream, [&] { return copy_matrix(m, n, bytes, a, lda, b, ldb); });                                \
    }                                                                                                                  \
    int hipblasGetMatrixAsync(SIZE m, SIZE n, SIZE bytes, const void *a, SIZE lda, void *b, SIZE ldb, void *stream) {  \
        return after(stream, [&] { return copy_matrix(m, n, bytes, a, lda, b, ldb); });                                \
    }
KPT_COPIES(int)
}
