#include <hip/hip_runtime.h>

#include <cmath>

__global__ void unary(double* out, double x, double y) {
  double r = sin(x) + cos(x) + tan(x) + asin(x) + acos(x) + atan(x) + sinh(x) + cosh(x) + tanh(x) + asinh(x) + acosh(x);
  r += atanh(x) + exp(x) + exp2(x) + exp10(x) + expm1(x) + log(x) + log2(x) + log10(x) + log1p(x) + sqrt(x) + rsqrt(x);
  r += cbrt(x) + rcbrt(x) + erf(x) + erfc(x) + erfinv(x) + tgamma(x) + lgamma(x) + j0(x) + j1(x) + y0(x) + y1(x) + jn(2, x);
  r += normcdf(x) + sinpi(x) + cospi(x) + ceil(x) + floor(x) + trunc(x) + round(x) + rint(x) + nearbyint(x) + fabs(x);
  r += pow(x, y) + atan2(x, y) + fmod(x, y) + remainder(x, y) + hypot(x, y) + fdim(x, y) + fmax(x, y) + fmin(x, y);
  r += copysign(x, y) + nextafter(x, y) + fma(x, y, r) + ldexp(x, 3) + norm3d(x, y, r) + norm4d(x, y, r, x) + pow(x, 3);
  double s, c, whole;
  int e;
  sincos(x, &s, &c);
  r += s + c + modf(x, &whole) + whole + frexp(x, &e) + e + std::sin(x) + std::pow(x, 2.0) + std::abs(y);
  r += __dadd_rn(x, y) + __dmul_rn(x, y) + __ddiv_rn(x, y) + __dsqrt_rn(x) + __fma_rn(x, y, r) + __drcp_rn(x);
  out[threadIdx.x] = std::isnan(r) ? 0.0 : r;
}

__global__ void mixed(double* out, float f, int i, double d) {
  out[threadIdx.x] = sqrt(i) + pow(f, i) + pow(d, f) + fmax(f, d) + std::pow(i, 2) + std::sqrt(i) + max(f, d) + min(i, 7u);
}
