#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>

#include <complex>

__global__ void hip_complex(hipFloatComplex* f, hipDoubleComplex* d) {
  const int i = threadIdx.x;
  f[i] = hipCaddf(hipCmulf(f[i], hipConjf(f[i])), hipCdivf(f[i], make_hipFloatComplex(1.0f, 2.0f)));
  f[i].x += hipCabsf(f[i]) + hipCrealf(f[i]);
  d[i] = hipCfma(d[i], d[i], make_hipDoubleComplex(hipCabs(d[i]), 0.0));
}

template <class T> __global__ void std_complex(std::complex<T>* z, T scale) {
  const int i = threadIdx.x;
  std::complex<T> w = z[i] * z[i] / std::complex<T>(T(1), scale);
  w += std::exp(z[i]) + std::conj(w) * scale + std::polar(T(1), scale);
  z[i] = std::abs(w) > T(2) ? std::sqrt(w) : w + std::norm(w);
}

void launch(std::complex<float>* f, std::complex<double>* d) {
  std_complex<<<1, 64>>>(f, 2.0f);
  std_complex<<<1, 64>>>(d, 2.0);
}
