// innocent: only in a string and a comment
const char* help = "use __shfl_sync(0xffffffff, v, 0) and warpSize";
// __ballot_sync(0xffffffff, p) is not used: atomicCAS(&l, 0, 1) neither
__global__ void nothing(int* out) { out[threadIdx.x] = 32; }
