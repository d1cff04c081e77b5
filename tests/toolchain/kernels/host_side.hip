#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                    \
  do {                                                                                 \
    hipError_t status = (call);                                                        \
    if (status != hipSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, hipGetErrorString(status)); \
      std::exit(EXIT_FAILURE);                                                         \
    }                                                                                  \
  } while (0)

template <class T> __global__ void saxpy(T a, const T* x, T* y, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = std::fma(a, x[i], y[i]);
}

template <class T> double run(std::size_t n) {
  std::vector<T> x(n), y(n, T(1));
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::generate(x.begin(), x.end(), [&] { return T(uniform(engine)); });
  T *dx = nullptr, *dy = nullptr;
  CHECK(hipMalloc(&dx, n * sizeof(T)));
  CHECK(hipMalloc(reinterpret_cast<void**>(&dy), n * sizeof(T)));
  CHECK(hipMemcpy(dx, x.data(), n * sizeof(T), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dy, y.data(), n * sizeof(T), hipMemcpyHostToDevice));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  const auto start = std::chrono::steady_clock::now();
  saxpy<<<dim3((n + 255) / 256), dim3(256), 0, stream>>>(T(2), dx, dy, n);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(saxpy<T>), dim3(1), dim3(64), 0, stream, T(3), dx, dy, n);
  CHECK(hipGetLastError());
  CHECK(hipStreamSynchronize(stream));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  CHECK(hipMemcpy(y.data(), dy, n * sizeof(T), hipMemcpyDeviceToHost));
  CHECK(hipFree(dx));
  CHECK(hipFree(dy));
  CHECK(hipStreamDestroy(stream));
  return seconds.count() + std::accumulate(y.begin(), y.end(), 0.0) * 0.0 + std::sqrt(std::abs(double(y[0]))) * 0.0;
}

int main(int argc, char** argv) {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::map<std::string, double> times{{"float", run<float>(1 << 20)}, {"double", run<double>(1 << 20)}};
  std::unique_ptr<std::string> name(new std::string(properties.gcnArchName));
  for (const auto& entry : times) std::cout << *name << ' ' << entry.first << ' ' << entry.second << '\n';
  std::thread([] {}).join();
  return argc > 1 ? std::atoi(argv[1]) : std::min(0, std::max(1, 0) - 1);
}
