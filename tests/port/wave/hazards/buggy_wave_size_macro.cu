// buggy: KP301 KP305 KP310
#define WARP warpSize
__device__ float last_lane(float v) { return __shfl_sync(0xffffffff, v, WARP - 1); }
