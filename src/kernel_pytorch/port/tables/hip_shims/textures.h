// Arrays, textures and surfaces in plain device memory, for GPUs whose image units are missing or do less than CUDA asks
// for: every gfx9 (MI100 to MI350). Elsewhere HIP's own functions are called, unless KPT_SOFTWARE_TEXTURES is defined for
// the whole program. The host asks the current device, device code its target: one program may serve both kinds.

//: kpt_image < hip/hip_runtime_api.h hip/hip_texture_types.h hip/surface_types.h cmath cstring new
// What a texture or surface object points at in device memory.
struct kpt_image {
  void* data;
  unsigned long long pitch, slice;  // bytes from row to row, from slice (or layer, or face) to slice
  int width, height, depth, texel_bytes, channels;
  int bits, kind;  // of a channel; hipChannelFormatKind
  int is_unit, is_srgb, is_linear, is_normalized, address[3];
  float border[4], steps, inverse;  // steps: the value that is read as 1.0
  hipResourceDesc resource;
  hipTextureDesc sampler;
};
// What hipArray_t points at for such a device: dense rows.
struct kpt_array {
  unsigned long long mark;
  char* data;
  hipChannelFormatDesc desc;
  size_t width, height, depth, texel_bytes;  // height and depth are 1 where there are none
  hipExtent extent;
  unsigned int flags;
};
static const unsigned long long kpt_array_mark = 0x4b50544152524159ull;

static inline bool kpt_in_software() {
#if defined(KPT_SOFTWARE_TEXTURES)
  return true;
#else
  static signed char known[256] = {};
  int device = 0;
  if (hipGetDevice(&device) != hipSuccess || device > 255) return false;
  if (!known[device]) {
    int has_images = 0;
    hipDeviceProp_t properties;
    if (hipDeviceGetAttribute(&has_images, hipDeviceAttributeImageSupport, device) != hipSuccess ||
        hipGetDeviceProperties(&properties, device) != hipSuccess)
      return false;
    known[device] = !has_images || !std::strncmp(properties.gcnArchName, "gfx9", 4) ? 1 : -1;
  }
  return known[device] > 0;
#endif
}
static inline kpt_array* kpt_array_of(const void* array) {
  kpt_array* found = static_cast<kpt_array*>(const_cast<void*>(array));
  return found && found->mark == kpt_array_mark ? found : nullptr;
}
static inline size_t kpt_texel_bytes(const hipChannelFormatDesc& desc) { return (desc.x + desc.y + desc.z + desc.w) / 8; }

// ---- arrays ----
static inline hipError_t kpt_hipMalloc3DArray(hipArray_t* array, const hipChannelFormatDesc* desc, hipExtent extent,
                                              unsigned int flags = 0) {
  if (!kpt_in_software()) return hipMalloc3DArray(array, desc, extent, flags);
  if (!array || !desc || !extent.width || !kpt_texel_bytes(*desc)) return hipErrorInvalidValue;
  kpt_array made = {kpt_array_mark, nullptr, *desc, extent.width, extent.height ? extent.height : 1,
                    extent.depth ? extent.depth : 1, kpt_texel_bytes(*desc), extent, flags};
  hipError_t status = hipMalloc(reinterpret_cast<void**>(&made.data), made.width * made.height * made.depth * made.texel_bytes);
  if (status == hipSuccess) *array = reinterpret_cast<hipArray_t>(new kpt_array(made));
  return status;
}
static inline hipError_t kpt_hipMallocArray(hipArray_t* array, const hipChannelFormatDesc* desc, size_t width,
                                            size_t height = 0, unsigned int flags = 0) {
  if (!kpt_in_software()) return hipMallocArray(array, desc, width, height, flags);
  return kpt_hipMalloc3DArray(array, desc, hipExtent{width, height, 0}, flags);
}
static inline hipError_t kpt_hipFreeArray(hipArray_t array) {
  kpt_array* ours = kpt_array_of(array);
  if (!ours) return array ? hipFreeArray(array) : hipSuccess;
  hipError_t status = hipFree(ours->data);
  ours->mark = 0;
  delete ours;
  return status;
}
static inline hipError_t kpt_hipArrayGetInfo(hipChannelFormatDesc* desc, hipExtent* extent, unsigned int* flags,
                                             hipArray_t array) {
  kpt_array* ours = kpt_array_of(array);
#if HIP_VERSION >= 60100000  // earlier ones lack it
  if (!ours) return hipArrayGetInfo(desc, extent, flags, array);
#endif
  if (!ours) return hipErrorNotSupported;
  if (desc) *desc = ours->desc;
  if (extent) *extent = ours->extent;
  if (flags) *flags = ours->flags;
  return hipSuccess;
}
static inline hipError_t kpt_hipGetChannelDesc(hipChannelFormatDesc* desc, hipArray_const_t array) {
  kpt_array* ours = kpt_array_of(array);
  if (!ours) return hipGetChannelDesc(desc, array);
  *desc = ours->desc;
  return hipSuccess;
}

