// innocent: fields called mask and lane that hold neither
struct Fragment {
  unsigned mask;
  int lane;
};
__device__ unsigned select(const Fragment& f, unsigned data) { return data & f.mask & 0x0000ffff; }
