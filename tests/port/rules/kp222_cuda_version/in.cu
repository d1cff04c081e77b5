#if CUDA_VERSION < 9000
#error "CUDA 9 or newer is needed"
#endif

int modern() {
#if defined(CUDART_VERSION) && CUDART_VERSION >= 11000
  return 11;
#endif
  return 0;
}

int built_with() { return CUDART_VERSION; }
