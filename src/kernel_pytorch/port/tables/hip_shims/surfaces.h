// Surface reads and writes: in plain device memory where textures.h keeps arrays there, by HIP's functions elsewhere.

//: surf1Dread surf1Dwrite surf2Dread surf2Dwrite surf3Dread surf3Dwrite surf1DLayeredread surf1DLayeredwrite surf2DLayeredread surf2DLayeredwrite surfCubemapread surfCubemapwrite surfCubemapLayeredread surfCubemapLayeredwrite < : kpt_image
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX9__) || defined(__HIP_NO_IMAGE_SUPPORT) || defined(KPT_SOFTWARE_TEXTURES)
template <int kBytes> struct kpt_surface_word { typedef unsigned int type __attribute__((ext_vector_type(kBytes / 4))); };
template <> struct kpt_surface_word<1> { typedef unsigned char type; };
template <> struct kpt_surface_word<2> { typedef unsigned short type; };
template <> struct kpt_surface_word<4> { typedef unsigned int type; };
// The place of a value, or null where the boundary mode is zero and the place is outside. x counts bytes.
template <typename Word>
static __device__ inline __attribute__((address_space(1))) Word* kpt_surface_place(hipSurfaceObject_t object, int x, int y,
                                                                                   int z, int mode) {
  const auto* image = (const __attribute__((address_space(4))) kpt_image*)object;
  const int last = image->width * image->texel_bytes - int(sizeof(Word));
  const bool is_outside = x < 0 || x > last || y < 0 || y >= image->height || z < 0 || z >= image->depth;
  if (is_outside && mode == hipBoundaryModeTrap) __builtin_trap();
  if (is_outside && mode == hipBoundaryModeZero) return nullptr;
  x = min(max(x, 0), last), y = min(max(y, 0), image->height - 1), z = min(max(z, 0), image->depth - 1);
  const unsigned long long offset = x + y * image->pitch + z * image->slice;
  return (__attribute__((address_space(1))) Word*)((__attribute__((address_space(1))) char*)image->data + offset);
}
template <typename T> static __device__ inline T kpt_surface_read(hipSurfaceObject_t object, int x, int y, int z, int mode) {
  typedef typename kpt_surface_word<sizeof(T)>::type Word;
  const auto* place = kpt_surface_place<Word>(object, x, y, z, mode);
  const Word word = place ? *place : Word(0);
  T value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}
template <typename T>
static __device__ inline void kpt_surface_write(T value, hipSurfaceObject_t object, int x, int y, int z, int mode) {
  typedef typename kpt_surface_word<sizeof(T)>::type Word;
  auto* place = kpt_surface_place<Word>(object, x, y, z, mode);
  Word word;
  __builtin_memcpy(&word, &value, sizeof value);
  if (place) *place = word;
}
#define KPT_SURFACE_FUNCTIONS(name, y, z, ...)                                                                         \
  template <typename T>                                                                                                \
  static __device__ inline T kpt_##name##read(hipSurfaceObject_t object, __VA_ARGS__, int mode = hipBoundaryModeTrap) { \
    return kpt_surface_read<T>(object, x, y, z, mode);                                                                 \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  static __device__ inline void kpt_##name##read(T* place, hipSurfaceObject_t object, __VA_ARGS__,                     \
                                                 int mode = hipBoundaryModeTrap) {                                     \
    *place = kpt_surface_read<T>(object, x, y, z, mode);                                                               \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  static __device__ inline void kpt_##name##write(T value, hipSurfaceObject_t object, __VA_ARGS__,                     \
                                                  int mode = hipBoundaryModeTrap) {                                    \
    kpt_surface_write(value, object, x, y, z, mode);                                                                   \
  }
