// How an exported hipSPARSE name runs its work: handle, null checks, stream order.
#pragma once

#include <initializer_list>

#include "../common/stream.h"
#include "matrix.h"

namespace kpt {

template <class Work> int run_sparse(void *handle, std::initializer_list<const void *> needed, Work work) {
    if (!handle) return NotInitialized;
    for (const void *pointer : needed)
        if (!pointer) return InvalidSparseValue;
    if (wait_for(static_cast<SparseHandle *>(handle)->stream)) return SparseInternal;
    return work();
}

} // namespace kpt
