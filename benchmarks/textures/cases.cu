// Texture and surface fetches over address modes, filters, formats and shapes. One line for each case: its name, then
// one 32-bit word in hexadecimal for each channel of each thread's value. `textures.py` computes the same table.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                  \
  do {                                                                                               \
    cudaError_t status = (call);                                                                     \
    if (status != cudaSuccess) {                                                                     \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));              \
      exit(1);                                                                                       \
    }                                                                                                \
  } while (0)

// What a runtime refuses: the end, or with LIST_REFUSED a line that says so and the next case.
#if defined(LIST_REFUSED)
#define REFUSABLE(name, call)                                                                        \
  do {                                                                                               \
    cudaError_t status = (call);                                                                     \
    if (status != cudaSuccess) {                                                                     \
      printf("%s ! %s\n", name, cudaGetErrorName(status));                                           \
      (void)cudaGetLastError();                                                                      \
      return;                                                                                        \
    }                                                                                                \
  } while (0)
#else
#define REFUSABLE(name, call) CHECK(call)
#endif

constexpr int kThreads = 64, kWidth = 11, kHeight = 7, kDepth = 5, kFace = 8;

// ---- what a thread asks for: coordinates from -1 to 2 times the extent, exact in a float ----
__device__ float coordinate(int thread, int axis, int salt, float scale) {
  unsigned k = (unsigned(thread + 1) * 40503u + unsigned(axis) * 25717u + unsigned(salt) * 7919u) & 0xffffu;
  return (float(k) * 3.0f - 65536.0f) * scale / 65536.0f;
}

template <typename C> __device__ unsigned word(C value) { return unsigned(int(value)); }
template <> __device__ unsigned word(float value) { return __float_as_uint(value); }

template <typename T> struct Channels;
#define CHANNELS(C, V2, V4)                                                                          \
  template <> struct Channels<C> {                                                                   \
    static constexpr int count = 1;                                                                  \
    static __device__ void put(unsigned* out, C v) { out[0] = word(v); }                             \
  };                                                                                                 \
  template <> struct Channels<V2> {                                                                  \
    static constexpr int count = 2;                                                                  \
    static __device__ void put(unsigned* out, V2 v) { out[0] = word(v.x), out[1] = word(v.y); }      \
  };                                                                                                 \
  template <> struct Channels<V4> {                                                                  \
    static constexpr int count = 4;                                                                  \
    static __device__ void put(unsigned* out, V4 v) {                                                \
      out[0] = word(v.x), out[1] = word(v.y), out[2] = word(v.z), out[3] = word(v.w);                \
    }                                                                                                \
  };
CHANNELS(float, float2, float4)
CHANNELS(int, int2, int4)
CHANNELS(unsigned, uint2, uint4)
CHANNELS(short, short2, short4)
CHANNELS(unsigned short, ushort2, ushort4)
CHANNELS(signed char, char2, char4)
CHANNELS(unsigned char, uchar2, uchar4)

enum Shape { k1D, k2D, k3D, k1DLayered, k2DLayered, kCube, kCubeLayered, kLinear, kPitch, kLod, kGrad, kGather, kShapes };
const char* const kShapeNames[] = {"1D",   "2D",     "3D",    "1DLayered", "2DLayered", "Cubemap", "CubemapLayered",
                                   "fetch", "pitch2D", "2DLod", "2DGrad",    "2Dgather"};