KPT_SURFACE_FUNCTIONS(surf1D, 0, 0, int x)
KPT_SURFACE_FUNCTIONS(surf2D, y, 0, int x, int y)
KPT_SURFACE_FUNCTIONS(surf3D, y, z, int x, int y, int z)
KPT_SURFACE_FUNCTIONS(surf1DLayered, 0, z, int x, int z)
KPT_SURFACE_FUNCTIONS(surf2DLayered, y, z, int x, int y, int z)
KPT_SURFACE_FUNCTIONS(surfCubemap, y, z, int x, int y, int z)
KPT_SURFACE_FUNCTIONS(surfCubemapLayered, y, z, int x, int y, int z)
#undef KPT_SURFACE_FUNCTIONS
#define surf1Dread kpt_surf1Dread
#define surf1Dwrite kpt_surf1Dwrite
#define surf2Dread kpt_surf2Dread
#define surf2Dwrite kpt_surf2Dwrite
#define surf3Dread kpt_surf3Dread
#define surf3Dwrite kpt_surf3Dwrite
#define surf1DLayeredread kpt_surf1DLayeredread
#define surf1DLayeredwrite kpt_surf1DLayeredwrite
#define surf2DLayeredread kpt_surf2DLayeredread
#define surf2DLayeredwrite kpt_surf2DLayeredwrite
#define surfCubemapread kpt_surfCubemapread
#define surfCubemapwrite kpt_surfCubemapwrite
#define surfCubemapLayeredread kpt_surfCubemapLayeredread
#define surfCubemapLayeredwrite kpt_surfCubemapLayeredwrite
#else
// HIP has no boundary mode: beyond the edge its hardware reads zero and drops what is written (cudaBoundaryModeZero).
#define KPT_SURFACE_MODES(name, load, store, ...)                                                                      \
  template <typename T>                                                                                                \
  static __device__ __hip_img_chk__ inline T name##read(hipSurfaceObject_t s, __VA_ARGS__,                             \
                                                        hipSurfaceBoundaryMode = hipBoundaryModeZero) {                \
    T value, *place = &value;                                                                                          \
    load;                                                                                                              \
    return value;                                                                                                      \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  static __device__ __hip_img_chk__ inline void name##read(T* place, hipSurfaceObject_t s, __VA_ARGS__,                \
                                                           hipSurfaceBoundaryMode) {                                   \
    load;                                                                                                              \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  static __device__ __hip_img_chk__ inline void name##write(T value, hipSurfaceObject_t s, __VA_ARGS__,                \
                                                            hipSurfaceBoundaryMode) {                                  \
    store;                                                                                                            \
  }
KPT_SURFACE_MODES(surf1D, surf1Dread(place, s, x), surf1Dwrite(value, s, x), int x)
KPT_SURFACE_MODES(surf2D, surf2Dread(place, s, x, y), surf2Dwrite(value, s, x, y), int x, int y)
KPT_SURFACE_MODES(surf3D, surf3Dread(place, s, x, y, z), surf3Dwrite(value, s, x, y, z), int x, int y, int z)
KPT_SURFACE_MODES(surfCubemap, surfCubemapread(place, s, x, y, z), surfCubemapwrite(value, s, x, y, z), int x, int y, int z)
#undef KPT_SURFACE_MODES
// HIP's own functions of these names (ROCm 7.2) take the layer for a mip level, and have no boundary mode: beyond the
// edge the hardware reads zero and drops what is written (cudaBoundaryModeZero).
#define KPT_LAYERED_SURFACE(name, shape, at, ...)                                                                      \
  template <typename T>                                                                                                \
  static __device__ __hip_img_chk__ inline void kpt_##name##read(T* value, hipSurfaceObject_t s, __VA_ARGS__,          \
                                                                 int layer,                                            \
                                                                 hipSurfaceBoundaryMode = hipBoundaryModeZero) {       \
    auto* i = (unsigned int __attribute__((address_space(4)))*)s;                                                      \
    x = __hipGetPixelAddr(x, __ockl_image_channel_data_type_##shape(i), __ockl_image_channel_order_##shape(i));        \
    *value = __hipMapFrom<T>(__ockl_image_load_##shape(i, get_native_vector(at)));                                     \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  static __device__ __hip_img_chk__ inline T kpt_##name##read(hipSurfaceObject_t s, __VA_ARGS__, int layer,            \
                                                              hipSurfaceBoundaryMode mode = hipBoundaryModeZero) {     \
    T value;                                                                                                           \
    kpt_##name##read(&value, s, KPT_LAYERED_##shape, layer, mode);                                                     \
    return value;                                                                                                      \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  static __device__ __hip_img_chk__ inline void kpt_##name##write(T value, hipSurfaceObject_t s, __VA_ARGS__,          \
                                                                  int layer,                                           \
                                                                  hipSurfaceBoundaryMode = hipBoundaryModeZero) {      \
    auto* i = (unsigned int __attribute__((address_space(4)))*)s;                                                      \
    x = __hipGetPixelAddr(x, __ockl_image_channel_data_type_##shape(i), __ockl_image_channel_order_##shape(i));        \
    __ockl_image_store_##shape(i, get_native_vector(at), __hipMapTo<float4::Native_vec_>(value));                      \
  }
#define KPT_LAYERED_1Da x
#define KPT_LAYERED_2Da x, y
KPT_LAYERED_SURFACE(surf1DLayered, 1Da, (int2{x, layer}), int x)
KPT_LAYERED_SURFACE(surf2DLayered, 2Da, (int4{x, y, layer, 0}), int x, int y)
#undef KPT_LAYERED_SURFACE
#undef KPT_LAYERED_1Da
#undef KPT_LAYERED_2Da
#define surf1DLayeredread kpt_surf1DLayeredread
#define surf1DLayeredwrite kpt_surf1DLayeredwrite
#define surf2DLayeredread kpt_surf2DLayeredread
#define surf2DLayeredwrite kpt_surf2DLayeredwrite
#endif
