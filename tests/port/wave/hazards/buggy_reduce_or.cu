// buggy: KP318
__device__ unsigned joined(unsigned v) { return __reduce_or_sync(0xffffffffu, v); }
