#include <cinttypes>
#include <cstdint>
#include <cstdio>

#define NODE "%d"
#define LINE "node ("NODE")\n"

__global__ void k(int *x) { printf("node ("NODE"): %d\n", 1, *x); }

void show(uint64_t bytes, int node) {
  printf("%"PRIu64" bytes\n", bytes);
  printf(LINE, node);
}
