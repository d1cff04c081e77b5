// Texture references (`texture<float, 2> image;` bound by cudaBindTexture*) over the objects of textures.h.

//: kpt_bind_texture < : kpt_image kpt_tex
// HIP's compiler keeps a copy of the reference on the device; its object is what a fetch reads there.
static inline hipError_t kpt_bind(const textureReference* reference, const hipResourceDesc* resource) {
  textureReference* host = const_cast<textureReference*>(reference);
  void *device = nullptr, *object = nullptr;
  hipError_t status = hipGetSymbolAddress(&device, reinterpret_cast<const void*>(reference));
  if (status != hipSuccess) return status;
  if (resource) {
    hipTextureDesc sampler = {};
    for (int axis = 0; axis < 3; ++axis) sampler.addressMode[axis] = host->addressMode[axis];
    sampler.filterMode = host->filterMode;
    sampler.readMode = host->readMode;
    sampler.normalizedCoords = host->normalized;
    sampler.sRGB = host->sRGB;
    status = kpt_make_object(&object, resource, &sampler);
    if (status != hipSuccess) return status;
  }
  if (host->textureObject) status = hipFree(reinterpret_cast<void*>(host->textureObject));
  host->textureObject = reinterpret_cast<hipTextureObject_t>(object);
  if (status != hipSuccess) return status;
  return hipMemcpy(device, host, sizeof *host, hipMemcpyHostToDevice);
}
static inline hipError_t kpt_hipBindTexture(size_t* offset, const textureReference* reference, const void* memory,
                                            const hipChannelFormatDesc* desc, size_t bytes = 0xffffffffu) {
  if (!kpt_in_software()) return hipBindTexture(offset, reference, memory, desc, bytes);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void*>(memory);
  resource.res.linear.desc = *desc;
  resource.res.linear.sizeInBytes = bytes;
  if (offset) *offset = 0;
  return kpt_bind(reference, &resource);
}
static inline hipError_t kpt_hipBindTexture2D(size_t* offset, const textureReference* reference, const void* memory,
                                              const hipChannelFormatDesc* desc, size_t width, size_t height, size_t pitch) {
  if (!kpt_in_software()) return hipBindTexture2D(offset, reference, memory, desc, width, height, pitch);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = const_cast<void*>(memory);
  resource.res.pitch2D.desc = *desc;
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  if (offset) *offset = 0;
  return kpt_bind(reference, &resource);
}
static inline hipError_t kpt_hipBindTextureToArray(const textureReference* reference, hipArray_const_t array,
                                                   const hipChannelFormatDesc* desc) {
  if (!kpt_in_software()) return hipBindTextureToArray(reference, array, desc);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = const_cast<hipArray_t>(array);
  return kpt_bind(reference, &resource);
}
static inline hipError_t kpt_hipUnbindTexture(const textureReference* reference) {
  return kpt_in_software() ? kpt_bind(reference, nullptr) : hipUnbindTexture(reference);
}
static inline hipError_t kpt_hipGetTextureReference(const textureReference** reference, const void* symbol) {
  if (!kpt_in_software()) return hipGetTextureReference(reference, symbol);
  *reference = static_cast<const textureReference*>(symbol);
  return hipSuccess;
}
// The C++ forms, which take the reference itself.
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipBindTexture(size_t* offset, const texture<T, kShape, kMode>& reference, const void* memory,
                                            const hipChannelFormatDesc& desc, size_t bytes = 0xffffffffu) {
  return kpt_hipBindTexture(offset, &reference, memory, &desc, bytes);
}
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipBindTexture(size_t* offset, const texture<T, kShape, kMode>& reference, const void* memory,
                                            size_t bytes = 0xffffffffu) {
  return kpt_hipBindTexture(offset, &reference, memory, &reference.channelDesc, bytes);
}
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipBindTexture2D(size_t* offset, const texture<T, kShape, kMode>& reference,
                                              const void* memory, const hipChannelFormatDesc& desc, size_t width,
                                              size_t height, size_t pitch) {
  return kpt_hipBindTexture2D(offset, &reference, memory, &desc, width, height, pitch);
}
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipBindTexture2D(size_t* offset, const texture<T, kShape, kMode>& reference,
                                              const void* memory, size_t width, size_t height, size_t pitch) {
  return kpt_hipBindTexture2D(offset, &reference, memory, &reference.channelDesc, width, height, pitch);
}
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipBindTextureToArray(const texture<T, kShape, kMode>& reference, hipArray_const_t array,
                                                   const hipChannelFormatDesc& desc) {
  return kpt_hipBindTextureToArray(&reference, array, &desc);
}
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipBindTextureToArray(const texture<T, kShape, kMode>& reference, hipArray_const_t array) {
  hipChannelFormatDesc desc;
  hipError_t status = kpt_hipGetChannelDesc(&desc, array);
  return status == hipSuccess ? kpt_hipBindTextureToArray(&reference, array, &desc) : status;
}
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipUnbindTexture(const texture<T, kShape, kMode>& reference) {
  return kpt_hipUnbindTexture(&reference);
}
template <typename T, int kShape, hipTextureReadMode kMode>
static inline hipError_t kpt_hipGetTextureAlignmentOffset(size_t* offset, const texture<T, kShape, kMode>& reference) {
  if (!kpt_in_software()) return hipGetTextureAlignmentOffset(offset, &reference);
  *offset = 0;
  return hipSuccess;
}
#define hipBindTexture kpt_hipBindTexture
#define hipBindTexture2D kpt_hipBindTexture2D
#define hipBindTextureToArray kpt_hipBindTextureToArray
#define hipUnbindTexture kpt_hipUnbindTexture
#define hipGetTextureReference kpt_hipGetTextureReference
#define hipGetTextureAlignmentOffset kpt_hipGetTextureAlignmentOffset
