// Names that HIP has with other arguments, for other types, or on the other side of host and device.

//: __ffsll(long)
static __device__ inline int __ffsll(unsigned long x) { return __ffsll(static_cast<unsigned long long>(x)); }
static __device__ inline int __ffsll(long x) { return __ffsll(static_cast<long long>(x)); }
//: hipGetErrorString(device)
static __device__ inline const char* hipGetErrorString(hipError_t) { return "an error of HIP's runtime"; }
//: hipGetErrorName(device)
static __device__ inline const char* hipGetErrorName(hipError_t) { return "hipError"; }
//: hipMemPrefetchAsync(location)
static inline hipError_t hipMemPrefetchAsync(const void* memory, size_t bytes, hipMemLocation place, unsigned flags,
                                             hipStream_t stream = nullptr) {
  return hipMemPrefetchAsync_v2(memory, bytes, place, flags, stream);
}
static inline hipError_t hipMemAdvise(const void* memory, size_t bytes, hipMemoryAdvise advice, hipMemLocation place) {
  return hipMemAdvise_v2(memory, bytes, advice, place);
}
//: CubDebugExit < cstdlib hipcub/hipcub.hpp
#define CubDebugExit(call) do { if (HipcubDebug((call)) != hipSuccess) { exit(1); } } while (0)
//: rsqrtf(host) < cmath
static __host__ inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
//: rsqrt(host) < cmath
static __host__ inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
//: rcbrtf(host) < cmath
static __host__ inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
//: rcbrt(host) < cmath
static __host__ inline double rcbrt(double x) { return 1.0 / std::cbrt(x); }
//: sinpif(host) < cmath
static __host__ inline float sinpif(float x) { return std::sin(x * 3.14159265358979323846f); }
//: sinpi(host) < cmath
static __host__ inline double sinpi(double x) { return std::sin(x * 3.14159265358979323846); }
//: cospif(host) < cmath
static __host__ inline float cospif(float x) { return std::cos(x * 3.14159265358979323846f); }
//: cospi(host) < cmath
static __host__ inline double cospi(double x) { return std::cos(x * 3.14159265358979323846); }
//: normcdff(host) < cmath
static __host__ inline float normcdff(float x) { return 0.5f * std::erfc(x * -0.70710678118654752440f); }
//: normcdf(host) < cmath
static __host__ inline double normcdf(double x) { return 0.5 * std::erfc(x * -0.70710678118654752440); }
//: hipblasGemmEx(data-type) < hipblas/hipblas.h
// cuBLAS takes a data type where hipBLAS wants a compute type; the pairs are those of CUDA's own header.
static inline hipblasComputeType_t kpt_compute_type(hipDataType type) {
  switch (type) {
    case HIP_R_16F: return HIPBLAS_COMPUTE_16F;
    case HIP_R_64F: case HIP_C_64F: return HIPBLAS_COMPUTE_64F;
    case HIP_R_32I: return HIPBLAS_COMPUTE_32I;
    default: return HIPBLAS_COMPUTE_32F;
  }
}
static inline hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t ta, hipblasOperation_t tb, int m, int n,
    int k, const void* alpha, const void* a, hipDataType at, int lda, const void* b, hipDataType bt, int ldb, const void* beta,
    void* c, hipDataType ct, int ldc, hipDataType compute, hipblasGemmAlgo_t algo) {
  return hipblasGemmEx(handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, kpt_compute_type(compute), algo);
}
static inline hipblasStatus_t hipblasGemmBatchedEx(hipblasHandle_t handle, hipblasOperation_t ta, hipblasOperation_t tb, int m,
    int n, int k, const void* alpha, const void* const a[], hipDataType at, int lda, const void* const b[], hipDataType bt, int ldb,
    const void* beta, void* const c[], hipDataType ct, int ldc, int count, hipDataType compute, hipblasGemmAlgo_t algo) {
  return hipblasGemmBatchedEx(handle, ta, tb, m, n, k, alpha, const_cast<const void**>(a), at, lda, const_cast<const void**>(b), bt,
                              ldb, beta, const_cast<void**>(c), ct, ldc, count, kpt_compute_type(compute), algo);
}
static inline hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t handle, hipblasOperation_t ta, hipblasOperation_t tb,
    int m, int n, int k, const void* alpha, const void* a, hipDataType at, int lda, long long sa, const void* b, hipDataType bt,
    int ldb, long long sb, const void* beta, void* c, hipDataType ct, int ldc, long long sc, int count, hipDataType compute,
    hipblasGemmAlgo_t algo) {
  return hipblasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc, count,
                                     kpt_compute_type(compute), algo);
}
//: kpt_compile_program kpt_create_program < hip/hiprtc.h map mutex string vector
// NVRTC looks for headers in the folder of the source, which is the name that the program was made with; hipRTC does not.
inline std::string kpt_folder_of(hiprtcProgram program, const std::string& made_in = "") {
  static std::mutex one_at_a_time;
  static std::map<hiprtcProgram, std::string> folders;
  std::lock_guard<std::mutex> held(one_at_a_time);
  std::string& folder = folders[program];
  if (!made_in.empty()) folder = made_in;
  return folder.empty() ? "." : folder;
}
static inline hiprtcResult kpt_create_program(hiprtcProgram* program, const char* source, const char* name, int count,
                                              const char* const* headers, const char* const* names) {
  const hiprtcResult made = hiprtcCreateProgram(program, source, name, count, const_cast<const char**>(headers),
                                                const_cast<const char**>(names));
  const std::string path = name ? name : "";
  const size_t slash = path.rfind('/');
  if (made == HIPRTC_SUCCESS) kpt_folder_of(*program, slash == std::string::npos ? "." : path.substr(0, slash + 1));
  return made;
}
// NVRTC's options as hipRTC takes them. The architecture is left out: hipRTC compiles for the current device. So is what only
// NVIDIA's compiler has: limits on registers, passes, debug information.
static inline hiprtcResult kpt_compile_program(hiprtcProgram program, int count, const char* const* options) {
  static const char* const others[][2] = {{"-use_fast_math", "-ffast-math"}, {"-fmad=false", "-ffp-contract=off"},
      {"-fmad=true", "-ffp-contract=fast"}, {"-include-path", "-I"}, {"-define-macro", "-D"}, {"-undefine-macro", "-U"},
      {"-pre-include", "-include"}, {"-disable-warnings", "-w"}, {"-relocatable-device-code=true", "-fgpu-rdc"},
      {"-rdc=true", "-fgpu-rdc"}, {"-device-c", "-fgpu-rdc"}, {"-dc", "-fgpu-rdc"}};
  static const char* const left_out[] = {"-gpu-architecture", "-arch", "-maxrregcount", "-Xptxas", "-ptxas-options"};
  static const char* const dropped[] = {"-extra-device-vectorization", "-modify-stack-limit", "-dlink-time-opt", "-dlto",
      "-device-debug", "-G", "-generate-line-info", "-lineinfo", "-restrict", "-ftz", "-prec-div", "-prec-sqrt", "-rdc",
      "-relocatable-device-code", "-device-w", "-dw", "-gen-opt-lto", "-opt-info", "-minimal", "-split-compile", "-fdevice-time-trace",
      "-jump-table-density", "-device-stack-protector", "-builtin-move-forward", "-builtin-initializer-list", "-fmad"};
  std::vector<std::string> kept;
  bool looks_beside = true;
  for (int at = 0; at < count; ++at) {
    std::string one = options[at];
    if (one.compare(0, 2, "--") == 0) one.erase(0, 1);
    const std::string name = one.substr(0, one.find('='));
    bool is_done = false;
    for (const char* other : left_out) {
      if (name != other) continue;
      is_done = true;
      if (name == one) ++at;  // its value is the next one
    }
    for (const char* other : dropped) is_done = is_done || name == other;
    for (auto& pair : others) {
      if (one == pair[0]) kept.push_back(pair[1]);
      else if (name == pair[0] && pair[1] == std::string("-include")) kept.insert(kept.end(), {pair[1], one.substr(name.size() + 1)});
      else if (name == pair[0]) kept.push_back(pair[1] + one.substr(name.size() + 1));
      else continue;
      is_done = true;
      break;
    }
    if (one == "-no-source-include") looks_beside = false;
    else if (!is_done) kept.push_back(one);
  }
  if (looks_beside) kept.push_back("-I" + kpt_folder_of(program));
  kept.push_back("-DKPT_AT_RUN_TIME=1");  // static variables that the program asks for by name are not static then
  std::vector<const char*> given;
  for (const std::string& one : kept) given.push_back(one.c_str());
  return hiprtcCompileProgram(program, (int)given.size(), given.data());
}
//: __trap
static __device__ inline void __trap() { __builtin_trap(); }
//: nvtxNameCudaDevice nvtxNameCudaDeviceA nvtxNameCudaStream nvtxNameCudaStreamA nvtxNameCudaEvent nvtxNameCudaEventA
#define nvtxNameCudaDeviceA(device, name) ((void)0)
#define nvtxNameCudaStreamA(stream, name) ((void)0)
#define nvtxNameCudaEventA(event, name) ((void)0)
#define nvtxNameCudaDevice(device, name) ((void)0)
#define nvtxNameCudaStream(stream, name) ((void)0)
#define nvtxNameCudaEvent(event, name) ((void)0)
//: min(mixed)
static __device__ inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
static __device__ inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
static __device__ inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
static __device__ inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
//: min(host)
// On the host HIP has min and max of int alone, which cut every other number to an int; CUDA has these.
#if defined(__HIPCC__)
#define KPT_HOST_MIN_MAX(TYPE, A, B)                                                             \
  static inline __host__ TYPE min(A a, B b) { return (TYPE)b < (TYPE)a ? (TYPE)b : (TYPE)a; }     \
  static inline __host__ TYPE max(A a, B b) { return (TYPE)a < (TYPE)b ? (TYPE)b : (TYPE)a; }
