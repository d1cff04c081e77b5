// Calls each library through its real header on memory of the emulated device, and checks the numbers the sources of
// the stand-ins assume. Prints one line per failed check; the exit code is their count.
#include <hip/hip_runtime.h>

#include <hipblas/hipblas.h>
#include <hipblaslt/hipblaslt.h>
#include <hipfft/hipfft.h>
#include <hiprand/hiprand.h>
#include <hiprand/hiprand_kernel.h>
#include <hipsolver/hipsolver.h>
#include <hipsparse/hipsparse.h>
#include <rccl/rccl.h>
#include <rocblas/rocblas.h>
#include <rocfft/rocfft.h>
#include <rocsolver/rocsolver.h>
#include <roctracer/roctx.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <vector>

static int failures = 0;

static void check(bool good, const char *what) {
    if (!good)
        std::printf("FAILED: %s\n", what), ++failures;
}

static_assert(sizeof(hipblasLtMatmulAlgo_t) == 24 && sizeof(hipblasLtMatmulHeuristicResult_t) == 56);
static_assert(offsetof(hipblasLtMatmulHeuristicResult_t, workspaceSize) == 24);
static_assert(HIPBLASLT_MATMUL_DESC_AMAX_D_POINTER == 14 && HIPBLASLT_EPILOGUE_GELU_AUX_BIAS == 164);
static_assert(HIPBLAS_FILL_MODE_UPPER == 121 && HIPBLAS_SIDE_RIGHT == 142 && HIPBLAS_DIAG_UNIT == 132);
static_assert(HIP_R_16BF == 14 && HIP_R_8F_E4M3_FNUZ == 1000 && HIP_C_64F == 5);
static_assert(HIPSPARSE_INDEX_32I == 2 && HIPSPARSE_ORDER_ROW == 2 && HIPSPARSE_SPMAT_DIAG_TYPE == 1);
static_assert(HIPSPARSE_FORMAT_CSR == 1 && HIPSPARSE_FORMAT_BLOCKED_ELL == 5 && HIPSPARSE_FILL_MODE_LOWER == 0);
static_assert(HIPSOLVER_EIG_MODE_VECTOR == 202 && HIPSOLVER_EIG_TYPE_1 == 211);
static_assert(sizeof(ncclUniqueId) == 128 && ncclFloat32 == 7 && ncclBfloat16 == 9 && ncclAvg == 4);
static_assert(HIPFFT_Z2Z == 0x69 && HIPFFT_FORWARD == -1 && sizeof(hipfftHandle) == sizeof(void *));
static_assert(HIPRAND_RNG_PSEUDO_PHILOX4_32_10 == 405 && HIPRAND_RNG_QUASI_SOBOL32 == 501);
static_assert(rocblas_datatype_bf16_r == 168 && rocblas_status_invalid_value == 11);
static_assert(rocblas_svect_singular == 192 && rocblas_evect_original == 211 && rocblas_eform_ax == 221);

template <class T> struct Device {
    T *data = nullptr;
    size_t count;
    explicit Device(const std::vector<T> &host) : count(host.size()) {
        check(hipMalloc(reinterpret_cast<void **>(&data), count * sizeof(T)) == hipSuccess, "hipMalloc");
        check(hipMemcpy(data, host.data(), count * sizeof(T), hipMemcpyHostToDevice) == hipSuccess, "hipMemcpy");
    }
    ~Device() { (void)hipFree(data); }
    std::vector<T> host() const {
        std::vector<T> out(count);
        check(hipMemcpy(out.data(), data, count * sizeof(T), hipMemcpyDeviceToHost) == hipSuccess, "hipMemcpy back");
        return out;
    }
};

__global__ void twice(float *x) { x[threadIdx.x] *= 2; }

