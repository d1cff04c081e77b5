// rocBLAS: handles, settings, copies between host and device.
#include <cstdlib>
#include <cstring>

#include "run.h"

namespace {

using namespace kpt;

BlasHandle *handle_of(void *handle) { return static_cast<BlasHandle *>(handle); }

template <class Value> int set(void *handle, Value BlasHandle::*field, Value value) {
    if (!handle) return InvalidHandle;
    handle_of(handle)->*field = value;
    return Ok;
}

template <class Value> int get(void *handle, Value BlasHandle::*field, Value *value) {
    if (!handle) return InvalidHandle;
    if (!value) return InvalidPointer;
    *value = handle_of(handle)->*field;
    return Ok;
}

int copy_matrix(Int rows, Int columns, Int bytes, const void *a, Int lda, void *b, Int ldb, void *stream) {
    if (rows == 0 || columns == 0) return Ok;
    if (rows < 0 || columns < 0 || bytes <= 0 || lda < rows || ldb < rows) return InvalidSize;
    if (!a || !b) return InvalidPointer;
    if (wait_for(stream)) return InternalError;
    for (Int j = 0; j < columns; ++j)
        std::memcpy(static_cast<char *>(b) + j * ldb * bytes, static_cast<const char *>(a) + j * lda * bytes,
                    static_cast<size_t>(rows * bytes));
    return Ok;
}

// A vector is a matrix of one row whose leading dimension is the step.
int copy_vector(Int n, Int bytes, const void *x, Int incx, void *y, Int incy, void *stream) {
    if (n < 0 || incx <= 0 || incy <= 0) return InvalidSize;
    return copy_matrix(1, n, bytes, x, incx, y, incy, stream);
}

constexpr char version[] = "5.2.0";

} // namespace

extern "C" {

int rocblas_create_handle(void **handle) {
    if (!handle) return InvalidHandle;
    *handle = new BlasHandle;
    return Ok;
}

int rocblas_destroy_handle(void *handle) {
    if (!handle) return InvalidHandle;
    delete handle_of(handle);
    return Ok;
}

int rocblas_set_stream(void *h, void *stream) { return set(h, &BlasHandle::stream, stream); }
int rocblas_get_stream(void *h, void **stream) { return get(h, &BlasHandle::stream, stream); }
int rocblas_set_pointer_mode(void *h, int mode) { return set(h, &BlasHandle::pointer_mode, mode); }
int rocblas_get_pointer_mode(void *h, int *mode) { return get(h, &BlasHandle::pointer_mode, mode); }
int rocblas_set_atomics_mode(void *h, int mode) { return set(h, &BlasHandle::atomics_mode, mode); }
int rocblas_get_atomics_mode(void *h, int *mode) { return get(h, &BlasHandle::atomics_mode, mode); }
int rocblas_set_math_mode(void *h, int mode) { return set(h, &BlasHandle::math_mode, mode); }
int rocblas_get_math_mode(void *h, int *mode) { return get(h, &BlasHandle::math_mode, mode); }
int rocblas_set_performance_metric(void *h, int metric) { return set(h, &BlasHandle::performance_metric, metric); }
int rocblas_get_performance_metric(void *h, int *metric) { return get(h, &BlasHandle::performance_metric, metric); }
int rocblas_set_workspace(void *h, void *address, size_t bytes) {
    const int status = set(h, &BlasHandle::workspace, address);
    return status ? status : set(h, &BlasHandle::workspace_bytes, bytes);
}
int rocblas_set_device_memory_size(void *h, size_t bytes) { return set(h, &BlasHandle::workspace_bytes, bytes); }
int rocblas_get_device_memory_size(void *h, size_t *bytes) { return get(h, &BlasHandle::workspace_bytes, bytes); }
bool rocblas_is_managing_device_memory(void *) { return true; }
bool rocblas_is_user_managing_device_memory(void *h) { return h && handle_of(h)->workspace; }
bool rocblas_is_device_memory_size_query(void *) { return false; }
void rocblas_initialize() {}
void rocblas_abort() { std::abort(); }
int rocblas_pointer_to_mode(void *) { return 0; }

int rocblas_get_version_string(char *buffer, size_t bytes) {
    if (!buffer) return InvalidPointer;
    if (bytes < sizeof(version)) return InvalidSize;
    std::memcpy(buffer, version, sizeof(version));
    return Ok;
}

int rocblas_get_version_string_size(size_t *bytes) {
    if (!bytes) return InvalidPointer;
    *bytes = sizeof(version);
    return Ok;
}

const char *rocblas_status_to_string(int status) {
    static const char *const names[] = {
        "rocblas_status_success",         "rocblas_status_invalid_handle",      "rocblas_status_not_implemented",
        "rocblas_status_invalid_pointer", "rocblas_status_invalid_size",        "rocblas_status_memory_error",
        "rocblas_status_internal_error",  "rocblas_status_perf_degraded",       "rocblas_status_size_query_mismatch",
        "rocblas_status_size_increased",  "rocblas_status_size_unchanged",      "rocblas_status_invalid_value",
        "rocblas_status_continue",        "rocblas_status_check_numerics_fail", "rocblas_status_excluded_from_build",
        "rocblas_status_arch_mismatch"};
    return status >= 0 && status < 16 ? names[status] : "<undefined rocblas_status value>";
}

#define KPT_COPIES(DIRECTION, SUFFIX, SIZE)                                                                            \
    int rocblas_##DIRECTION##_vector##SUFFIX(SIZE n, SIZE bytes, const void *x, SIZE incx, void *y, SIZE incy) {       \
        return copy_vector(n, bytes, x, incx, y, incy, nullptr);                                                       \
    }                                                                                                                  \
    int rocblas_##DIRECTION##_vector_async##SUFFIX(SIZE n, SIZE bytes, const void *x, SIZE incx, void *y, SIZE incy,   \
                                                   void *stream) {                                                     \
        return copy_vector(n, bytes, x, incx, y, incy, stream);                                                        \
    }                                                                                                                  \
    int rocblas_##DIRECTION##_matrix##SUFFIX(SIZE m, SIZE n, SIZE bytes, const void *a, SIZE lda, void *b, SIZE ldb) { \
        return copy_matrix(m, n, bytes, a, lda, b, ldb, nullptr);                                                      \
    }                                                                                                                  \
    int rocblas_##DIRECTION##_matrix_async##SUFFIX(SIZE m, SIZE n, SIZE bytes, const void *a, SIZE lda, void *b,       \
                                                   SIZE ldb, void *stream) {                                           \
        return copy_matrix(m, n, bytes, a, lda, b, ldb, stream);                                                       \
    }
KPT_COPIES(set, , int)
KPT_COPIES(get, , int)
KPT_COPIES(set, _64, int64_t)
KPT_COPIES(get, _64, int64_t)
}
