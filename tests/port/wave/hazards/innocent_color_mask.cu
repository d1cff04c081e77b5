// innocent: a mask of colour bits
__device__ int channels(unsigned rgba) {
  unsigned mask = 0xff000000u;
  return __popc(rgba & mask) + __clz(rgba);
}