#define KPT_HOST_MIN_MAX_OF(SIGNED, UNSIGNED)        \
  KPT_HOST_MIN_MAX(UNSIGNED, UNSIGNED, UNSIGNED)     \
  KPT_HOST_MIN_MAX(UNSIGNED, SIGNED, UNSIGNED)       \
  KPT_HOST_MIN_MAX(UNSIGNED, UNSIGNED, SIGNED)
KPT_HOST_MIN_MAX_OF(int, unsigned int)
KPT_HOST_MIN_MAX_OF(long, unsigned long)
KPT_HOST_MIN_MAX_OF(long long, unsigned long long)
KPT_HOST_MIN_MAX(long, long, long)
KPT_HOST_MIN_MAX(long long, long long, long long)
#define KPT_HOST_FMIN_FMAX(TYPE, A, B)                                             \
  static inline __host__ TYPE min(A a, B b) { return ::fmin((TYPE)a, (TYPE)b); }   \
  static inline __host__ TYPE max(A a, B b) { return ::fmax((TYPE)a, (TYPE)b); }
KPT_HOST_FMIN_FMAX(float, float, float)
KPT_HOST_FMIN_FMAX(double, double, double)
KPT_HOST_FMIN_FMAX(double, float, double)
KPT_HOST_FMIN_FMAX(double, double, float)
#endif
//: kpt_wave
// The width that block reductions count in: the wave's where a block is one row of whole waves, CUDA's 32 elsewhere.
static __device__ inline int kpt_wave(unsigned int below = 2048) {
  const int lanes = __builtin_amdgcn_wavefrontsize();
  return blockDim.y * blockDim.z == 1 && blockDim.x < below && blockDim.x % lanes == 0 ? lanes : 32;
}
//: __heq2_mask __hne2_mask __hle2_mask __hge2_mask __hlt2_mask __hgt2_mask __hequ2_mask __hneu2_mask __hleu2_mask __hgeu2_mask __hltu2_mask __hgtu2_mask < hip/hip_fp16.h
#define KPT_HALF2_MASK(NAME, HOLDS)                                                   \
  static __device__ inline unsigned NAME(__half2 a, __half2 b) {                      \
    const unsigned low = HOLDS(__low2half(a), __low2half(b)) ? 0xffffu : 0u;          \
    return low | (HOLDS(__high2half(a), __high2half(b)) ? 0xffff0000u : 0u);          \
  }
