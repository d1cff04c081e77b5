// buggy: KP302
__device__ int first(bool p) { return __ffs(__ballot_sync(~0, p)) - 1; }
