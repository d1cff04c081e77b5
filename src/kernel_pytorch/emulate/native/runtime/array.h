/* Arrays (hipMallocArray): rows here, each a multiple of 256 bytes; on hardware their texels lie in tiles. */
#ifndef KPT_ARRAY_H
#define KPT_ARRAY_H

#include "hip_abi.h"
#include "operation.h"

/* The API shows programs this layout. */
struct hipArray {
    void *data;
    hipChannelFormatDesc desc;
    unsigned type;
    int width;
    unsigned height, depth;
    int Format;
    unsigned NumChannels;
    bool isDrv;
    unsigned textureType;
    /* ours */
    uint64_t element, pitch, flags;
};

namespace kpt {

bool is_array(const hipArray *array);
hipError_t copy3d_operation(const hipMemcpy3DParms &parameters, Operation &out);
hipError_t driver_copy3d_operation(const HIP_MEMCPY3D &parameters, Operation &out);

} // namespace kpt
#endif
