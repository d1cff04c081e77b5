#include <cufftw.h>

void rows(fftwf_complex* data, int n, int count) {
  fftwf_plan plan = fftwf_plan_many_dft(1, &n, count, data, &n, 1, n, data, &n, 1, n, FFTW_FORWARD, FFTW_ESTIMATE);
  fftwf_execute(plan);
  fftwf_destroy_plan(plan);
}

void column(fftw_complex* data, fftw_iodim size) {
  fftw_plan plan = fftw_plan_guru_dft(1, &size, 0, nullptr, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
}
