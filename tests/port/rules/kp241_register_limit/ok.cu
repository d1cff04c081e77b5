// __maxnreg__(64) stood here
__global__ void scale(float *p) { p[threadIdx.x] *= 2.0f; }
const char *attribute = "__maxnreg__(64)";
