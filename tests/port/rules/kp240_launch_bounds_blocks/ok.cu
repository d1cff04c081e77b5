#define ONE 1
template <typename A, int B> constexpr int pick() { return B; }

__global__ __launch_bounds__(256) void a(int *p) { *p = 1; }
__global__ void __launch_bounds__(256, 1) b(int *p) { *p = 2; }  // asks for nothing in either language
__global__ void __launch_bounds__(256, ONE) c(int *p) { *p = 3; }
__global__ void __launch_bounds__((pick<int, 128>())) d(int *p) { *p = 4; }
// __launch_bounds__(256, 8)
