// Right programs: every one checks itself, and nothing may be reported whatever order threads run in.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

namespace cg = cooperative_groups;

static int wrong = 0;
#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            wrong++; \
        } \
    } while (0)

template <class T> struct Device {
    T *data;
    explicit Device(size_t count) { cudaMalloc(&data, count * sizeof(T)); cudaMemset(data, 0, count * sizeof(T)); }
    ~Device() { cudaFree(data); }
    std::vector<T> get(size_t count) {
        std::vector<T> out(count);
        cudaMemcpy(out.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost);
        return out;
    }
    void set(const std::vector<T> &from) { cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice); }
};

template <int N> __global__ void reduce(const float *x, float *out, int n) {
    __shared__ float s[N];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = N / 2; d >= 32; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        float v = s[threadIdx.x];
        for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}
static void reduction() {
    std::vector<float> ones(1000, 1.0f);
    Device<float> x(1000), out(1);
    x.set(ones);
    reduce<128><<<8, 128>>>(x.data, out.data, 1000);
    EXPECT(out.get(1)[0] == 1000.0f);
}

__global__ void all_shuffles(int *out) {
    int lane = threadIdx.x % 32, ok = 1;
    ok &= __shfl_sync(0xffffffffu, lane, 5) == 5;
    ok &= __shfl_sync(0xffffffffu, lane, 1, 8) == lane / 8 * 8 + 1;
    ok &= __shfl_up_sync(0xffffffffu, lane, 3) == (lane < 3 ? lane : lane - 3);
    ok &= __shfl_down_sync(0xffffffffu, lane, 4, 16) == (lane % 16 + 4 < 16 ? lane + 4 : lane);
    ok &= __shfl_xor_sync(0xffffffffu, (double)lane, 1) == (double)(lane ^ 1);
    ok &= __ballot_sync(0xffffffffu, lane & 1) == 0xaaaaaaaau;
    ok &= __any_sync(0xffffffffu, lane == 7) == 1 && __all_sync(0xffffffffu, lane < 31) == 0;
    ok &= __match_any_sync(0xffffffffu, lane / 16) == (lane < 16 ? 0xffffu : 0xffff0000u);
    ok &= __reduce_add_sync(0xffffffffu, 2u) == 64 && __reduce_max_sync(0xffffffffu, -lane) == 0;
    out[threadIdx.x] = ok;
}
static void shuffles() {
    Device<int> out(64);
    all_shuffles<<<1, 64>>>(out.data);
    for (int v : out.get(64)) EXPECT(v == 1);
}

__global__ void diverge(int *out) {
    int lane = threadIdx.x % 32, v;
    if (lane < 8) {
        v = __shfl_xor_sync(0xffu, lane, 1);
    } else if (lane < 24) {
        v = __popc(__ballot_sync(0x00ffff00u, lane % 4 == 0));
        __syncwarp(0x00ffff00u);
    } else {
        v = -1;
    }
    __syncwarp();
    out[threadIdx.x] = v;
}
static void divergent() {
    Device<int> out(32);
    diverge<<<1, 32>>>(out.data);
    auto v = out.get(32);
    EXPECT(v[0] == 1 && v[7] == 6 && v[8] == 4 && v[23] == 4 && v[31] == -1);
}

extern __shared__ float late[];
__global__ void reverse(float *x, int n) {
    extern __shared__ char raw[];
    float *s = reinterpret_cast<float *>(raw);
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = late[n - 1 - threadIdx.x];
}
static void dynamic_shared() {
    std::vector<float> x(100);
    for (int i = 0; i < 100; i++) x[i] = i;
    Device<float> d(100);
    d.set(x);
    reverse<<<1, 100, 100 * sizeof(float)>>>(d.data, 100);
    auto y = d.get(100);
    EXPECT(y[0] == 99 && y[99] == 0);
}

__global__ void tile_sum(int *out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int v = tile.thread_rank();
    for (int d = tile.size() / 2; d; d /= 2) v += tile.shfl_down(v, d);
    int same = cg::reduce(tile, (int)tile.thread_rank(), cg::plus<int>());
    if (tile.thread_rank() == 0) {
        assert(v == same);
        out[tile.meta_group_rank()] = v;
    }
}
__global__ void across_the_grid(int *x, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    x[i] = i;
    grid.sync();
    int v = x[(i + n / 2) % n];
    grid.sync();
    x[i] = v;
}
static void groups() {
    Device<int> out(8), x(256);
    tile_sum<<<1, 64>>>(out.data);
    for (int v : out.get(8)) EXPECT(v == 28);
    int n = 256;
    void *arguments[] = {&x.data, &n};
    EXPECT(cudaLaunchCooperativeKernel((void *)across_the_grid, dim3(4), dim3(64), arguments, 0, nullptr) == cudaSuccess);
    auto v = x.get(256);
    EXPECT(v[0] == 128 && v[255] == 127);
}

