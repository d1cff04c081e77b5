// The driver's arrays, copies and objects (cuArrayCreate, cuMemcpy2D, cuTexObjectCreate) over those of textures.h.

//: kpt_driver_textures < : kpt_image
static inline hipChannelFormatDesc kpt_format(hipArray_Format format, unsigned int channels) {
  int bits = 32;
  if (format == HIP_AD_FORMAT_UNSIGNED_INT8 || format == HIP_AD_FORMAT_SIGNED_INT8) bits = 8;
  if (format == HIP_AD_FORMAT_UNSIGNED_INT16 || format == HIP_AD_FORMAT_SIGNED_INT16) bits = 16;
  if (format == HIP_AD_FORMAT_HALF) bits = 16;
  hipChannelFormatKind kind = hipChannelFormatKindUnsigned;
  if (format >= HIP_AD_FORMAT_SIGNED_INT8) kind = hipChannelFormatKindSigned;
  if (format >= HIP_AD_FORMAT_HALF) kind = hipChannelFormatKindFloat;
  return hipChannelFormatDesc{bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind};
}
static inline hipError_t kpt_hipArray3DCreate(hipArray_t* array, const HIP_ARRAY3D_DESCRIPTOR* asked) {
  if (!kpt_in_software()) return hipArray3DCreate(array, asked);
  if (!asked) return hipErrorInvalidValue;
  const hipChannelFormatDesc desc = kpt_format(asked->Format, asked->NumChannels);
  return kpt_hipMalloc3DArray(array, &desc, hipExtent{asked->Width, asked->Height, asked->Depth}, asked->Flags);
}
static inline hipError_t kpt_hipArrayCreate(hipArray_t* array, const HIP_ARRAY_DESCRIPTOR* asked) {
  if (!kpt_in_software()) return hipArrayCreate(array, asked);
  if (!asked) return hipErrorInvalidValue;
  const hipChannelFormatDesc desc = kpt_format(asked->Format, asked->NumChannels);
  return kpt_hipMalloc3DArray(array, &desc, hipExtent{asked->Width, asked->Height, 0}, 0);
}
static inline hipError_t kpt_hipArrayDestroy(hipArray_t array) {
  return kpt_array_of(array) ? kpt_hipFreeArray(array) : hipArrayDestroy(array);
}
// One side of a copy: an array of ours becomes plain device memory. hip_Memcpy2D and HIP_MEMCPY3D name the fields alike.
#define KPT_PLAIN_SIDE(copy, side)                                                 \
  if (copy.side##MemoryType == hipMemoryTypeArray) {                               \
    if (const kpt_array* ours = kpt_array_of(copy.side##Array)) {                  \
      copy.side##MemoryType = hipMemoryTypeDevice;                                 \
      copy.side##Array = nullptr;                                                  \
      copy.side##Device = reinterpret_cast<hipDeviceptr_t>(ours->data);            \
      copy.side##Pitch = ours->width * ours->texel_bytes;                          \
      kpt_set_height(copy, &copy.side##Y - &copy.srcY, ours->height);              \
    }                                                                              \
  }
static inline void kpt_set_height(hip_Memcpy2D&, std::ptrdiff_t, size_t) {}
static inline void kpt_set_height(HIP_MEMCPY3D& copy, std::ptrdiff_t is_target, size_t rows) {
  (is_target ? copy.dstHeight : copy.srcHeight) = rows;
}
static inline hipError_t kpt_hipMemcpyParam2D(const hip_Memcpy2D* asked) {
  hip_Memcpy2D plain = *asked;
  KPT_PLAIN_SIDE(plain, src)
  KPT_PLAIN_SIDE(plain, dst)
  return hipMemcpyParam2D(&plain);
}
static inline hipError_t kpt_hipMemcpyParam2DAsync(const hip_Memcpy2D* asked, hipStream_t stream = 0) {
  hip_Memcpy2D plain = *asked;
  KPT_PLAIN_SIDE(plain, src)
  KPT_PLAIN_SIDE(plain, dst)
  return hipMemcpyParam2DAsync(&plain, stream);
}
static inline hipError_t kpt_hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* asked) { return kpt_hipMemcpyParam2D(asked); }
static inline hipError_t kpt_hipDrvMemcpy3D(const HIP_MEMCPY3D* asked) {
  HIP_MEMCPY3D plain = *asked;
  KPT_PLAIN_SIDE(plain, src)
  KPT_PLAIN_SIDE(plain, dst)
  return hipDrvMemcpy3D(&plain);
}
static inline hipError_t kpt_hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* asked, hipStream_t stream) {
  HIP_MEMCPY3D plain = *asked;
  KPT_PLAIN_SIDE(plain, src)
  KPT_PLAIN_SIDE(plain, dst)
  return hipDrvMemcpy3DAsync(&plain, stream);
}
#undef KPT_PLAIN_SIDE
static inline hipError_t kpt_hipMemcpyHtoA(hipArray_t to, size_t offset, const void* from, size_t bytes) {
  kpt_array* ours = kpt_array_of(to);
  return ours ? hipMemcpy(ours->data + offset, from, bytes, hipMemcpyHostToDevice) : hipMemcpyHtoA(to, offset, from, bytes);
}
static inline hipError_t kpt_hipMemcpyAtoH(void* to, hipArray_t from, size_t offset, size_t bytes) {
  kpt_array* ours = kpt_array_of(from);
  return ours ? hipMemcpy(to, ours->data + offset, bytes, hipMemcpyDeviceToHost) : hipMemcpyAtoH(to, from, offset, bytes);
}
// The driver's description as the runtime's.
static inline hipResourceDesc kpt_resource(const HIP_RESOURCE_DESC* asked) {
  hipResourceDesc resource = {};
  resource.resType = static_cast<hipResourceType>(asked->resType);
  if (asked->resType == HIP_RESOURCE_TYPE_ARRAY) {
    resource.res.array.array = asked->res.array.hArray;
  } else if (asked->resType == HIP_RESOURCE_TYPE_LINEAR) {
    resource.res.linear.devPtr = reinterpret_cast<void*>(asked->res.linear.devPtr);
    resource.res.linear.desc = kpt_format(asked->res.linear.format, asked->res.linear.numChannels);
    resource.res.linear.sizeInBytes = asked->res.linear.sizeInBytes;
  } else if (asked->resType == HIP_RESOURCE_TYPE_PITCH2D) {
    resource.res.pitch2D.devPtr = reinterpret_cast<void*>(asked->res.pitch2D.devPtr);
    resource.res.pitch2D.desc = kpt_format(asked->res.pitch2D.format, asked->res.pitch2D.numChannels);
    resource.res.pitch2D.width = asked->res.pitch2D.width;
    resource.res.pitch2D.height = asked->res.pitch2D.height;
    resource.res.pitch2D.pitchInBytes = asked->res.pitch2D.pitchInBytes;
  }
  return resource;
}
// Without HIP_TRSF_READ_AS_INTEGER the driver reads integers of 8 and 16 bits as fractions.
static inline hipError_t kpt_hipTexObjectCreate(hipTextureObject_t* object, const HIP_RESOURCE_DESC* asked,
                                                const HIP_TEXTURE_DESC* how, const HIP_RESOURCE_VIEW_DESC* view) {
  if (!kpt_in_software()) return hipTexObjectCreate(object, asked, how, view);
  if (!asked || !how) return hipErrorInvalidValue;
  if (view && view->format != HIP_RES_VIEW_FORMAT_NONE) return hipErrorNotSupported;
  const hipResourceDesc resource = kpt_resource(asked);
  const kpt_array* array = asked->resType == HIP_RESOURCE_TYPE_ARRAY ? kpt_array_of(asked->res.array.hArray) : nullptr;
  const hipChannelFormatDesc desc = array                                            ? array->desc
                                    : asked->resType == HIP_RESOURCE_TYPE_LINEAR ? resource.res.linear.desc
                                                                                     : resource.res.pitch2D.desc;
  hipTextureDesc sampler = {};
  for (int axis = 0; axis < 3; ++axis)
    sampler.addressMode[axis] = static_cast<hipTextureAddressMode>(how->addressMode[axis]);
  sampler.filterMode = static_cast<hipTextureFilterMode>(how->filterMode);
  const bool as_stored = how->flags & HIP_TRSF_READ_AS_INTEGER || desc.x == 32;
  sampler.readMode = as_stored ? hipReadModeElementType : hipReadModeNormalizedFloat;
  sampler.normalizedCoords = (how->flags & HIP_TRSF_NORMALIZED_COORDINATES) != 0;
  sampler.sRGB = (how->flags & HIP_TRSF_SRGB) != 0;
  std::memcpy(sampler.borderColor, how->borderColor, sizeof sampler.borderColor);
  return kpt_make_object(reinterpret_cast<void**>(object), &resource, &sampler);
}
static inline hipError_t kpt_hipTexObjectDestroy(hipTextureObject_t object) {
  return kpt_in_software() ? hipFree(reinterpret_cast<void*>(object)) : hipTexObjectDestroy(object);
}
// cuSurfObjectCreate: HIP has the runtime's form alone.
static inline hipError_t kpt_hipCreateSurfaceObject(hipSurfaceObject_t* object, const HIP_RESOURCE_DESC* asked) {
  if (!asked) return hipErrorInvalidValue;
  const hipResourceDesc resource = kpt_resource(asked);
  return kpt_hipCreateSurfaceObject(object, &resource);
}
#define hipArray3DCreate kpt_hipArray3DCreate
#define hipArrayCreate kpt_hipArrayCreate
#define hipArrayDestroy kpt_hipArrayDestroy
#define hipMemcpyParam2D kpt_hipMemcpyParam2D
#define hipMemcpyParam2DAsync kpt_hipMemcpyParam2DAsync
#define hipDrvMemcpy2DUnaligned kpt_hipDrvMemcpy2DUnaligned
#define hipDrvMemcpy3D kpt_hipDrvMemcpy3D
#define hipDrvMemcpy3DAsync kpt_hipDrvMemcpy3DAsync
#define hipMemcpyHtoA kpt_hipMemcpyHtoA
#define hipMemcpyAtoH kpt_hipMemcpyAtoH
#define hipTexObjectCreate kpt_hipTexObjectCreate
#define hipTexObjectDestroy kpt_hipTexObjectDestroy
