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
//: __fdiv_rd __frcp_rd __fsqrt_rd __ddiv_rd __drcp_rd __dsqrt_rd __fdiv_ru __frcp_ru __fsqrt_ru __ddiv_ru __drcp_ru __dsqrt_ru __fdiv_rz __frcp_rz __fsqrt_rz __ddiv_rz __drcp_rz __dsqrt_rz
// Quotients and roots: from a number nearby to the one whose remainder, which one fma gives exactly, has the right sign.
static __device__ inline float kpt_next(float x, bool up) { return nextafterf(x, up ? __builtin_inff() : -__builtin_inff()); }
static __device__ inline double kpt_next(double x, bool up) { return nextafter(x, up ? __builtin_inf() : -__builtin_inf()); }
// Below 0: q is above the quotient; not a number: there is nothing to look for.
static __device__ inline double kpt_left(float q, float a, float b) {
  const double left = fma(-double(q), double(b), double(a));
  return b == 0 ? __builtin_nan("") : b < 0 ? -left : left;
}
static __device__ inline double kpt_left(double q, double a, double b) {
  if (a == 0 || b == 0) return b == 0 ? __builtin_nan("") : q > 0 ? -1 : q < 0 ? 1 : q - q;
  const double scale = fabs(a) < 0x1p-900 ? 0x1p110 : 1.0;  // the remainder must not underflow
  const double left = fma(-(q * scale), b, a * scale);
  return b < 0 ? -left : left;
}
static __device__ inline double kpt_left(float s, float a) { return s < 0 ? 1 : fma(-double(s), double(s), double(a)); }
static __device__ inline double kpt_left(double s, double a) {
  if (a == 0 || s < 0) return s > 0 ? -1 : s < 0 ? 1 : s - s;
  const bool is_small = a < 0x1p-900;
  const double root = is_small ? s * 0x1p55 : s;
  return fma(-root, root, is_small ? a * 0x1p110 : a);
}
template <typename T, typename... Args> __device__ inline T kpt_down(T value, Args... args) {
  while (kpt_left(value, args...) < 0) value = kpt_next(value, false);
  for (T above = kpt_next(value, true); kpt_left(above, args...) >= 0; above = kpt_next(value, true)) value = above;
  return value;
}
template <typename T, typename... Args> __device__ inline T kpt_up(T value, Args... args) {
  while (kpt_left(value, args...) > 0) value = kpt_next(value, true);
  for (T below = kpt_next(value, false); kpt_left(below, args...) <= 0; below = kpt_next(value, false)) value = below;
  return value;
}
template <typename T, typename... Args> __device__ inline T kpt_toward_zero(T value, Args... args) {
  return value > 0 ? kpt_down(value, args...) : value < 0 ? kpt_up(value, args...) : value;
}
static __device__ inline float __fdiv_rd(float a, float b) { return kpt_down(a / b, a, b); }
static __device__ inline float __frcp_rd(float b) { return kpt_down(1.0f / b, 1.0f, b); }
static __device__ inline float __fsqrt_rd(float a) { return kpt_down(sqrtf(a), a); }
static __device__ inline double __ddiv_rd(double a, double b) { return kpt_down(a / b, a, b); }
static __device__ inline double __drcp_rd(double b) { return kpt_down(1.0 / b, 1.0, b); }
static __device__ inline double __dsqrt_rd(double a) { return kpt_down(sqrt(a), a); }
static __device__ inline float __fdiv_ru(float a, float b) { return kpt_up(a / b, a, b); }
static __device__ inline float __frcp_ru(float b) { return kpt_up(1.0f / b, 1.0f, b); }
static __device__ inline float __fsqrt_ru(float a) { return kpt_up(sqrtf(a), a); }
static __device__ inline double __ddiv_ru(double a, double b) { return kpt_up(a / b, a, b); }
static __device__ inline double __drcp_ru(double b) { return kpt_up(1.0 / b, 1.0, b); }
static __device__ inline double __dsqrt_ru(double a) { return kpt_up(sqrt(a), a); }
static __device__ inline float __fdiv_rz(float a, float b) { return kpt_toward_zero(a / b, a, b); }
static __device__ inline float __frcp_rz(float b) { return kpt_toward_zero(1.0f / b, 1.0f, b); }
static __device__ inline float __fsqrt_rz(float a) { return kpt_toward_zero(sqrtf(a), a); }
static __device__ inline double __ddiv_rz(double a, double b) { return kpt_toward_zero(a / b, a, b); }
static __device__ inline double __drcp_rz(double b) { return kpt_toward_zero(1.0 / b, 1.0, b); }
static __device__ inline double __dsqrt_rz(double a) { return kpt_toward_zero(sqrt(a), a); }
