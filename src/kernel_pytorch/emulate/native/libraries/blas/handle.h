// The handle of hipBLAS and rocBLAS, and the one thing they disagree about: status codes.
#pragma once

#include "blas.h"

namespace kpt {

// Pointer mode is kept only to be handed back: a scalar on the device has a host address too.
struct BlasHandle {
    void *stream = nullptr;
    int pointer_mode = 0;
    int atomics_mode = 1;
    int math_mode = 0;
    int performance_metric = 0;
    void *workspace = nullptr;
    size_t workspace_bytes = 32 << 20;
};

// KPT_HIPBLAS is set for the files of libhipblas.
inline int library_status(Status status) {
#ifdef KPT_HIPBLAS
    switch (status) {
    case Ok: return 0;
    case InvalidHandle: return 1;
    case NotImplemented: return 7;
    case InvalidPointer:
    case InvalidSize:
    case InvalidValue: return 3;
    case MemoryError: return 2;
    case InternalError: return 6;
    case InvalidEnum: return 10;
    }
    return 11;
#else
    return status == InvalidEnum ? int(InvalidValue) : int(status);
#endif
}

} // namespace kpt