static void blas() {
    const Device<float> a({1, 2, 3, 4}), b({1, 0, 0, 1}), c({9, 9, 9, 9});
    hipStream_t stream;
    check(hipStreamCreate(&stream) == hipSuccess, "hipStreamCreate");
    hipblasHandle_t handle;
    check(hipblasCreate(&handle) == HIPBLAS_STATUS_SUCCESS && hipblasSetStream(handle, stream) == HIPBLAS_STATUS_SUCCESS,
          "hipblasCreate");
    twice<<<1, 4, 0, stream>>>(a.data); // the library call must wait for it
    const float one = 1, zero = 0;
    check(hipblasSgemm(handle, HIPBLAS_OP_N, HIPBLAS_OP_T, 2, 2, 2, &one, a.data, 2, b.data, 2, &zero, c.data, 2) ==
              HIPBLAS_STATUS_SUCCESS, "hipblasSgemm");
    twice<<<1, 4, 0, stream>>>(c.data);
    check(hipStreamSynchronize(stream) == hipSuccess, "hipStreamSynchronize");
    check(c.host() == std::vector<float>({4, 8, 12, 16}), "hipblasSgemm between two kernels of its stream");
    const Device<float> alpha({3});
    check(hipblasSetPointerMode(handle, HIPBLAS_POINTER_MODE_DEVICE) == HIPBLAS_STATUS_SUCCESS, "pointer mode");
    check(hipblasSscal(handle, 4, alpha.data, c.data, 1) == HIPBLAS_STATUS_SUCCESS, "hipblasSscal");
    check(c.host() == std::vector<float>({12, 24, 36, 48}), "hipblasSscal with alpha on the device");
    check(hipblasSgemm(nullptr, HIPBLAS_OP_N, HIPBLAS_OP_N, 1, 1, 1, &one, a.data, 1, a.data, 1, &one, a.data, 1) ==
              HIPBLAS_STATUS_NOT_INITIALIZED, "null handle");
    hipblasDestroy(handle);

    rocblas_handle roc;
    check(rocblas_create_handle(&roc) == rocblas_status_success, "rocblas_create_handle");
    float result = 0;
    check(rocblas_snrm2(roc, 2, c.data, 1, &result) == rocblas_status_success && std::fabs(result - 26.832815f) < 1e-4f,
          "rocblas_snrm2");
    const Device<double> spd({4, 2, 2, 3});
    const Device<rocblas_int> info({7});
    check(rocsolver_dpotrf(roc, rocblas_fill_lower, 2, spd.data, 2, info.data) == rocblas_status_success, "rocsolver");
    check(spd.host()[0] == 2 && spd.host()[1] == 1 && info.host()[0] == 0, "rocsolver_dpotrf");
    rocblas_destroy_handle(roc);
}

