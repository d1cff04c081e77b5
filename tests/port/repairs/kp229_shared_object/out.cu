#include <cuda_runtime.h>

struct Corner {
    float x = 0.f, y = 0.f;
};

template <typename T, int N>
struct Row {
    __host__ __device__ Row() : used(0) {}
    T values[N];
    int used;
};

template <typename T, int Width>
__global__ void sums(const T* in, T* out, int n) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    typedef Corner kpt_corners_type[4][2]; __shared__ alignas(kpt_corners_type) unsigned char kpt_corners[sizeof(kpt_corners_type)]; kpt_corners_type& corners = *reinterpret_cast<kpt_corners_type*>(kpt_corners);
    typedef Row<T, Width> kpt_row_type; __shared__ alignas(kpt_row_type) unsigned char kpt_row[sizeof(kpt_row_type)]; kpt_row_type& row = *reinterpret_cast<kpt_row_type*>(kpt_row);
#else
    __shared__ Corner corners[4][2];
    __shared__ Row<T, Width> row;
#endif
    __shared__ T plain[Width];
    if (threadIdx.x == 0) {
        row.used = n;
        corners[1][1] = Corner{1.f, 2.f};
    }
    plain[threadIdx.x] = in[threadIdx.x];
    row.values[threadIdx.x] = plain[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = row.values[threadIdx.x] + T(row.used) + T(corners[1][1].y);
}

void run(const float* in, float* out, cudaStream_t stream) {
    sums<float, 64><<<1, 64, 0, stream>>>(in, out, 64);
}
