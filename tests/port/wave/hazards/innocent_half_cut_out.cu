// innocent: our own form
__device__ unsigned votes(bool p) { return (unsigned)(__ballot(p) >> (__lane_id() & 32)); }
__device__ int counted(bool p) { return __popc(votes(p)); }
