// What the drivers share. Arrays come from the file argv[1], in the order of the calls; results go to argv[2].
#pragma once
#include <cuda_runtime.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static FILE *driver_in, *driver_out;

static void driver_check(bool good, const char* what) {
  if (good) return;
  fprintf(stderr, "driver: %s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  exit(3);
}
static void begin(char** argv) {
  driver_in = fopen(argv[1], "rb");
  driver_out = fopen(argv[2], "wb");
  driver_check(driver_in && driver_out, "fopen");
}
template <typename T> std::vector<T> host_input(size_t count) {
  std::vector<T> data(count);
  driver_check(fread(data.data(), sizeof(T), count, driver_in) == count, "fread");
  return data;
}
template <typename T> T* device_copy(const std::vector<T>& data) {
  T* copy = nullptr;
  driver_check(cudaMalloc(&copy, data.size() * sizeof(T)) == cudaSuccess, "cudaMalloc");
  driver_check(cudaMemcpy(copy, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy");
  return copy;
}
template <typename T> T* input(size_t count) { return device_copy(host_input<T>(count)); }
template <typename T> T* zeros(size_t count) {
  T* made = nullptr;
  driver_check(cudaMalloc(&made, count * sizeof(T)) == cudaSuccess, "cudaMalloc");
  driver_check(cudaMemset(made, 0, count * sizeof(T)) == cudaSuccess, "cudaMemset");
  return made;
}
template <typename T> void output(const T* device, size_t count) {
  driver_check(cudaGetLastError() == cudaSuccess, "the launch");
  driver_check(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
  std::vector<char> data(count * sizeof(T));
  driver_check(cudaMemcpy(data.data(), device, data.size(), cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy");
  fwrite(data.data(), 1, data.size(), driver_out);
  fflush(driver_out);
}