static void blaslt() {
    hipblasLtHandle_t handle;
    check(hipblasLtCreate(&handle) == HIPBLAS_STATUS_SUCCESS, "hipblasLtCreate");
    const Device<float> a({1, 2, 3, 4}), b({1, 1, -1, -1}), d({0, 0, 0, 0}), bias({10, 20});
    hipblasLtMatmulDesc_t op;
    hipblasLtMatrixLayout_t layout;
    hipblasLtMatmulPreference_t preference;
    check(hipblasLtMatmulDescCreate(&op, HIPBLAS_COMPUTE_32F, HIP_R_32F) == HIPBLAS_STATUS_SUCCESS &&
              hipblasLtMatrixLayoutCreate(&layout, HIP_R_32F, 2, 2, 2) == HIPBLAS_STATUS_SUCCESS &&
              hipblasLtMatmulPreferenceCreate(&preference) == HIPBLAS_STATUS_SUCCESS, "hipBLASLt descriptors");
    const hipblasLtEpilogue_t epilogue = HIPBLASLT_EPILOGUE_RELU_BIAS;
    hipblasLtMatmulDescSetAttribute(op, HIPBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    hipblasLtMatmulDescSetAttribute(op, HIPBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.data, sizeof(void *));
    hipblasLtMatmulHeuristicResult_t best;
    int count = 0;
    check(hipblasLtMatmulAlgoGetHeuristic(handle, op, layout, layout, layout, layout, preference, 1, &best, &count) ==
                  HIPBLAS_STATUS_SUCCESS && count == 1 && best.state == HIPBLAS_STATUS_SUCCESS, "heuristic");
    const float one = 1, zero = 0;
    check(hipblasLtMatmul(handle, op, &one, a.data, layout, b.data, layout, &zero, d.data, layout, d.data, layout,
                          &best.algo, nullptr, 0, nullptr) == HIPBLAS_STATUS_SUCCESS, "hipblasLtMatmul");
    check(d.host() == std::vector<float>({14, 26, 6, 14}), "hipblasLtMatmul with bias and relu");
    hipblasLtDestroy(handle);
}

static void fft() {
    std::vector<hipfftDoubleComplex> wave(12);
    for (int i = 0; i < 12; ++i)
        wave[i] = {std::cos(2 * M_PI * 3 * i / 12), 0};
    const Device<hipfftDoubleComplex> data(wave);
    hipfftHandle plan;
    check(hipfftPlan1d(&plan, 12, HIPFFT_Z2Z, 1) == HIPFFT_SUCCESS, "hipfftPlan1d");
    check(hipfftExecZ2Z(plan, data.data, data.data, HIPFFT_FORWARD) == HIPFFT_SUCCESS, "hipfftExecZ2Z");
    const auto out = data.host();
    check(std::fabs(out[3].x - 6) < 1e-12 && std::fabs(out[9].x - 6) < 1e-12 && std::fabs(out[1].x) < 1e-12, "spectrum");
    hipfftDestroy(plan);
}

// The host interface against the generators of the headers, which are what kernels use.
template <class State> static void compare(hiprandRngType_t type, const char *name, unsigned long long stride) {
    constexpr size_t n = 131072 + 50;
    const Device<unsigned> out(std::vector<unsigned>(n, 0u));
    hiprandGenerator_t generator;
    check(hiprandCreateGenerator(&generator, type) == HIPRAND_STATUS_SUCCESS &&
              hiprandSetPseudoRandomGeneratorSeed(generator, 0x123456789abcULL) == HIPRAND_STATUS_SUCCESS, name);
    check(hiprandGenerate(generator, out.data, n) == HIPRAND_STATUS_SUCCESS, name);
    const auto numbers = out.host();
    bool same = true;
    for (size_t i : {size_t(0), size_t(1), size_t(2), size_t(77), size_t(131071), size_t(131072), size_t(131100)}) {
        State state;
        const unsigned long long engine = stride ? i % stride : 0, position = stride ? i / stride : i;
        rocrand_init(0x123456789abcULL, engine, position, &state);
        same = same && numbers[i] == rocrand(&state);
    }
    check(same, name);
    hiprandDestroyGenerator(generator);
}

static void sparse() {
    const Device<int> offsets({0, 2, 3}), columns({0, 1, 1});
    const Device<float> values({1, 2, 3}), x({10, 100}), y({0, 0});
    hipsparseHandle_t handle;
    check(hipsparseCreate(&handle) == HIPSPARSE_STATUS_SUCCESS, "hipsparseCreate");
    hipsparseSpMatDescr_t matrix;
    hipsparseDnVecDescr_t in, out;
    check(hipsparseCreateCsr(&matrix, 2, 2, 3, offsets.data, columns.data, values.data, HIPSPARSE_INDEX_32I,
                             HIPSPARSE_INDEX_32I, HIPSPARSE_INDEX_BASE_ZERO, HIP_R_32F) == HIPSPARSE_STATUS_SUCCESS &&
              hipsparseCreateDnVec(&in, 2, x.data, HIP_R_32F) == HIPSPARSE_STATUS_SUCCESS &&
              hipsparseCreateDnVec(&out, 2, y.data, HIP_R_32F) == HIPSPARSE_STATUS_SUCCESS, "hipSPARSE descriptors");
    const float one = 1, zero = 0;
    check(hipsparseSpMV(handle, HIPSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, HIP_R_32F,
                        HIPSPARSE_SPMV_ALG_DEFAULT, nullptr) == HIPSPARSE_STATUS_SUCCESS, "hipsparseSpMV");
    check(y.host() == std::vector<float>({210, 300}), "hipsparseSpMV");
    hipsparseDestroy(handle);
}

static void solver() {
    const Device<double> a({4, 1, 1, 3}), b({1, 2});
    const Device<int> pivots({0, 0}), info({7});
    hipsolverDnHandle_t handle;
    check(hipsolverDnCreate(&handle) == HIPSOLVER_STATUS_SUCCESS, "hipsolverDnCreate");
    int size = 0;
    check(hipsolverDnDgetrf_bufferSize(handle, 2, 2, a.data, 2, &size) == HIPSOLVER_STATUS_SUCCESS && size > 0, "buffer");
    const Device<double> work(std::vector<double>(size, 0.0));
    check(hipsolverDnDgetrf(handle, 2, 2, a.data, 2, work.data, pivots.data, info.data) == HIPSOLVER_STATUS_SUCCESS &&
              hipsolverDnDgetrs(handle, HIPSOLVER_OP_N, 2, 1, a.data, 2, pivots.data, b.data, 2, info.data) ==
                  HIPSOLVER_STATUS_SUCCESS, "hipsolverDnDgetrf and getrs");
    const auto x = b.host();
    check(std::fabs(x[0] - 1.0 / 11) < 1e-12 && std::fabs(x[1] - 7.0 / 11) < 1e-12, "solution");
    hipsolverDnDestroy(handle);
}

static void collectives() {
    ncclUniqueId id;
    ncclComm_t comm;
    check(ncclGetUniqueId(&id) == ncclSuccess && ncclCommInitRank(&comm, 1, id, 0) == ncclSuccess, "ncclCommInitRank");
    const Device<float> data({1, 2}), out({0, 0});
    check(ncclAllReduce(data.data, out.data, 2, ncclFloat, ncclSum, comm, nullptr) == ncclSuccess, "ncclAllReduce");
    check(out.host() == std::vector<float>({1, 2}), "ncclAllReduce of one rank");
    ncclCommDestroy(comm);
    check(roctxRangePushA("outer") == 0 && roctxRangePushA("inner") == 1 && roctxRangePop() == 1 && roctxRangePop() == 0,
          "roctx nesting");
}

int main() {
    blas();
    blaslt();
    fft();
    compare<rocrand_state_philox4x32_10>(HIPRAND_RNG_PSEUDO_PHILOX4_32_10, "Philox order", 0);
    compare<rocrand_state_xorwow>(HIPRAND_RNG_PSEUDO_XORWOW, "XORWOW order", 131072);
    compare<rocrand_state_mrg32k3a>(HIPRAND_RNG_PSEUDO_MRG32K3A, "MRG32k3a order", 131072);
    sparse();
    solver();
    collectives();
    std::printf("%d failed\n", failures);
    return failures;
}