// ---- copies: x and width count bytes here ----
static inline char* kpt_place(const kpt_array* array, size_t x, size_t y) {
  return array->data + y * array->width * array->texel_bytes + x;
}
static inline hipError_t kpt_hipMemcpy2DToArrayAsync(hipArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                                     size_t width, size_t height, hipMemcpyKind kind,
                                                     hipStream_t stream = 0) {
  kpt_array* ours = kpt_array_of(to);
  if (!ours) return hipMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, stream);
  return hipMemcpy2DAsync(kpt_place(ours, x, y), ours->width * ours->texel_bytes, from, pitch, width, height, kind, stream);
}
static inline hipError_t kpt_hipMemcpy2DToArray(hipArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                                size_t width, size_t height, hipMemcpyKind kind) {
  kpt_array* ours = kpt_array_of(to);
  if (!ours) return hipMemcpy2DToArray(to, x, y, from, pitch, width, height, kind);
  return hipMemcpy2D(kpt_place(ours, x, y), ours->width * ours->texel_bytes, from, pitch, width, height, kind);
}
static inline hipError_t kpt_hipMemcpy2DFromArrayAsync(void* to, size_t pitch, hipArray_const_t from, size_t x, size_t y,
                                                       size_t width, size_t height, hipMemcpyKind kind,
                                                       hipStream_t stream = 0) {
  kpt_array* ours = kpt_array_of(from);
  if (!ours) return hipMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, stream);
  return hipMemcpy2DAsync(to, pitch, kpt_place(ours, x, y), ours->width * ours->texel_bytes, width, height, kind, stream);
}
static inline hipError_t kpt_hipMemcpy2DFromArray(void* to, size_t pitch, hipArray_const_t from, size_t x, size_t y,
                                                  size_t width, size_t height, hipMemcpyKind kind) {
  kpt_array* ours = kpt_array_of(from);
  if (!ours) return hipMemcpy2DFromArray(to, pitch, from, x, y, width, height, kind);
  return hipMemcpy2D(to, pitch, kpt_place(ours, x, y), ours->width * ours->texel_bytes, width, height, kind);
}
static inline hipError_t kpt_hipMemcpyToArray(hipArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                              hipMemcpyKind kind) {
  kpt_array* ours = kpt_array_of(to);
  return ours ? hipMemcpy(kpt_place(ours, x, y), from, bytes, kind) : hipMemcpyToArray(to, x, y, from, bytes, kind);
}
static inline hipError_t kpt_hipMemcpyFromArray(void* to, hipArray_const_t from, size_t x, size_t y, size_t bytes,
                                                hipMemcpyKind kind) {
  kpt_array* ours = kpt_array_of(from);
  return ours ? hipMemcpy(to, kpt_place(ours, x, y), bytes, kind) : hipMemcpyFromArray(to, from, x, y, bytes, kind);
}
static inline hipError_t kpt_hipMemcpy2DArrayToArray(hipArray_t to, size_t to_x, size_t to_y, hipArray_const_t from,
                                                     size_t x, size_t y, size_t width, size_t height,
                                                     hipMemcpyKind kind = hipMemcpyDeviceToDevice) {
  kpt_array* ours = kpt_array_of(from);
#if HIP_VERSION >= 60200000  // earlier ones lack it
  if (!ours) return hipMemcpy2DArrayToArray(to, to_x, to_y, from, x, y, width, height, kind);
#endif
  if (!ours) return hipErrorNotSupported;
  return kpt_hipMemcpy2DToArray(to, to_x, to_y, kpt_place(ours, x, y), ours->width * ours->texel_bytes, width, height, kind);
}
// A copy with arrays of ours as one between plain places: there widths count bytes, with an array they count texels.
static inline hipMemcpy3DParms kpt_plain_copy(const hipMemcpy3DParms* asked) {
  hipMemcpy3DParms plain = *asked;
  kpt_array *from = kpt_array_of(asked->srcArray), *to = kpt_array_of(asked->dstArray);
  if (from || to) plain.extent.width *= (from ? from : to)->texel_bytes;
  if (from) {
    plain.srcArray = nullptr;
    plain.srcPos.x *= from->texel_bytes;
    plain.srcPtr = hipPitchedPtr{from->data, from->width * from->texel_bytes, from->width, from->height};
  }
  if (to) {
    plain.dstArray = nullptr;
    plain.dstPos.x *= to->texel_bytes;
    plain.dstPtr = hipPitchedPtr{to->data, to->width * to->texel_bytes, to->width, to->height};
  }
  return plain;
}
static inline hipError_t kpt_hipMemcpy3D(const hipMemcpy3DParms* asked) {
  if (!asked) return hipErrorInvalidValue;
  hipMemcpy3DParms plain = kpt_plain_copy(asked);
  return hipMemcpy3D(&plain);
}
static inline hipError_t kpt_hipMemcpy3DAsync(const hipMemcpy3DParms* asked, hipStream_t stream = 0) {
  if (!asked) return hipErrorInvalidValue;
  hipMemcpy3DParms plain = kpt_plain_copy(asked);
  return hipMemcpy3DAsync(&plain, stream);
}
static inline hipError_t kpt_hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                                   size_t count, const hipMemcpy3DParms* asked) {
  if (!asked) return hipErrorInvalidValue;
  hipMemcpy3DParms plain = kpt_plain_copy(asked);
  return hipGraphAddMemcpyNode(node, graph, after, count, &plain);
}

