// How an exported BLAS name calls its routine: handle, stream order, batches, and the library's own status codes.
#pragma once

#include "../common/stream.h"
#include "handle.h"
#include "level1.h"
#include "level2.h"
#include "level3.h"

namespace kpt {

template <class T> T *item(T *const *pointers, Int index) { return pointers ? pointers[index] : nullptr; }
template <class T> T *item(T *data, Int index, Int stride) { return data ? data + index * stride : nullptr; }

template <class Routine> int run(void *handle, Int count, Routine routine) {
    if (!handle) return library_status(InvalidHandle);
    if (count < 0) return library_status(InvalidSize);
    if (wait_for(static_cast<BlasHandle *>(handle)->stream) != 0) return library_status(InternalError);
    for (Int index = 0; index < count; ++index)
        if (const Status status = routine(index)) return library_status(status);
    return library_status(Ok);
}

} // namespace kpt
