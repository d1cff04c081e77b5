#include <hip/hip_runtime.h>

#include <cmath>

// Every float function of the device library that CUDA code commonly calls, plain and through std::.
__global__ void unary(float* out, float x, float y) {
  float r = sinf(x) + cosf(x) + tanf(x) + asinf(x) + acosf(x) + atanf(x) + sinhf(x) + coshf(x) + tanhf(x);
  r += asinhf(x) + acoshf(x) + atanhf(x) + expf(x) + exp2f(x) + exp10f(x) + expm1f(x) + logf(x) + log2f(x) + log10f(x);
  r += log1pf(x) + sqrtf(x) + rsqrtf(x) + cbrtf(x) + rcbrtf(x) + erff(x) + erfcf(x) + erfinvf(x) + erfcinvf(x) + erfcxf(x);
  r += tgammaf(x) + lgammaf(x) + j0f(x) + j1f(x) + y0f(x) + y1f(x) + jnf(2, x) + ynf(3, x) + normcdff(x) + normcdfinvf(x);
  r += sinpif(x) + cospif(x) + ceilf(x) + floorf(x) + truncf(x) + roundf(x) + rintf(x) + nearbyintf(x) + fabsf(x) + logbf(x);
  r += cyl_bessel_i0f(x) + cyl_bessel_i1f(x);
  r += powf(x, y) + atan2f(x, y) + fmodf(x, y) + remainderf(x, y) + hypotf(x, y) + rhypotf(x, y) + fdimf(x, y) + fmaxf(x, y);
  r += fminf(x, y) + copysignf(x, y) + nextafterf(x, y) + fmaf(x, y, r) + ldexpf(x, 3) + scalbnf(x, 2) + norm3df(x, y, r);
  r += norm4df(x, y, r, x) + rnorm3df(x, y, r) + fdividef(x, y) + powif(x, 3) + float(ilogbf(x)) + float(lrintf(x)) + float(llroundf(x));
  float s, c, whole;
  int e, q;
  sincosf(x, &s, &c);
  r += s + c + modff(x, &whole) + whole + frexpf(x, &e) + float(e) + remquof(x, y, &q) + float(q);
  sincospif(x, &s, &c);
  r += s + c + (isnan(x) ? 1.0f : 0.0f) + (isinf(x) ? 1.0f : 0.0f) + (isfinite(y) ? 1.0f : 0.0f) + (signbit(y) ? 1.0f : 0.0f);
  out[threadIdx.x] = r;
}

__global__ void through_std(float* out, float x, float y) {
  float r = std::sin(x) + std::exp(x) + std::pow(x, y) + std::sqrt(x) + std::abs(x) + std::fabs(y) + std::floor(x);
  r += std::fmax(x, y) + std::hypot(x, y) + std::tanh(x) + std::log1p(x) + std::round(x) + float(std::lround(y));
  r += std::isnan(x) ? 1.0f : std::fmod(x, y) + std::min(x, y) + std::max(x, y) + sin(x) + pow(x, 2) + abs(x) + max(x, y);
  out[threadIdx.x] = r;
}

__global__ void fast(float* out, float x, float y) {
  float s, c;
  __sincosf(x, &s, &c);
  out[threadIdx.x] = __sinf(x) + __cosf(x) + __tanf(x) + __expf(x) + __exp10f(x) + __logf(x) + __log2f(x) + __log10f(x) +
                     __powf(x, y) + __fdividef(x, y) + __frcp_rn(x) + __fsqrt_rn(x) + __frsqrt_rn(x) + __saturatef(x) +
                     __fadd_rn(x, y) + __fsub_rn(x, y) + __fmul_rn(x, y) + __fmaf_rn(x, y, s) + __fdiv_rn(x, y) + s + c;
}
