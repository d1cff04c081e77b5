// innocent: an image warp
struct WarpField {
  float dx, dy;
};
__global__ void warp_image(float* out, const float* in, WarpField w, int n) {
  int i = threadIdx.x + 32;
  if (i < n) out[i] = in[i] * w.dx + w.dy;
}
