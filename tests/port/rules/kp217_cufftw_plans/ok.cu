#include <cufftw.h>

// fftw_plan_many_dft in a comment.
void line(fftw_complex* data, int n) {
  fftw_plan plan = fftw_plan_dft_1d(n, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
}
