// Barriers, pipelines, latches, semaphores and asynchronous copies of libcu++. Prints the name of each check that fails.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda_runtime.h>

#include <cstdio>

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int kThreads = 128;

// Each phase a thread reads what its neighbour wrote in the phase before.
__global__ void phases(int* out) {
  __shared__ block_barrier bar;
  __shared__ int slots[2][kThreads];
  int t = threadIdx.x, value = t;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  for (int phase = 0; phase < 4; ++phase) {
    slots[phase % 2][t] = value;
    if (phase % 2) {
      bar.arrive_and_wait();
    } else {
      block_barrier::arrival_token token = bar.arrive();
      bar.wait(std::move(token));
    }
    value = slots[phase % 2][(t + 1) % kThreads] + 1;
  }
  out[t] = value;
}

// A warp leaves early; the others go on without it.
__global__ void dropping(int* out) {
  __shared__ block_barrier bar;
  __shared__ int sum;
  int t = threadIdx.x;
  if (t == 0) init(&bar, blockDim.x), sum = 0;
  __syncthreads();
  if (t >= 64) {
    bar.arrive_and_drop();
    out[t] = -1;
    return;
  }
  bar.arrive_and_wait();
  atomicAdd(&sum, t);
  bar.arrive_and_wait();
  out[t] = sum;
}

struct Counting {
  int* count;
  __device__ void operator()() { ++*count; }
};
__global__ void completing(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block, Counting> bar;
  __shared__ int count;
  int t = threadIdx.x;
  if (t == 0) {
    count = 0;
    init(&bar, blockDim.x, Counting{&count});
  }
  __syncthreads();
  for (int i = 0; i < 3; ++i) bar.arrive_and_wait();
  out[t] = count;
}

__global__ void copying(const int* in, int* out) {
  __shared__ block_barrier bar;
  __shared__ alignas(16) int by_barrier[kThreads], by_thread[kThreads], by_group[kThreads];
  auto block = cg::this_thread_block();
  int t = threadIdx.x;
  if (t == 0) init(&bar, blockDim.x);
  block.sync();
  cuda::memcpy_async(block, by_barrier, in, cuda::aligned_size_t<16>(sizeof by_barrier), bar);
  bar.arrive_and_wait();
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&by_thread[t], &in[t], sizeof(int), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  cg::memcpy_async(block, by_group, in, sizeof by_group);
  cg::wait(block);
  out[t] = by_barrier[(t + 5) % kThreads] + by_thread[t] + by_group[(t + 7) % kThreads];
  pipe.consumer_release();
}

// All threads produce and consume: two stages over eight batches.
__global__ void unified(const int* in, int* out) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int stages[2][kThreads];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int t = threadIdx.x, sum = 0, fetched = 0;
  for (int batch = 0; batch < 8; ++batch) {
    for (; fetched < 8 && fetched < batch + 2; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stages[fetched % 2], in + fetched * kThreads, sizeof stages[0], pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stages[batch % 2][(t + batch) % kThreads];
    pipe.consumer_release();
  }
  out[t] = sum;
}

// The first 64 threads produce, the others consume.
__global__ void partitioned(const int* in, int* out) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int stages[2][64];
  auto block = cg::this_thread_block();
  int t = threadIdx.x;
  const auto role = t < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  int sum = 0;
  for (int batch = 0; batch < 6; ++batch) {
    if (role == cuda::pipeline_role::producer) {
      pipe.producer_acquire();
      cuda::memcpy_async(&stages[batch % 2][t], &in[batch * 64 + t], sizeof(int), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      sum += stages[batch % 2][(t + 1) % 64];
      pipe.consumer_release();
    }
  }
  out[t] = sum;
}

__global__ void counted(int* total, int* out) {
  using block_latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(block_latch) unsigned char place[sizeof(block_latch)];
  block_latch& gate = *reinterpret_cast<block_latch*>(place);
  int t = threadIdx.x;
  auto* mutex = reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_device>*>(total + 1);
  if (t == 0) {
    new (place) block_latch(blockDim.x);
    mutex->acquire();
    total[0] = total[0] + 1;
    mutex->release();
  }
  __syncthreads();
  gate.arrive_and_wait();
  out[t] = gate.try_wait();
}

int *in, *out, host[1024], back[kThreads], failed;

template <typename Expected> void check(const char* name, Expected expected) {
  cudaError_t status = cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
  int wrong = status != cudaSuccess;
  for (int t = 0; t < kThreads; ++t) wrong += back[t] != expected(t);
  if (wrong) printf("%s: %d wrong (%s)\n", name, wrong, cudaGetErrorString(status));
  failed += wrong;
}

int main() {
  for (int i = 0; i < 1024; ++i) host[i] = i * i % 1013;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof back);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  phases<<<1, kThreads>>>(out);
  check("phases", [](int t) { return (t + 4) % kThreads + 4; });
  dropping<<<1, kThreads>>>(out);
  check("dropping", [](int t) { return t < 64 ? 64 * 63 / 2 : -1; });
  completing<<<1, kThreads>>>(out);
  check("completing", [](int) { return 3; });
  copying<<<1, kThreads>>>(in, out);
  check("copying", [](int t) { return host[(t + 5) % kThreads] + host[t] + host[(t + 7) % kThreads]; });
  unified<<<1, kThreads>>>(in, out);
  check("unified", [](int t) {
    int sum = 0;
    for (int batch = 0; batch < 8; ++batch) sum += host[batch * kThreads + (t + batch) % kThreads];
    return sum;
  });
  partitioned<<<1, kThreads>>>(in, out);
  check("partitioned", [](int t) {
    int sum = 0;
    for (int batch = 0; batch < 6; ++batch) sum += host[batch * 64 + (t + 1) % 64];
    return t < 64 ? 0 : sum;
  });
  int* total;
  int start[2] = {0, 1};
  cudaMalloc(&total, sizeof start);
  cudaMemcpy(total, start, sizeof start, cudaMemcpyHostToDevice);
  counted<<<6, kThreads>>>(total, out);
  check("counted", [](int) { return 1; });
  cudaMemcpy(start, total, sizeof start, cudaMemcpyDeviceToHost);
  if (start[0] != 6 || start[1] != 1) printf("semaphore: %d %d\n", start[0], start[1]), ++failed;
  printf("%s\n", failed ? "failed" : "passed");
  return failed != 0;
}