__global__ void count(const int *keys, unsigned *bins, float *sum, double *wide, unsigned long long *most, int n) {
    __shared__ unsigned local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&local[keys[i]], 1u);
        atomicAdd(sum, 0.5f);
        atomicAdd(wide, 0.25);
        atomicMax(most, (unsigned long long)i);
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
static void atomics() {
    std::vector<int> keys(1000);
    for (int i = 0; i < 1000; i++) keys[i] = i % 10;
    Device<int> k(1000);
    Device<unsigned> bins(16);
    Device<float> sum(1);
    Device<double> wide(1);
    Device<unsigned long long> most(1);
    k.set(keys);
    count<<<4, 256>>>(k.data, bins.data, sum.data, wide.data, most.data, 1000);
    EXPECT(bins.get(16)[9] == 100 && bins.get(16)[10] == 0);
    EXPECT(sum.get(1)[0] == 500.0f && wide.get(1)[0] == 250.0 && most.get(1)[0] == 999);
}

__device__ unsigned arrived;
__global__ void last_block(const int *x, int *parts, int *out) {
    __shared__ int s[64];
    __shared__ bool last;
    unsigned t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        parts[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int v = 0;
        for (unsigned i = t; i < gridDim.x; i += 64) v += parts[i];
        atomicAdd(out, v);
    }
}
static void fences() {
    Device<int> x(64 * 16), parts(16), out(1);
    x.set(std::vector<int>(64 * 16, 3));
    last_block<<<16, 64>>>(x.data, parts.data, out.data);
    EXPECT(out.get(1)[0] == 64 * 16 * 3);
}

__global__ void chain(const int *x, volatile int *flags, int *sums) {
    if (threadIdx.x != 0) return;
    int b = blockIdx.x, before = 0;
    if (b > 0) {
        while (flags[b - 1] == 0) {
        }
        __threadfence();
        before = sums[b - 1];
    }
    sums[b] = before + x[b];
    __threadfence();
    flags[b] = 1;
}
static void flags_between_blocks() {
    Device<int> x(32), flags(32), sums(32);
    x.set(std::vector<int>(32, 2));
    chain<<<32, 32>>>(x.data, flags.data, sums.data);
    EXPECT(sums.get(32)[31] == 64);
}

__global__ void spin_lock(int *lock, int *value) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *value += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
__global__ void guide_s_own_loop(float *at) {
    int *bits = (int *)at;
    int old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(__int_as_float(assumed) + 1.0f));
    } while (assumed != old);
}
static void compare_and_swap() {
    Device<float> sum(1);
    guide_s_own_loop<<<4, 64>>>(sum.data);
    EXPECT(sum.get(1)[0] == 256.0f);
}
__global__ void say_yes(const int *x, int *found, int n) {
    __shared__ bool here;
    here = false;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] == 3) here = true;
    __syncthreads();
    if (here) *found = 1;
}
static void same_value() {
    Device<int> x(256), found(1);
    x.set(std::vector<int>(256, 3));
    say_yes<<<4, 64>>>(x.data, found.data, 256);
    EXPECT(found.get(1)[0] == 1);
}
static void locks() {
    Device<int> lock(1), value(1);
    spin_lock<<<16, 32>>>(lock.data, value.data);
    EXPECT(value.get(1)[0] == 16);
}

__global__ void leave_early(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __syncthreads();
    out[i] = __popc(__ballot_sync(0xffffffffu, 1));
}
static void early_exit() {
    Device<int> out(50);
    leave_early<<<1, 64>>>(out.data, 50);
    auto v = out.get(50);
    EXPECT(v[0] == 32 && v[49] == 18);
}

__global__ void say() { printf("thread %d of block %d\n", threadIdx.x, blockIdx.x); }
static void printing() { say<<<2, 2>>>(); }

__global__ void bytes(unsigned char *out, short *pairs) {
    out[threadIdx.x] = (unsigned char)threadIdx.x;
    pairs[threadIdx.x] = (short)threadIdx.x;
}
static void neighbours() {
    Device<unsigned char> out(64);
    Device<short> pairs(64);
    bytes<<<1, 64>>>(out.data, pairs.data);
    EXPECT(out.get(64)[63] == 63 && pairs.get(64)[33] == 33);
}

