#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

using namespace std::string_literals;

constexpr unsigned long long operator""_kib(const char *, size_t) { return 1024; }

__global__ void k(int *x) { printf("PRIu64" " %d\n", *x); }

void show(uint64_t bytes) {
  std::string text = "%" PRIu64 " bytes\n"s;
  printf(text.c_str(), bytes + "1"_kib);
}
