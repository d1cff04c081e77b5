__global__ void __maxnreg__(64) scale(float *p) { p[threadIdx.x] *= 2.0f; }