// ---- objects ----
// A border colour of an integer format read as a fraction is kept in that format, as NVIDIA's hardware does.
static inline float kpt_border(float colour, const kpt_image& image) {
  if (!image.is_unit) return colour;
  const float lowest = image.kind == hipChannelFormatKindSigned ? -1.0f : 0.0f;
  return std::nearbyint(std::fmin(std::fmax(colour, lowest), 1.0f) * image.steps) / image.steps;
}
static inline hipError_t kpt_describe(const hipResourceDesc* resource, const hipTextureDesc* sampler, kpt_image* image) {
  std::memset(image, 0, sizeof *image);
  hipChannelFormatDesc desc;
  image->width = image->height = image->depth = 1;
  if (resource->resType == hipResourceTypeArray) {
    kpt_array* array = kpt_array_of(resource->res.array.array);
    if (!array) return hipErrorNotSupported;  // made by another library, in a layout that only it knows
    desc = array->desc;
    image->data = array->data;
    image->width = int(array->width), image->height = int(array->height), image->depth = int(array->depth);
    image->pitch = array->width * array->texel_bytes;
  } else if (resource->resType == hipResourceTypeLinear) {
    desc = resource->res.linear.desc;
    image->data = resource->res.linear.devPtr;
    if (kpt_texel_bytes(desc)) image->width = int(resource->res.linear.sizeInBytes / kpt_texel_bytes(desc));
    image->pitch = resource->res.linear.sizeInBytes;
  } else if (resource->resType == hipResourceTypePitch2D) {
    desc = resource->res.pitch2D.desc;
    image->data = resource->res.pitch2D.devPtr;
    image->width = int(resource->res.pitch2D.width), image->height = int(resource->res.pitch2D.height);
    image->pitch = resource->res.pitch2D.pitchInBytes;
  } else {
    return hipErrorNotSupported;  // mipmapped arrays
  }
  image->slice = image->pitch * image->height;
  image->texel_bytes = int(kpt_texel_bytes(desc));
  image->channels = (desc.x > 0) + (desc.y > 0) + (desc.z > 0) + (desc.w > 0);
  image->bits = desc.x;
  image->kind = desc.f;
  image->resource = *resource;
  if (!image->data || !image->texel_bytes || (desc.x != 8 && desc.x != 16 && desc.x != 32)) return hipErrorInvalidValue;
  if (!sampler) return hipSuccess;
  const bool is_float = desc.f == hipChannelFormatKindFloat;
  if (sampler->readMode == hipReadModeNormalizedFloat && desc.x == 32) return hipErrorInvalidValue;
  image->sampler = *sampler;
  image->is_unit = sampler->readMode == hipReadModeNormalizedFloat && !is_float;
  if (image->is_unit) image->steps = float((1 << (desc.x - (desc.f == hipChannelFormatKindSigned))) - 1);
  if (image->is_unit) image->inverse = 1.0f / image->steps;
  image->is_srgb = sampler->sRGB && image->is_unit && desc.x == 8;
  image->is_linear = sampler->filterMode == hipFilterModeLinear;
  image->is_normalized = sampler->normalizedCoords;
  if (image->is_linear && !is_float && !image->is_unit) return hipErrorInvalidValue;
  for (int axis = 0; axis < 3; ++axis) {
    const int mode = sampler->addressMode[axis];
    const bool repeats = mode == hipAddressModeWrap || mode == hipAddressModeMirror;
    image->address[axis] = repeats && !sampler->normalizedCoords ? hipAddressModeClamp : mode;
  }
  for (int channel = 0; channel < 4; ++channel) image->border[channel] = kpt_border(sampler->borderColor[channel], *image);
  return hipSuccess;
}
static inline hipError_t kpt_make_object(void** object, const hipResourceDesc* resource, const hipTextureDesc* sampler) {
  kpt_image image;
  if (!object || !resource) return hipErrorInvalidValue;
  hipError_t status = kpt_describe(resource, sampler, &image);
  if (status == hipSuccess) status = hipMalloc(object, sizeof image);
  if (status == hipSuccess) status = hipMemcpy(*object, &image, sizeof image, hipMemcpyHostToDevice);
  return status;
}
static inline hipError_t kpt_hipCreateTextureObject(hipTextureObject_t* object, const hipResourceDesc* resource,
                                                    const hipTextureDesc* sampler, const hipResourceViewDesc* view) {
  if (!kpt_in_software()) return hipCreateTextureObject(object, resource, sampler, view);
  if (view && view->format != hipResViewFormatNone) return hipErrorNotSupported;
  if (!sampler) return hipErrorInvalidValue;
  return kpt_make_object(reinterpret_cast<void**>(object), resource, sampler);
}
static inline hipError_t kpt_hipDestroyTextureObject(hipTextureObject_t object) {
  if (!kpt_in_software()) return hipDestroyTextureObject(object);
  return hipFree(reinterpret_cast<void*>(object));
}
static inline hipError_t kpt_hipCreateSurfaceObject(hipSurfaceObject_t* object, const hipResourceDesc* resource) {
  if (!kpt_in_software()) return hipCreateSurfaceObject(object, resource);
  if (resource && resource->resType != hipResourceTypeArray) return hipErrorInvalidValue;
  return kpt_make_object(reinterpret_cast<void**>(object), resource, nullptr);
}
static inline hipError_t kpt_hipDestroySurfaceObject(hipSurfaceObject_t object) {
  if (!kpt_in_software()) return hipDestroySurfaceObject(object);
  return hipFree(reinterpret_cast<void*>(object));
}
static inline hipError_t kpt_hipGetTextureObjectResourceDesc(hipResourceDesc* resource, hipTextureObject_t object) {
  if (!kpt_in_software()) return hipGetTextureObjectResourceDesc(resource, object);
  return hipMemcpy(resource, reinterpret_cast<char*>(object) + offsetof(kpt_image, resource), sizeof *resource,
                   hipMemcpyDeviceToHost);
}
static inline hipError_t kpt_hipGetTextureObjectTextureDesc(hipTextureDesc* sampler, hipTextureObject_t object) {
  if (!kpt_in_software()) return hipGetTextureObjectTextureDesc(sampler, object);
  return hipMemcpy(sampler, reinterpret_cast<char*>(object) + offsetof(kpt_image, sampler), sizeof *sampler,
                   hipMemcpyDeviceToHost);
}
#define hipMalloc3DArray kpt_hipMalloc3DArray
#define hipMallocArray kpt_hipMallocArray
#define hipFreeArray kpt_hipFreeArray
#define hipArrayGetInfo kpt_hipArrayGetInfo
#define hipGetChannelDesc kpt_hipGetChannelDesc
#define hipMemcpy2DToArrayAsync kpt_hipMemcpy2DToArrayAsync
#define hipMemcpy2DToArray kpt_hipMemcpy2DToArray
#define hipMemcpy2DFromArrayAsync kpt_hipMemcpy2DFromArrayAsync
#define hipMemcpy2DFromArray kpt_hipMemcpy2DFromArray
#define hipMemcpyToArray kpt_hipMemcpyToArray
#define hipMemcpyFromArray kpt_hipMemcpyFromArray
#define hipMemcpy2DArrayToArray kpt_hipMemcpy2DArrayToArray
#define hipMemcpy3D kpt_hipMemcpy3D
#define hipMemcpy3DAsync kpt_hipMemcpy3DAsync
#define hipGraphAddMemcpyNode kpt_hipGraphAddMemcpyNode
#define hipCreateTextureObject kpt_hipCreateTextureObject
#define hipDestroyTextureObject kpt_hipDestroyTextureObject
#define hipCreateSurfaceObject kpt_hipCreateSurfaceObject
#define hipDestroySurfaceObject kpt_hipDestroySurfaceObject
#define hipGetTextureObjectResourceDesc kpt_hipGetTextureObjectResourceDesc
#define hipGetTextureObjectTextureDesc kpt_hipGetTextureObjectTextureDesc