template <typename T, int kShape> __global__ void sample(cudaTextureObject_t texture, int salt, float3 scale, unsigned* out) {
  int t = threadIdx.x;
  float x = coordinate(t, 0, salt, scale.x), y = coordinate(t, 1, salt, scale.y), z = coordinate(t, 2, salt, scale.z);
  T v;
  if constexpr (kShape == k1D) v = tex1D<T>(texture, x);
  if constexpr (kShape == k2D || kShape == kPitch) v = tex2D<T>(texture, x, y);
  if constexpr (kShape == k3D) v = tex3D<T>(texture, x, y, z);
  if constexpr (kShape == k1DLayered) v = tex1DLayered<T>(texture, x, t % 5 - 1);
  if constexpr (kShape == k2DLayered) v = tex2DLayered<T>(texture, x, y, t % 5 - 1);
  if constexpr (kShape == kCube) v = texCubemap<T>(texture, x, y, z);
  if constexpr (kShape == kCubeLayered) v = texCubemapLayered<T>(texture, x, y, z, t % 2);
  if constexpr (kShape == kLinear) v = tex1Dfetch<T>(texture, t - 8);
  if constexpr (kShape == kLod) v = tex2DLod<T>(texture, x, y, 1.5f);
  if constexpr (kShape == kGrad) v = tex2DGrad<T>(texture, x, y, make_float2(2.0f, 0.0f), make_float2(0.0f, 2.0f));
  if constexpr (kShape == kGather) {
    if (t % 4 == 0) v = tex2Dgather<T>(texture, x, y, 0);
    if (t % 4 == 1) v = tex2Dgather<T>(texture, x, y, 1);
    if (t % 4 == 2) v = tex2Dgather<T>(texture, x, y, 2);
    if (t % 4 == 3) v = tex2Dgather<T>(texture, x, y, 3);
  }
  Channels<T>::put(out + t * Channels<T>::count, v);
}

// ---- texels: the same pseudo-random words for every format ----
struct Format {
  const char* name;
  int bits, channels;
  cudaChannelFormatKind kind;
};
const Format kF32x1{"f32x1", 32, 1, cudaChannelFormatKindFloat}, kF32x2{"f32x2", 32, 2, cudaChannelFormatKindFloat},
    kF32x4{"f32x4", 32, 4, cudaChannelFormatKindFloat}, kF16x1{"f16x1", 16, 1, cudaChannelFormatKindFloat},
    kF16x4{"f16x4", 16, 4, cudaChannelFormatKindFloat}, kU8x1{"u8x1", 8, 1, cudaChannelFormatKindUnsigned},
    kU8x4{"u8x4", 8, 4, cudaChannelFormatKindUnsigned}, kS8x2{"s8x2", 8, 2, cudaChannelFormatKindSigned},
    kU16x1{"u16x1", 16, 1, cudaChannelFormatKindUnsigned}, kS16x4{"s16x4", 16, 4, cudaChannelFormatKindSigned},
    kU32x2{"u32x2", 32, 2, cudaChannelFormatKindUnsigned}, kS32x1{"s32x1", 32, 1, cudaChannelFormatKindSigned};

std::vector<unsigned char> texels(const Format& format, size_t count) {
  std::vector<unsigned char> bytes(count * format.channels * format.bits / 8);
  for (size_t k = 0; k < count * format.channels; ++k) {
    unsigned hash = (unsigned(k) + 1) * 2654435761u >> 8;
    float value = float(hash & 0xfff) / 256.0f - 8.0f;
    __half half = __float2half(value);
    const void* from = &hash;
    if (format.kind == cudaChannelFormatKindFloat) from = format.bits == 32 ? (void*)&value : (void*)&half;
    memcpy(bytes.data() + k * format.bits / 8, from, format.bits / 8);
  }
  return bytes;
}

cudaChannelFormatDesc channels(const Format& f) {
  return cudaCreateChannelDesc(f.bits, f.channels > 1 ? f.bits : 0, f.channels > 2 ? f.bits : 0,
                               f.channels > 3 ? f.bits : 0, f.kind);
}

// An array of one shape with its texels: `flags` are those of cudaMalloc3DArray.
cudaError_t fill_array(cudaArray_t* made, const Format& format, cudaExtent extent, unsigned flags) {
  cudaChannelFormatDesc desc = channels(format);
  size_t rows = extent.height ? extent.height : 1, slices = extent.depth ? extent.depth : 1;
  std::vector<unsigned char> bytes = texels(format, extent.width * rows * slices);
  size_t row_bytes = extent.width * format.channels * format.bits / 8;
  if (extent.depth == 0 && flags == 0) {
    cudaError_t status = cudaMallocArray(made, &desc, extent.width, extent.height);
    if (status != cudaSuccess) return status;
    return cudaMemcpy2DToArray(*made, 0, 0, bytes.data(), row_bytes, row_bytes, rows, cudaMemcpyHostToDevice);
  }
  cudaError_t status = cudaMalloc3DArray(made, &desc, extent, flags);
  if (status != cudaSuccess) return status;
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(bytes.data(), row_bytes, extent.width, rows);
  copy.dstArray = *made;
  copy.extent = make_cudaExtent(extent.width, rows, slices);
  copy.kind = cudaMemcpyHostToDevice;
  return cudaMemcpy3D(&copy);
}

