// Words that only look like it.
namespace project {
struct wmma {
  int mma;
};
}
__device__ int mma(int a, int b, int c) { return a * b + c; }
const char *text = "mma.sync.aligned";  // nvcuda::wmma