__constant__ float factors[2];
__device__ float bias = 1.0f;
__global__ void scaled(const __half *x, float *out) {
    out[threadIdx.x] = __half2float(x[threadIdx.x]) * factors[0] + factors[1] + bias;
}
static void symbols_and_halves() {
    float values[2] = {2.0f, 0.5f}, other = 10.0f, back = 0;
    cudaMemcpyToSymbol(factors, values, sizeof values);
    cudaMemcpyToSymbol(bias, &other, sizeof other);
    cudaMemcpyFromSymbol(&back, bias, sizeof back);
    EXPECT(back == 10.0f);
    Device<__half> x(32);
    Device<float> out(32);
    x.set(std::vector<__half>(32, __float2half(1.25f)));
    scaled<<<1, 32>>>(x.data, out.data);
    EXPECT(out.get(32)[31] == 13.0f);
}

__global__ void on_the_heap(int *out) {
    int *own = (int *)malloc(8 * sizeof(int));
    for (int i = 0; i < 8; i++) own[i] = i;
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += own[i];
    free(own);
    out[threadIdx.x] = sum;
}
static void device_heap() {
    Device<int> out(32);
    on_the_heap<<<1, 32>>>(out.data);
    EXPECT(out.get(32)[7] == 28);
}

__global__ void rounded(float *out, int *whole) {
    out[0] = __fadd_rd(1.0f, 1e-10f), out[1] = __fadd_ru(1.0f, 1e-10f), out[2] = __fdiv_rz(-1.0f, 3.0f);
    out[3] = __int2float_ru(16777217), out[4] = __fadd_rn(1.0f, 1e-10f);
    whole[0] = __float2int_rn(2.5f), whole[1] = __float2int_ru(2.1f), whole[2] = __float2int_rz(-2.9f);
    whole[3] = __float2int_rz(1e20f), whole[4] = (int)__float2uint_rz(-1.0f), whole[5] = __clz(1), whole[6] = __ffs(8);
    whole[7] = (int)__byte_perm(0x33221100, 0x77665544, 0x7410), whole[8] = __mulhi(1 << 30, 8), whole[9] = (int)__brev(1);
}
static void intrinsics() {
    Device<float> out(5);
    Device<int> whole(10);
    rounded<<<1, 1>>>(out.data, whole.data);
    auto f = out.get(5);
    auto w = whole.get(10);
    EXPECT(f[0] == 1.0f && f[1] > 1.0f && f[2] > -0.33333334f && f[3] == 16777218.0f && f[4] == 1.0f);
    EXPECT(w[0] == 2 && w[1] == 3 && w[2] == -2 && w[3] == 0x7fffffff && w[4] == 0 && w[5] == 31 && w[6] == 4);
    EXPECT(w[7] == 0x77441100 && w[8] == 2 && w[9] == (int)0x80000000);
}

static void api() {
    int *p = nullptr;
    EXPECT(cudaMalloc(&p, 16) == cudaSuccess && cudaMemcpy(p, &wrong, 32, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
    EXPECT(cudaFree(p) == cudaSuccess && cudaFree(p) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaDeviceProp properties;
    EXPECT(cudaGetDeviceProperties(&properties, 0) == cudaSuccess && properties.warpSize == 32);
    cudaEvent_t a, b;
    float ms = -1;
    cudaEventCreate(&a), cudaEventCreate(&b), cudaEventRecord(a), cudaEventRecord(b);
    EXPECT(cudaEventElapsedTime(&ms, a, b) == cudaSuccess && ms >= 0);
    dim3 blockDim(32), gridDim(2);
    Device<int> out(32);
    auto kernel = leave_early;
    kernel<<<gridDim, blockDim>>>(out.data, 32);
    EXPECT(out.get(1)[0] == 32);
}

int main(int argc, char **argv) {
    struct { const char *name; void (*run)(); } samples[] = {
        {"reduction", reduction}, {"shuffles", shuffles}, {"divergent", divergent}, {"dynamic_shared", dynamic_shared},
        {"groups", groups}, {"atomics", atomics}, {"fences", fences}, {"flags_between_blocks", flags_between_blocks},
        {"locks", locks}, {"same_value", same_value}, {"compare_and_swap", compare_and_swap}, {"early_exit", early_exit}, {"printing", printing}, {"neighbours", neighbours},
        {"symbols_and_halves", symbols_and_halves}, {"device_heap", device_heap}, {"intrinsics", intrinsics}, {"api", api}};
    for (auto &sample : samples)
        if (argc < 2 || !strcmp(sample.name, argv[1])) sample.run();
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    return wrong ? 1 : 0;
}
