// cutlass/gemm/device/gemm.h is not used here any more
#include <vector>
namespace cute_names {
int cutlass = 0;
}
const char *path = "cutlass/gemm.h";
