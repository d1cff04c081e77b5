// buggy: KP324
int warp_size_of(bool is_rocm) { return is_rocm ? 64 : 32; }
