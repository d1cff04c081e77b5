// Arithmetic with a rounding of its own.

//: __fadd_rd __fsub_rd __fmul_rd __fmaf_rd __dadd_rd __dsub_rd __dmul_rd __fma_rd
// Rounding down: HIP's device library has it, and clang's header leaves it out without a macro of its own.
extern "C" __device__ __attribute__((const)) float __ocml_add_rtn_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_mul_rtn_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_fma_rtn_f32(float, float, float);
static __device__ inline float __fadd_rd(float a, float b) { return __ocml_add_rtn_f32(a, b); }
static __device__ inline float __fsub_rd(float a, float b) { return __ocml_add_rtn_f32(a, -b); }
static __device__ inline float __fmul_rd(float a, float b) { return __ocml_mul_rtn_f32(a, b); }
static __device__ inline float __fmaf_rd(float a, float b, float c) { return __ocml_fma_rtn_f32(a, b, c); }
extern "C" __device__ __attribute__((const)) double __ocml_add_rtn_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_mul_rtn_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_fma_rtn_f64(double, double, double);
static __device__ inline double __dadd_rd(double a, double b) { return __ocml_add_rtn_f64(a, b); }
static __device__ inline double __dsub_rd(double a, double b) { return __ocml_add_rtn_f64(a, -b); }
static __device__ inline double __dmul_rd(double a, double b) { return __ocml_mul_rtn_f64(a, b); }
static __device__ inline double __fma_rd(double a, double b, double c) { return __ocml_fma_rtn_f64(a, b, c); }
//: __fadd_ru __fsub_ru __fmul_ru __fmaf_ru __dadd_ru __dsub_ru __dmul_ru __fma_ru
// Rounding up: HIP's device library has it, and clang's header leaves it out without a macro of its own.
extern "C" __device__ __attribute__((const)) float __ocml_add_rtp_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_mul_rtp_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_fma_rtp_f32(float, float, float);
static __device__ inline float __fadd_ru(float a, float b) { return __ocml_add_rtp_f32(a, b); }
static __device__ inline float __fsub_ru(float a, float b) { return __ocml_add_rtp_f32(a, -b); }
static __device__ inline float __fmul_ru(float a, float b) { return __ocml_mul_rtp_f32(a, b); }
static __device__ inline float __fmaf_ru(float a, float b, float c) { return __ocml_fma_rtp_f32(a, b, c); }
extern "C" __device__ __attribute__((const)) double __ocml_add_rtp_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_mul_rtp_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_fma_rtp_f64(double, double, double);
static __device__ inline double __dadd_ru(double a, double b) { return __ocml_add_rtp_f64(a, b); }
static __device__ inline double __dsub_ru(double a, double b) { return __ocml_add_rtp_f64(a, -b); }
static __device__ inline double __dmul_ru(double a, double b) { return __ocml_mul_rtp_f64(a, b); }
static __device__ inline double __fma_ru(double a, double b, double c) { return __ocml_fma_rtp_f64(a, b, c); }
//: __fadd_rz __fsub_rz __fmul_rz __fmaf_rz __dadd_rz __dsub_rz __dmul_rz __fma_rz
// Rounding toward zero: HIP's device library has it, and clang's header leaves it out without a macro of its own.
extern "C" __device__ __attribute__((const)) float __ocml_add_rtz_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_mul_rtz_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_fma_rtz_f32(float, float, float);
static __device__ inline float __fadd_rz(float a, float b) { return __ocml_add_rtz_f32(a, b); }
static __device__ inline float __fsub_rz(float a, float b) { return __ocml_add_rtz_f32(a, -b); }
static __device__ inline float __fmul_rz(float a, float b) { return __ocml_mul_rtz_f32(a, b); }
static __device__ inline float __fmaf_rz(float a, float b, float c) { return __ocml_fma_rtz_f32(a, b, c); }
extern "C" __device__ __attribute__((const)) double __ocml_add_rtz_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_mul_rtz_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_fma_rtz_f64(double, double, double);
static __device__ inline double __dadd_rz(double a, double b) { return __ocml_add_rtz_f64(a, b); }
static __device__ inline double __dsub_rz(double a, double b) { return __ocml_add_rtz_f64(a, -b); }
static __device__ inline double __dmul_rz(double a, double b) { return __ocml_mul_rtz_f64(a, b); }
static __device__ inline double __fma_rz(double a, double b, double c) { return __ocml_fma_rtz_f64(a, b, c); }
