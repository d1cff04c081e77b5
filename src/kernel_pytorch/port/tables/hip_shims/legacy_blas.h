// The first API of cuBLAS, cublas.h: no handle, letters for operations, scalars by value, the last error kept. Overloads of
// hipBLAS' functions; what tells the two apart is the number of arguments.

//: cublasInit cublasShutdown cublasGetError cublasSetKernelStream cublasAlloc cublasFree < hip/hip_runtime.h hipblas/hipblas.h
struct kpt_blas_state { hipblasHandle_t handle; hipblasStatus_t error; };
inline kpt_blas_state& kpt_blas() {
  static kpt_blas_state state = {nullptr, HIPBLAS_STATUS_SUCCESS};
  return state;
}
inline void kpt_blas_done(hipblasStatus_t status) {
  if (status != HIPBLAS_STATUS_SUCCESS) kpt_blas().error = status;
}
inline hipblasStatus_t cublasInit() {
  return kpt_blas().handle != nullptr ? HIPBLAS_STATUS_SUCCESS : hipblasCreate(&kpt_blas().handle);
}
inline hipblasStatus_t cublasShutdown() {
  const hipblasHandle_t handle = kpt_blas().handle;
  kpt_blas().handle = nullptr;
  return handle == nullptr ? HIPBLAS_STATUS_NOT_INITIALIZED : hipblasDestroy(handle);
}
inline hipblasStatus_t cublasGetError() {
  const hipblasStatus_t last = kpt_blas().error;
  kpt_blas().error = HIPBLAS_STATUS_SUCCESS;
  return last;
}
inline hipblasStatus_t cublasSetKernelStream(hipStream_t stream) { return hipblasSetStream(kpt_blas().handle, stream); }
inline hipblasStatus_t cublasAlloc(int count, int bytes, void** made) {
  if (count <= 0 || bytes <= 0) return HIPBLAS_STATUS_INVALID_VALUE;
  return hipMalloc(made, size_t(count) * size_t(bytes)) == hipSuccess ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_ALLOC_FAILED;
}
inline hipblasStatus_t cublasFree(void* made) {
  return hipFree(made) == hipSuccess ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_INTERNAL_ERROR;
}
inline hipblasOperation_t kpt_blas_op(char letter) {
  return letter == 'T' || letter == 't' ? HIPBLAS_OP_T : letter == 'C' || letter == 'c' ? HIPBLAS_OP_C : HIPBLAS_OP_N;
}
inline hipblasFillMode_t kpt_blas_fill(char letter) {
  return letter == 'U' || letter == 'u' ? HIPBLAS_FILL_MODE_UPPER : HIPBLAS_FILL_MODE_LOWER;
}
inline hipblasDiagType_t kpt_blas_diag(char letter) {
  return letter == 'U' || letter == 'u' ? HIPBLAS_DIAG_UNIT : HIPBLAS_DIAG_NON_UNIT;
}
inline hipblasSideMode_t kpt_blas_side(char letter) {
  return letter == 'R' || letter == 'r' ? HIPBLAS_SIDE_RIGHT : HIPBLAS_SIDE_LEFT;
}
//: cublasIsamax(3) cublasIdamax(3) cublasIcamax(3) cublasIzamax(3) cublasIsamin(3) cublasIdamin(3) cublasIcamin(3) cublasIzamin(3) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline int hipblas##NAME(int n, const T* x, int incx) { \
  int result = 0; \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, x, incx, &result)); \
  return result; \
}
KPT_BLAS(Isamax, float, int) KPT_BLAS(Idamax, double, int) KPT_BLAS(Icamax, hipComplex, int)
KPT_BLAS(Izamax, hipDoubleComplex, int) KPT_BLAS(Isamin, float, int) KPT_BLAS(Idamin, double, int)
KPT_BLAS(Icamin, hipComplex, int) KPT_BLAS(Izamin, hipDoubleComplex, int)
#undef KPT_BLAS
//: cublasSasum(3) cublasDasum(3) cublasScasum(3) cublasDzasum(3) cublasSnrm2(3) cublasDnrm2(3) cublasScnrm2(3) cublasDznrm2(3) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline R hipblas##NAME(int n, const T* x, int incx) { \
  R result = R(); \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, x, incx, &result)); \
  return result; \
}
KPT_BLAS(Sasum, float, float) KPT_BLAS(Dasum, double, double) KPT_BLAS(Scasum, hipComplex, float)
KPT_BLAS(Dzasum, hipDoubleComplex, double) KPT_BLAS(Snrm2, float, float) KPT_BLAS(Dnrm2, double, double)
KPT_BLAS(Scnrm2, hipComplex, float) KPT_BLAS(Dznrm2, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSaxpy(6) cublasDaxpy(6) cublasCaxpy(6) cublasZaxpy(6) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(int n, T alpha, const T* x, int incx, T* y, int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, &alpha, x, incx, y, incy)); \
}
KPT_BLAS(Saxpy, float, float) KPT_BLAS(Daxpy, double, double) KPT_BLAS(Caxpy, hipComplex, float)
KPT_BLAS(Zaxpy, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasScopy(5) cublasDcopy(5) cublasCcopy(5) cublasZcopy(5) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(int n, const T* x, int incx, T* y, int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, x, incx, y, incy)); \
}
KPT_BLAS(Scopy, float, float) KPT_BLAS(Dcopy, double, double) KPT_BLAS(Ccopy, hipComplex, float)
KPT_BLAS(Zcopy, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSswap(5) cublasDswap(5) cublasCswap(5) cublasZswap(5) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(int n, T* x, int incx, T* y, int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, x, incx, y, incy)); \
}
KPT_BLAS(Sswap, float, float) KPT_BLAS(Dswap, double, double) KPT_BLAS(Cswap, hipComplex, float)
KPT_BLAS(Zswap, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSdot(5) cublasDdot(5) cublasCdotu(5) cublasZdotu(5) cublasCdotc(5) cublasZdotc(5) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline R hipblas##NAME(int n, const T* x, int incx, const T* y, int incy) { \
  R result = R(); \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, x, incx, y, incy, &result)); \
  return result; \
}
KPT_BLAS(Sdot, float, float) KPT_BLAS(Ddot, double, double) KPT_BLAS(Cdotu, hipComplex, hipComplex)
KPT_BLAS(Zdotu, hipDoubleComplex, hipDoubleComplex) KPT_BLAS(Cdotc, hipComplex, hipComplex)
KPT_BLAS(Zdotc, hipDoubleComplex, hipDoubleComplex)
#undef KPT_BLAS
//: cublasSscal(4) cublasDscal(4) cublasCscal(4) cublasZscal(4) cublasCsscal(4) cublasZdscal(4) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(int n, R alpha, T* x, int incx) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, &alpha, x, incx)); \
}
KPT_BLAS(Sscal, float, float) KPT_BLAS(Dscal, double, double) KPT_BLAS(Cscal, hipComplex, hipComplex)
KPT_BLAS(Zscal, hipDoubleComplex, hipDoubleComplex) KPT_BLAS(Csscal, hipComplex, float)
KPT_BLAS(Zdscal, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSrot(7) cublasDrot(7) cublasCsrot(7) cublasZdrot(7) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(int n, T* x, int incx, T* y, int incy, R c, R s) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, x, incx, y, incy, &c, &s)); \
}
KPT_BLAS(Srot, float, float) KPT_BLAS(Drot, double, double) KPT_BLAS(Csrot, hipComplex, float)
KPT_BLAS(Zdrot, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSrotg(4) cublasDrotg(4) cublasCrotg(4) cublasZrotg(4) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(T* a, T* b, R* c, T* s) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, a, b, c, s)); \
}
KPT_BLAS(Srotg, float, float) KPT_BLAS(Drotg, double, double) KPT_BLAS(Crotg, hipComplex, float)
KPT_BLAS(Zrotg, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSrotm(6) cublasDrotm(6) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(int n, T* x, int incx, T* y, int incy, const T* param) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, n, x, incx, y, incy, param)); \
}
KPT_BLAS(Srotm, float, float) KPT_BLAS(Drotm, double, double)
#undef KPT_BLAS
//: cublasSrotmg(5) cublasDrotmg(5) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(T* d1, T* d2, T* x1, const T* y1, T* param) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, d1, d2, x1, y1, param)); \
}
KPT_BLAS(Srotmg, float, float) KPT_BLAS(Drotmg, double, double)
#undef KPT_BLAS
//: cublasSgemv(11) cublasDgemv(11) cublasCgemv(11) cublasZgemv(11) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char trans, int m, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta, \
    T* y, int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_op(trans), m, n, &alpha, a, lda, x, incx, &beta, y, \
    incy)); \
}
KPT_BLAS(Sgemv, float, float) KPT_BLAS(Dgemv, double, double) KPT_BLAS(Cgemv, hipComplex, float)
KPT_BLAS(Zgemv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSgbmv(13) cublasDgbmv(13) cublasCgbmv(13) cublasZgbmv(13) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char trans, int m, int n, int kl, int ku, T alpha, const T* a, int lda, const T* x, \
    int incx, T beta, T* y, int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_op(trans), m, n, kl, ku, &alpha, a, lda, x, incx, &beta, \
    y, incy)); \
}
KPT_BLAS(Sgbmv, float, float) KPT_BLAS(Dgbmv, double, double) KPT_BLAS(Cgbmv, hipComplex, float)
KPT_BLAS(Zgbmv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasStrmv(8) cublasDtrmv(8) cublasCtrmv(8) cublasZtrmv(8) cublasStrsv(8) cublasDtrsv(8) cublasCtrsv(8) cublasZtrsv(8) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, char trans, char unit, int n, const T* a, int lda, T* x, int incx) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), kpt_blas_op(trans), kpt_blas_diag(unit), n, a, \
    lda, x, incx)); \
}
KPT_BLAS(Strmv, float, float) KPT_BLAS(Dtrmv, double, double) KPT_BLAS(Ctrmv, hipComplex, float)
KPT_BLAS(Ztrmv, hipDoubleComplex, double) KPT_BLAS(Strsv, float, float) KPT_BLAS(Dtrsv, double, double)
KPT_BLAS(Ctrsv, hipComplex, float) KPT_BLAS(Ztrsv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasStbmv(9) cublasDtbmv(9) cublasCtbmv(9) cublasZtbmv(9) cublasStbsv(9) cublasDtbsv(9) cublasCtbsv(9) cublasZtbsv(9) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, char trans, char unit, int n, int k, const T* a, int lda, T* x, int incx) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), kpt_blas_op(trans), kpt_blas_diag(unit), n, k, \
    a, lda, x, incx)); \
}
KPT_BLAS(Stbmv, float, float) KPT_BLAS(Dtbmv, double, double) KPT_BLAS(Ctbmv, hipComplex, float)
KPT_BLAS(Ztbmv, hipDoubleComplex, double) KPT_BLAS(Stbsv, float, float) KPT_BLAS(Dtbsv, double, double)
KPT_BLAS(Ctbsv, hipComplex, float) KPT_BLAS(Ztbsv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasStpmv(7) cublasDtpmv(7) cublasCtpmv(7) cublasZtpmv(7) cublasStpsv(7) cublasDtpsv(7) cublasCtpsv(7) cublasZtpsv(7) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, char trans, char unit, int n, const T* a, T* x, int incx) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), kpt_blas_op(trans), kpt_blas_diag(unit), n, a, \
    x, incx)); \
}
KPT_BLAS(Stpmv, float, float) KPT_BLAS(Dtpmv, double, double) KPT_BLAS(Ctpmv, hipComplex, float)
KPT_BLAS(Ztpmv, hipDoubleComplex, double) KPT_BLAS(Stpsv, float, float) KPT_BLAS(Dtpsv, double, double)
KPT_BLAS(Ctpsv, hipComplex, float) KPT_BLAS(Ztpsv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSsymv(10) cublasDsymv(10) cublasChemv(10) cublasZhemv(10) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta, T* y, \
    int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), n, &alpha, a, lda, x, incx, &beta, y, incy)); \
}
KPT_BLAS(Ssymv, float, float) KPT_BLAS(Dsymv, double, double) KPT_BLAS(Chemv, hipComplex, float)
KPT_BLAS(Zhemv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSsbmv(11) cublasDsbmv(11) cublasChbmv(11) cublasZhbmv(11) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, int n, int k, T alpha, const T* a, int lda, const T* x, int incx, T beta, T* y, \
    int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), n, k, &alpha, a, lda, x, incx, &beta, y, \
    incy)); \
}
KPT_BLAS(Ssbmv, float, float) KPT_BLAS(Dsbmv, double, double) KPT_BLAS(Chbmv, hipComplex, float)
KPT_BLAS(Zhbmv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSspmv(9) cublasDspmv(9) cublasChpmv(9) cublasZhpmv(9) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, int n, T alpha, const T* a, const T* x, int incx, T beta, T* y, int incy) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), n, &alpha, a, x, incx, &beta, y, incy)); \
}
KPT_BLAS(Sspmv, float, float) KPT_BLAS(Dspmv, double, double) KPT_BLAS(Chpmv, hipComplex, float)
KPT_BLAS(Zhpmv, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSger(9) cublasDger(9) cublasCgeru(9) cublasZgeru(9) cublasCgerc(9) cublasZgerc(9) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(int m, int n, T alpha, const T* x, int incx, const T* y, int incy, T* a, int lda) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, m, n, &alpha, x, incx, y, incy, a, lda)); \
}
KPT_BLAS(Sger, float, float) KPT_BLAS(Dger, double, double) KPT_BLAS(Cgeru, hipComplex, float)
KPT_BLAS(Zgeru, hipDoubleComplex, double) KPT_BLAS(Cgerc, hipComplex, float) KPT_BLAS(Zgerc, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSsyr(7) cublasDsyr(7) cublasCher(7) cublasZher(7) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, int n, R alpha, const T* x, int incx, T* a, int lda) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), n, &alpha, x, incx, a, lda)); \
}
KPT_BLAS(Ssyr, float, float) KPT_BLAS(Dsyr, double, double) KPT_BLAS(Cher, hipComplex, float)
KPT_BLAS(Zher, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSspr(6) cublasDspr(6) cublasChpr(6) cublasZhpr(6) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, int n, R alpha, const T* x, int incx, T* a) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), n, &alpha, x, incx, a)); \
}
KPT_BLAS(Sspr, float, float) KPT_BLAS(Dspr, double, double) KPT_BLAS(Chpr, hipComplex, float)
KPT_BLAS(Zhpr, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSsyr2(9) cublasDsyr2(9) cublasCher2(9) cublasZher2(9) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, int n, T alpha, const T* x, int incx, const T* y, int incy, T* a, int lda) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), n, &alpha, x, incx, y, incy, a, lda)); \
}
KPT_BLAS(Ssyr2, float, float) KPT_BLAS(Dsyr2, double, double) KPT_BLAS(Cher2, hipComplex, float)
KPT_BLAS(Zher2, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSspr2(8) cublasDspr2(8) cublasChpr2(8) cublasZhpr2(8) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, int n, T alpha, const T* x, int incx, const T* y, int incy, T* a) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), n, &alpha, x, incx, y, incy, a)); \
}
KPT_BLAS(Sspr2, float, float) KPT_BLAS(Dspr2, double, double) KPT_BLAS(Chpr2, hipComplex, float)
KPT_BLAS(Zhpr2, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSgemm(13) cublasDgemm(13) cublasCgemm(13) cublasZgemm(13) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char transa, char transb, int m, int n, int k, T alpha, const T* a, int lda, const T* b, \
    int ldb, T beta, T* c, int ldc) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_op(transa), kpt_blas_op(transb), m, n, k, &alpha, a, lda, \
    b, ldb, &beta, c, ldc)); \
}
KPT_BLAS(Sgemm, float, float) KPT_BLAS(Dgemm, double, double) KPT_BLAS(Cgemm, hipComplex, float)
KPT_BLAS(Zgemm, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSsymm(12) cublasDsymm(12) cublasCsymm(12) cublasZsymm(12) cublasChemm(12) cublasZhemm(12) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char side, char uplo, int m, int n, T alpha, const T* a, int lda, const T* b, int ldb, \
    T beta, T* c, int ldc) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_side(side), kpt_blas_fill(uplo), m, n, &alpha, a, lda, b, \
    ldb, &beta, c, ldc)); \
}
KPT_BLAS(Ssymm, float, float) KPT_BLAS(Dsymm, double, double) KPT_BLAS(Csymm, hipComplex, float)
KPT_BLAS(Zsymm, hipDoubleComplex, double) KPT_BLAS(Chemm, hipComplex, float) KPT_BLAS(Zhemm, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSsyrk(10) cublasDsyrk(10) cublasCsyrk(10) cublasZsyrk(10) cublasCherk(10) cublasZherk(10) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, char trans, int n, int k, R alpha, const T* a, int lda, R beta, T* c, \
    int ldc) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), kpt_blas_op(trans), n, k, &alpha, a, lda, \
    &beta, c, ldc)); \
}
KPT_BLAS(Ssyrk, float, float) KPT_BLAS(Dsyrk, double, double) KPT_BLAS(Csyrk, hipComplex, hipComplex)
KPT_BLAS(Zsyrk, hipDoubleComplex, hipDoubleComplex) KPT_BLAS(Cherk, hipComplex, float)
KPT_BLAS(Zherk, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasSsyr2k(12) cublasDsyr2k(12) cublasCsyr2k(12) cublasZsyr2k(12) cublasCher2k(12) cublasZher2k(12) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char uplo, char trans, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, \
    R beta, T* c, int ldc) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_fill(uplo), kpt_blas_op(trans), n, k, &alpha, a, lda, b, \
    ldb, &beta, c, ldc)); \
}
KPT_BLAS(Ssyr2k, float, float) KPT_BLAS(Dsyr2k, double, double) KPT_BLAS(Csyr2k, hipComplex, hipComplex)
KPT_BLAS(Zsyr2k, hipDoubleComplex, hipDoubleComplex) KPT_BLAS(Cher2k, hipComplex, float)
KPT_BLAS(Zher2k, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasStrmm(11) cublasDtrmm(11) cublasCtrmm(11) cublasZtrmm(11) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char side, char uplo, char trans, char unit, int m, int n, T alpha, const T* a, int lda, \
    T* b, int ldb) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_side(side), kpt_blas_fill(uplo), kpt_blas_op(trans), \
    kpt_blas_diag(unit), m, n, &alpha, a, lda, b, ldb, b, ldb)); \
}
KPT_BLAS(Strmm, float, float) KPT_BLAS(Dtrmm, double, double) KPT_BLAS(Ctrmm, hipComplex, float)
KPT_BLAS(Ztrmm, hipDoubleComplex, double)
#undef KPT_BLAS
//: cublasStrsm(11) cublasDtrsm(11) cublasCtrsm(11) cublasZtrsm(11) < hipblas/hipblas.h: cublasInit
#define KPT_BLAS(NAME, T, R) \
inline void hipblas##NAME(char side, char uplo, char trans, char unit, int m, int n, T alpha, const T* a, int lda, \
    T* b, int ldb) { \
  kpt_blas_done(hipblas##NAME(kpt_blas().handle, kpt_blas_side(side), kpt_blas_fill(uplo), kpt_blas_op(trans), \
    kpt_blas_diag(unit), m, n, &alpha, a, lda, b, ldb)); \
}
KPT_BLAS(Strsm, float, float) KPT_BLAS(Dtrsm, double, double) KPT_BLAS(Ctrsm, hipComplex, float)
KPT_BLAS(Ztrsm, hipDoubleComplex, double)
#undef KPT_BLAS