KPT_HALF2_MASK(__heq2_mask, __heq)
KPT_HALF2_MASK(__hne2_mask, __hne)
KPT_HALF2_MASK(__hle2_mask, __hle)
KPT_HALF2_MASK(__hge2_mask, __hge)
KPT_HALF2_MASK(__hlt2_mask, __hlt)
KPT_HALF2_MASK(__hgt2_mask, __hgt)
KPT_HALF2_MASK(__hequ2_mask, __hequ)
KPT_HALF2_MASK(__hneu2_mask, __hneu)
KPT_HALF2_MASK(__hleu2_mask, __hleu)
KPT_HALF2_MASK(__hgeu2_mask, __hgeu)
KPT_HALF2_MASK(__hltu2_mask, __hltu)
KPT_HALF2_MASK(__hgtu2_mask, __hgtu)
#undef KPT_HALF2_MASK
//: __hmax2(half2) < hip/hip_fp16.h
static __device__ inline __half2 __hmax2(__half2 a, __half2 b) {
  return __halves2half2(__hmax(__low2half(a), __low2half(b)), __hmax(__high2half(a), __high2half(b)));
}
static __device__ inline __half2 __hmin2(__half2 a, __half2 b) {
  return __halves2half2(__hmin(__low2half(a), __low2half(b)), __hmin(__high2half(a), __high2half(b)));
}
//: CUctxCreateParams CUctxCreateParams_st
// CUDA 13's cuCtxCreate takes one, for the share of the GPU that a context gets: HIP's context has all of it.
struct CUctxCreateParams_st { void* execAffinityParams; int numExecAffinityParams; void* cigParams; };
typedef struct CUctxCreateParams_st CUctxCreateParams;
static inline hipError_t hipCtxCreate(hipCtx_t* context, CUctxCreateParams*, unsigned flags, hipDevice_t device) {
  return hipCtxCreate(context, flags, device);
}
//: cudaGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2
// A hint how a resource will be used, which HIP takes at registration alone.
static inline hipError_t cudaGraphicsResourceSetMapFlags(hipGraphicsResource_t, unsigned) { return hipSuccess; }
static inline hipError_t cuGraphicsResourceSetMapFlags(hipGraphicsResource_t, unsigned) { return hipSuccess; }
static inline hipError_t cuGraphicsResourceSetMapFlags_v2(hipGraphicsResource_t, unsigned) { return hipSuccess; }
//: hipHostGetDevicePointer(typed)
template <typename T> static inline hipError_t hipHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return hipHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}