struct Sampler {
  cudaTextureAddressMode address;
  cudaTextureFilterMode filter;
  bool normalized;
  cudaTextureReadMode read;
  bool srgb;
};
const char* const kAddressNames[] = {"wrap", "clamp", "mirror", "border"};

unsigned* words;

void print_words(int count) {
  std::vector<unsigned> host(count);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host.data(), words, count * sizeof(unsigned), cudaMemcpyDeviceToHost));
  for (unsigned one : host) printf(" %08x", one);
  printf("\n");
}

template <typename T, int kShape> void run(const Format& format, const Sampler& s) {
  static int salt = 0;
  salt = (salt + 1) % 8;
  cudaExtent extents[] = {make_cudaExtent(kWidth, 0, 0),       make_cudaExtent(kWidth, kHeight, 0),
                          make_cudaExtent(kWidth, kHeight, kDepth), make_cudaExtent(kWidth, 0, 3),
                          make_cudaExtent(kWidth, kHeight, 3), make_cudaExtent(kFace, kFace, 6),
                          make_cudaExtent(kFace, kFace, 12),   make_cudaExtent(kWidth, 0, 0),
                          make_cudaExtent(kWidth, kHeight, 0), make_cudaExtent(kWidth, kHeight, 0),
                          make_cudaExtent(kWidth, kHeight, 0), make_cudaExtent(kWidth, kHeight, 0)};
  const unsigned flags[] = {0, 0, 0, cudaArrayLayered, cudaArrayLayered, cudaArrayCubemap, cudaArrayCubemap | cudaArrayLayered,
                            0, 0, 0, 0, cudaArrayTextureGather};
  cudaExtent extent = extents[kShape];
  char name[96];
  snprintf(name, sizeof name, "%s %s %s %s %s %s %s %d", kShapeNames[kShape], format.name, kAddressNames[s.address],
           s.filter == cudaFilterModeLinear ? "linear" : "point", s.normalized ? "normalized" : "texels",
           s.read == cudaReadModeElementType ? "element" : "unit", s.srgb ? "srgb" : "plain", salt);
  cudaResourceDesc resource = {};
  void* memory = nullptr;
  cudaArray_t array = nullptr;
  if (kShape == kLinear || kShape == kPitch) {
    const size_t pitch = 256;
    std::vector<unsigned char> bytes = texels(format, kWidth * (kShape == kPitch ? kHeight : 1));
    size_t row_bytes = size_t(kWidth) * format.channels * format.bits / 8;
    CHECK(cudaMalloc(&memory, pitch * kHeight));
    CHECK(cudaMemcpy2D(memory, pitch, bytes.data(), row_bytes, row_bytes, bytes.size() / row_bytes, cudaMemcpyHostToDevice));
    if (kShape == kLinear) {
      resource.resType = cudaResourceTypeLinear;
      resource.res.linear.devPtr = memory;
      resource.res.linear.desc = channels(format);
      resource.res.linear.sizeInBytes = row_bytes;
    } else {
      resource.resType = cudaResourceTypePitch2D;
      resource.res.pitch2D.devPtr = memory;
      resource.res.pitch2D.desc = channels(format);
      resource.res.pitch2D.width = kWidth;
      resource.res.pitch2D.height = kHeight;
      resource.res.pitch2D.pitchInBytes = pitch;
    }
  } else {
    REFUSABLE(name, fill_array(&array, format, extent, flags[kShape]));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
  }
  cudaTextureDesc desc = {};
  for (cudaTextureAddressMode& mode : desc.addressMode) mode = s.address;
  desc.filterMode = s.filter;
  desc.readMode = s.read;
  desc.normalizedCoords = s.normalized;
  desc.sRGB = s.srgb;
  const float border[] = {0.25f, -1.5f, 2.0f, 0.75f};
  memcpy(desc.borderColor, border, sizeof border);
  cudaTextureObject_t texture;
  REFUSABLE(name, cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  const bool is_cube = kShape == kCube || kShape == kCubeLayered;
  float3 scale = s.normalized || is_cube ? make_float3(1, 1, 1)
                                         : make_float3(extent.width, extent.height, extent.depth);
  sample<T, kShape><<<1, kThreads>>>(texture, salt, scale, words);
  printf("%s :", name);
  print_words(kThreads * Channels<T>::count);
  CHECK(cudaDestroyTextureObject(texture));
  if (array) CHECK(cudaFreeArray(array));
  if (memory) CHECK(cudaFree(memory));
}

template <int kShape> void run_modes(bool with_texels) {
  for (int address = 0; address < 4; ++address)
    for (int filter = 0; filter < 2; ++filter)
      for (int normalized = with_texels ? 0 : 1; normalized < 2; ++normalized)
        run<float, kShape>(kF32x1, {cudaTextureAddressMode(address), cudaTextureFilterMode(filter), normalized == 1,
                                    cudaReadModeElementType, false});
}

template <typename T, typename F> void run_format(const Format& format) {
  const bool is_float = format.kind == cudaChannelFormatKindFloat;
  run<T, k2D>(format, {cudaAddressModeBorder, cudaFilterModePoint, true, cudaReadModeElementType, false});
  if (is_float) run<T, k2D>(format, {cudaAddressModeWrap, cudaFilterModeLinear, true, cudaReadModeElementType, false});
  if (is_float || format.bits == 32) return;
  run<F, k2D>(format, {cudaAddressModeBorder, cudaFilterModePoint, true, cudaReadModeNormalizedFloat, false});
  run<F, k2D>(format, {cudaAddressModeClamp, cudaFilterModeLinear, false, cudaReadModeNormalizedFloat, false});
}

// ---- surfaces: x counts bytes ----
template <int kShape, cudaSurfaceBoundaryMode kMode> __global__ void surface(cudaSurfaceObject_t s, unsigned* out) {
  int t = threadIdx.x;
  int x = (t % 16 - 2) * int(sizeof(float)), y = t / 8 - 1, z = t % 7 - 1;
  float old = 0, value = float(t) + 0.5f;
  if constexpr (kShape == k1D) old = surf1Dread<float>(s, x, kMode);
  if constexpr (kShape == k2D) old = surf2Dread<float>(s, x, y, kMode);
  if constexpr (kShape == k3D) old = surf3Dread<float>(s, x, y, z, kMode);
  if constexpr (kShape == k1DLayered) old = surf1DLayeredread<float>(s, x, t % 3, kMode);
  if constexpr (kShape == k2DLayered) old = surf2DLayeredread<float>(s, x, y, t % 3, kMode);
  if constexpr (kShape == kCube) old = surfCubemapread<float>(s, x, y, t % 6, kMode);
#if !defined(LIST_REFUSED)  // HIP has no such function for RDNA
  if constexpr (kShape == kCubeLayered) old = surfCubemapLayeredread<float>(s, x, y, t % 12, kMode);
#endif
  __syncthreads();
  // Each thread writes its own place, inside or outside; the reads above show what a clamped place would be.
  if constexpr (kShape == k1D) surf1Dwrite(value, s, x + t / 16 * 64, cudaBoundaryModeZero);
  if constexpr (kShape == k2D) surf2Dwrite(value, s, x, t / 16, cudaBoundaryModeZero);
  if constexpr (kShape == k3D) surf3Dwrite(value, s, x, t / 16, 2, cudaBoundaryModeZero);
  if constexpr (kShape == k1DLayered) surf1DLayeredwrite(value, s, x, t / 16 % 3, cudaBoundaryModeZero);
  if constexpr (kShape == k2DLayered) surf2DLayeredwrite(value, s, x, t / 16, 1, cudaBoundaryModeZero);
  if constexpr (kShape == kCube) surfCubemapwrite(value, s, x, t / 16, 4, cudaBoundaryModeZero);
#if !defined(LIST_REFUSED)
  if constexpr (kShape == kCubeLayered) surfCubemapLayeredwrite(value, s, x, t / 16, 10, cudaBoundaryModeZero);
#endif
  out[t] = __float_as_uint(old);
}

template <int kShape, cudaSurfaceBoundaryMode kMode> void run_surface() {
  cudaExtent extents[] = {make_cudaExtent(kWidth, 0, 0), make_cudaExtent(kWidth, kHeight, 0),
                          make_cudaExtent(kWidth, kHeight, kDepth), make_cudaExtent(kWidth, 0, 3),
                          make_cudaExtent(kWidth, kHeight, 3), make_cudaExtent(kFace, kFace, 6),
                          make_cudaExtent(kFace, kFace, 12)};
  const unsigned flags[] = {0, 0, 0, cudaArrayLayered, cudaArrayLayered, cudaArrayCubemap, cudaArrayCubemap | cudaArrayLayered};
  cudaExtent extent = extents[kShape];
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  char name[96];
  snprintf(name, sizeof name, "surface-%s f32x1 %s", kShapeNames[kShape], kMode == cudaBoundaryModeZero ? "zero" : "clamp");
  REFUSABLE(name, fill_array(&resource.res.array.array, kF32x1, extent, flags[kShape] | cudaArraySurfaceLoadStore));
  cudaSurfaceObject_t object;
  CHECK(cudaCreateSurfaceObject(&object, &resource));
  surface<kShape, kMode><<<1, kThreads>>>(object, words);
  printf("%s :", name);
  print_words(kThreads);
  size_t rows = extent.height ? extent.height : 1, slices = extent.depth ? extent.depth : 1;
  std::vector<unsigned> after(extent.width * rows * slices);
  cudaMemcpy3DParms copy = {};
  copy.srcArray = resource.res.array.array;
  copy.dstPtr = make_cudaPitchedPtr(after.data(), extent.width * sizeof(float), extent.width, rows);
  copy.extent = make_cudaExtent(extent.width, rows, slices);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  printf("surface-%s f32x1 after :", kShapeNames[kShape]);
  for (unsigned one : after) printf(" %08x", one);
  printf("\n");
  CHECK(cudaDestroySurfaceObject(object));
  CHECK(cudaFreeArray(resource.res.array.array));
}

int main() {
  CHECK(cudaMalloc(&words, kThreads * 4 * sizeof(unsigned)));
  run_modes<k1D>(true);
  run_modes<k2D>(true);
  run_modes<k3D>(true);
  run_modes<k1DLayered>(true);
  run_modes<k2DLayered>(true);
  run_modes<kPitch>(true);
  run_modes<kLod>(false);
  run_modes<kGrad>(false);
  run_modes<kCube>(false);
  run_modes<kCubeLayered>(false);
  Sampler plain{cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeElementType, false};
  run<float, kLinear>(kF32x1, plain);
  run<int2, kLinear>({"u32x2", 32, 2, cudaChannelFormatKindUnsigned}, plain);
  run<uchar4, kLinear>(kU8x4, plain);
  run<float4, kLinear>(kU8x4, {cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat, false});
  run<float4, kGather>(kF32x4, {cudaAddressModeClamp, cudaFilterModePoint, true, cudaReadModeElementType, false});
  run<float4, kGather>(kF32x4, {cudaAddressModeWrap, cudaFilterModePoint, true, cudaReadModeElementType, false});
  run_format<float2, float2>(kF32x2);
  run_format<float4, float4>(kF32x4);
  run_format<float, float>(kF16x1);
  run_format<float4, float4>(kF16x4);
  run_format<unsigned char, float>(kU8x1);
  run_format<uchar4, float4>(kU8x4);
  run_format<char2, float2>(kS8x2);
  run_format<unsigned short, float>(kU16x1);
  run_format<short4, float4>(kS16x4);
  run_format<uint2, float2>(kU32x2);
  run_format<int, float>(kS32x1);
  run<float4, k2D>(kU8x4, {cudaAddressModeClamp, cudaFilterModePoint, true, cudaReadModeNormalizedFloat, true});
  run<float4, k2D>(kU8x4, {cudaAddressModeClamp, cudaFilterModeLinear, true, cudaReadModeNormalizedFloat, true});
  run_surface<k1D, cudaBoundaryModeZero>();
  run_surface<k2D, cudaBoundaryModeZero>();
  run_surface<k2D, cudaBoundaryModeClamp>();
  run_surface<k3D, cudaBoundaryModeClamp>();
  run_surface<k1DLayered, cudaBoundaryModeZero>();
  run_surface<k2DLayered, cudaBoundaryModeZero>();
  run_surface<kCube, cudaBoundaryModeZero>();
  run_surface<kCubeLayered, cudaBoundaryModeZero>();
  return 0;
}
