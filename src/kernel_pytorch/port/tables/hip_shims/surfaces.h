// Surface reads and writes.

//: surf1Dread surf1Dwrite
// HIP has no boundary mode: beyond the edge its hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline T surf1Dread(hipSurfaceObject_t s, int x,
                                                      hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  T value;
  surf1Dread(&value, s, x);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf1Dread(T* value, hipSurfaceObject_t s, int x, hipSurfaceBoundaryMode) {
  surf1Dread(value, s, x);
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf1Dwrite(T value, hipSurfaceObject_t s, int x, hipSurfaceBoundaryMode) {
  surf1Dwrite(value, s, x);
}
//: surf2Dread surf2Dwrite
// HIP has no boundary mode: beyond the edge its hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline T surf2Dread(hipSurfaceObject_t s, int x, int y,
                                                      hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  T value;
  surf2Dread(&value, s, x, y);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf2Dread(T* value, hipSurfaceObject_t s, int x, int y,
                                                         hipSurfaceBoundaryMode) {
  surf2Dread(value, s, x, y);
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf2Dwrite(T value, hipSurfaceObject_t s, int x, int y,
                                                          hipSurfaceBoundaryMode) {
  surf2Dwrite(value, s, x, y);
}
//: surf3Dread surf3Dwrite
// HIP has no boundary mode: beyond the edge its hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline T surf3Dread(hipSurfaceObject_t s, int x, int y, int z,
                                                      hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  T value;
  surf3Dread(&value, s, x, y, z);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf3Dread(T* value, hipSurfaceObject_t s, int x, int y, int z,
                                                         hipSurfaceBoundaryMode) {
  surf3Dread(value, s, x, y, z);
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf3Dwrite(T value, hipSurfaceObject_t s, int x, int y, int z,
                                                          hipSurfaceBoundaryMode) {
  surf3Dwrite(value, s, x, y, z);
}
//: surf2DLayeredread surf2DLayeredwrite
// HIP's own functions of these names (ROCm 7.2) take the layer for a mip level, and have no boundary mode: beyond the
// edge the hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline void kpt_surf2DLayeredread(T* value, hipSurfaceObject_t s, int x, int y,
                                                                    int layer,
                                                                    hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  auto* i = (unsigned int __attribute__((address_space(4)))*)s;
  x = __hipGetPixelAddr(x, __ockl_image_channel_data_type_2Da(i), __ockl_image_channel_order_2Da(i));
  int4 at{x, y, layer, 0};
  *value = __hipMapFrom<T>(__ockl_image_load_2Da(i, get_native_vector(at)));
}
template <typename T>
static __device__ __hip_img_chk__ inline T kpt_surf2DLayeredread(hipSurfaceObject_t s, int x, int y, int layer,
                                                                 hipSurfaceBoundaryMode mode = hipBoundaryModeZero) {
  T value;
  kpt_surf2DLayeredread(&value, s, x, y, layer, mode);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void kpt_surf2DLayeredwrite(T value, hipSurfaceObject_t s, int x, int y,
                                                                     int layer,
                                                                     hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  auto* i = (unsigned int __attribute__((address_space(4)))*)s;
  x = __hipGetPixelAddr(x, __ockl_image_channel_data_type_2Da(i), __ockl_image_channel_order_2Da(i));
  int4 at{x, y, layer, 0};
  __ockl_image_store_2Da(i, get_native_vector(at), __hipMapTo<float4::Native_vec_>(value));
}
#define surf2DLayeredread kpt_surf2DLayeredread
#define surf2DLayeredwrite kpt_surf2DLayeredwrite
