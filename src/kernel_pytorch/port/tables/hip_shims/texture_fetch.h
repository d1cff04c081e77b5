// Texture fetches as CUDA's programming guide defines them (its appendix on texture fetching), computed by ordinary
// instructions. What the guide leaves open is done as an H200 does it: fractions and their products are rounded to the
// nearest 1/256, point sampling does not round, tex2Dgather rounds as filtering does, each cube face is filtered alone,
// filtered halves are rounded to a half.

//: kpt_tex < : kpt_image
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX9__) || defined(__HIP_NO_IMAGE_SUPPORT) || defined(KPT_SOFTWARE_TEXTURES)
typedef const __attribute__((address_space(4))) kpt_image* kpt_image_ptr;
typedef const __attribute__((address_space(1))) char* kpt_texels;
template <typename T> struct kpt_channels {
  typedef T type;
  static constexpr int count = 1;
};
template <typename T, unsigned int N> struct kpt_channels<HIP_vector_type<T, N>> {
  typedef T type;
  static constexpr int count = N;
};

// One coordinate: the two texels beside it (the first alone for point sampling), whether each is outside, and how far
// between them, in 1/256.
struct kpt_axis {
  int at[2], fraction;
  bool outside[2];
};
static __device__ inline kpt_axis kpt_on_axis(float x, int count, int mode, bool is_normalized, bool is_linear) {
  if (is_normalized) {
    if (mode == hipAddressModeWrap) x -= floorf(x);
    if (mode == hipAddressModeMirror) x -= 2.0f * floorf(0.5f * x);  // mirrored below, after the rounding
    x *= count;
  }
  if (is_linear) x -= 0.5f;
  x = fminf(fmaxf(x, -2.0f), 2.0f * count + 1.0f);
  const int fixed = int(floorf(x * 256.0f + 0.5f));
  const int first = is_linear ? fixed >> 8 : int(floorf(x));
  kpt_axis axis;
  axis.fraction = fixed & 255;
  for (int side = 0; side < 2; ++side) {
    int at = first + side;
    axis.outside[side] = mode == hipAddressModeBorder && (at < 0 || at >= count);
    if (mode == hipAddressModeWrap) at += at < 0 ? count : at >= count ? -count : 0;
    if (mode == hipAddressModeMirror && at >= count) at = 2 * count - 1 - at;
    axis.at[side] = min(max(at, 0), count - 1);
  }
  return axis;
}

template <int kBits> struct kpt_stored { typedef unsigned int type; };
template <> struct kpt_stored<16> { typedef unsigned short type; };
template <> struct kpt_stored<8> { typedef unsigned char type; };
template <int kBits, int N> struct kpt_raw {
  typedef typename kpt_stored<kBits>::type type __attribute__((ext_vector_type(N)));
};
// A fraction of 8 or 16 bits as a float, rounded as a division would: the remainder corrects the product.
static __device__ inline float kpt_unit(int value, kpt_image_ptr image, int channel) {
  const float steps = image->steps, inverse = image->inverse, near = value * inverse;
  float unit = fmaf(fmaf(-near, steps, value), inverse, near);
  if (image->is_srgb && channel < 3)
    unit = unit <= 0.04045f ? unit * (1.0f / 12.92f) : exp2f(2.4f * log2f((unit + 0.055f) * (1.0f / 1.055f)));
  return unit;
}
// The N channels of a texel as 32-bit words: floats where the texture gives floats.
template <int N, int kBits> __device__ inline void kpt_load(kpt_image_ptr image, kpt_texels texel, unsigned int* words) {
  typedef typename kpt_raw<kBits, N>::type Raw;
  const Raw raw = *reinterpret_cast<const __attribute__((address_space(1))) Raw*>(texel);
  if constexpr (kBits == 32) {
    for (int c = 0; c < N; ++c) words[c] = raw[c];
  } else {
    for (int c = 0; c < N; ++c) {
      const bool is_signed = image->kind == hipChannelFormatKindSigned;
      const int value = is_signed ? int(unsigned(raw[c]) << (32 - kBits)) >> (32 - kBits) : int(raw[c]);
      words[c] = image->is_unit ? __float_as_uint(kpt_unit(value, image, c)) : unsigned(value);
      if constexpr (kBits == 16) {
        if (image->kind == hipChannelFormatKindFloat)
          words[c] = __float_as_uint(float(__builtin_bit_cast(_Float16, static_cast<unsigned short>(raw[c]))));
      }
    }
  }
}
template <int D> __device__ inline kpt_texels kpt_texel(kpt_image_ptr image, const kpt_axis* axes, int corner, int layer) {
  unsigned long long offset = layer * image->slice + (unsigned long long)(axes[0].at[corner & 1]) * image->texel_bytes;
  if constexpr (D > 1) offset += axes[1].at[corner >> 1 & 1] * image->pitch;
  if constexpr (D > 2) offset += axes[2].at[corner >> 2 & 1] * image->slice;
  return (kpt_texels)image->data + offset;
}
template <int D> __device__ inline bool kpt_is_outside(const kpt_axis* axes, int corner) {
  bool is_outside = false;
  for (int d = 0; d < D; ++d) is_outside |= axes[d].outside[corner >> d & 1];
  return is_outside;
}
// The weight of each corner in 1/256: they add up to 256, and so do the pairs and quadruples to the fractions.
template <int D> __device__ inline void kpt_weights(const kpt_axis* axes, int* weights) {
  const int a = axes[0].fraction, b = D > 1 ? axes[1 % D].fraction : 0, c = D > 2 ? axes[2 % D].fraction : 0;
  const int ab = (a * b + 128) >> 8, ac = (a * c + 128) >> 8, bc = (b * c + 128) >> 8, abc = (ac * b + 128) >> 8;
  const int all[] = {256 - a - b - c + ab + ac + bc - abc, a - ab - ac + abc, b - ab - bc + abc, ab - abc,
                     c - ac - bc + abc,                    ac - abc,          bc - abc,          abc};
  for (int corner = 0; corner < 1 << D; ++corner) weights[corner] = all[corner];
}
template <int D, int N, int kBits>
__device__ inline void kpt_sample(kpt_image_ptr image, const kpt_axis* axes, int layer, unsigned int* words) {
  if (!image->is_linear) {
    kpt_load<N, kBits>(image, kpt_texel<D>(image, axes, 0, layer), words);
    if (kpt_is_outside<D>(axes, 0))
      for (int c = 0; c < N; ++c) words[c] = __float_as_uint(image->border[c]);
    return;
  }
  unsigned int corners[1 << D][N];
  for (int corner = 0; corner < 1 << D; ++corner)
    kpt_load<N, kBits>(image, kpt_texel<D>(image, axes, corner, layer), corners[corner]);
  int weights[1 << D];
  kpt_weights<D>(axes, weights);
  float sum[N] = {};
  for (int corner = 0; corner < 1 << D; ++corner) {
    const float weight = weights[corner] * (1.0f / 256.0f);
    const bool is_outside = kpt_is_outside<D>(axes, corner);
    for (int c = 0; c < N; ++c) sum[c] += weight * (is_outside ? image->border[c] : __uint_as_float(corners[corner][c]));
  }
  for (int c = 0; c < N; ++c) {
    if (kBits == 16 && image->kind == hipChannelFormatKindFloat) sum[c] = float(static_cast<_Float16>(sum[c]));
    words[c] = __float_as_uint(sum[c]);
  }
}
// Signed fractions go from -1.0: the lowest number, which is below that, is filtered as it is and then limited.
template <typename T> __device__ inline T kpt_from_words(kpt_image_ptr image, unsigned int* words) {
  if (image->is_unit)
    for (int c = 0; c < kpt_channels<T>::count; ++c) words[c] = __float_as_uint(fmaxf(__uint_as_float(words[c]), -1.0f));
  typename kpt_channels<T>::type channels[kpt_channels<T>::count];
  for (int c = 0; c < kpt_channels<T>::count; ++c) __builtin_memcpy(&channels[c], &words[c], sizeof channels[c]);
  T value;
  __builtin_memcpy(&value, channels, sizeof value);
  return value;
}
template <typename T, int D> __device__ inline T kpt_fetch(kpt_image_ptr image, const kpt_axis* axes, int layer) {
  constexpr int N = kpt_channels<T>::count;
  unsigned int words[N];
  if (image->bits == 32) kpt_sample<D, N, 32>(image, axes, layer, words);
  else if (image->bits == 16) kpt_sample<D, N, 16>(image, axes, layer, words);
  else kpt_sample<D, N, 8>(image, axes, layer, words);
  return kpt_from_words<T>(image, words);
}
// A layer is an unsigned number: one below zero is the last.
static __device__ inline int kpt_layer(int layer, int count) {
  return unsigned(layer) < unsigned(count) ? layer : count - 1;
}
template <typename T, int D>
__device__ inline T kpt_texture_at(hipTextureObject_t object, float x, float y, float z, int layer = 0) {
  kpt_image_ptr image = (kpt_image_ptr)object;
  const bool is_normalized = image->is_normalized, is_linear = image->is_linear;
  kpt_axis axes[D];
  axes[0] = kpt_on_axis(x, image->width, image->address[0], is_normalized, is_linear);
  if constexpr (D > 1) axes[1] = kpt_on_axis(y, image->height, image->address[1], is_normalized, is_linear);
  if constexpr (D > 2) axes[2] = kpt_on_axis(z, image->depth, image->address[2], is_normalized, is_linear);
  return kpt_fetch<T, D>(image, axes, D > 2 ? 0 : kpt_layer(layer, image->depth));
}
template <typename T> __device__ inline T kpt_cube_at(hipTextureObject_t object, float x, float y, float z, int layer) {
  kpt_image_ptr image = (kpt_image_ptr)object;
  const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
  const bool on_x = ax > ay && ax > az, on_y = !on_x && ay > az;
  const float major = on_x ? x : on_y ? y : z;
  const float s = on_x ? (x < 0 ? z : -z) : on_y ? x : (z < 0 ? -x : x), t = on_y ? (y < 0 ? -z : z) : -y;
  const int face = (on_x ? 0 : on_y ? 2 : 4) + (major < 0);
  const float scale = 1.0f / fabsf(major);
  kpt_axis axes[2];
  axes[0] = kpt_on_axis((s * scale + 1.0f) * 0.5f, image->width, image->address[0], true, image->is_linear);
  axes[1] = kpt_on_axis((t * scale + 1.0f) * 0.5f, image->height, image->address[1], true, image->is_linear);
  return kpt_fetch<T, 2>(image, axes, 6 * kpt_layer(layer, image->depth / 6) + face);
}
template <typename T> __device__ inline T kpt_linear_at(hipTextureObject_t object, int x) {
  kpt_image_ptr image = (kpt_image_ptr)object;
  constexpr int N = kpt_channels<T>::count;
  unsigned int words[N] = {};
  if (x < 0 || x >= image->width) return kpt_from_words<T>(image, words);
  const kpt_texels texel = (kpt_texels)image->data + (unsigned long long)(x)*image->texel_bytes;
  if (image->bits == 32) kpt_load<N, 32>(image, texel, words);
  else if (image->bits == 16) kpt_load<N, 16>(image, texel, words);
  else kpt_load<N, 8>(image, texel, words);
  return kpt_from_words<T>(image, words);
}
template <typename T> __device__ inline T kpt_gather_at(hipTextureObject_t object, float x, float y, int channel) {
  kpt_image_ptr image = (kpt_image_ptr)object;
  const kpt_axis axes[] = {kpt_on_axis(x, image->width, image->address[0], image->is_normalized, true),
                           kpt_on_axis(y, image->height, image->address[1], image->is_normalized, true)};
  const int order[] = {2, 3, 1, 0};
  unsigned int words[4];
  for (int k = 0; k < 4; ++k) {
    const kpt_texels texel = kpt_texel<2>(image, axes, order[k], 0) + channel * image->bits / 8;
    if (image->bits == 32) kpt_load<1, 32>(image, texel, &words[k]);
    else if (image->bits == 16) kpt_load<1, 16>(image, texel, &words[k]);
    else kpt_load<1, 8>(image, texel, &words[k]);
    if (kpt_is_outside<2>(axes, order[k])) words[k] = __float_as_uint(image->border[channel]);
  }
  return kpt_from_words<T>(image, words);
}

// Each function takes an object, an object and a place for the value, or a texture reference.
template <typename T, hipTextureReadMode kMode> struct kpt_read { typedef T type; };
template <typename T> struct kpt_read<T, hipReadModeNormalizedFloat> { typedef float type; };
template <typename T, unsigned int N> struct kpt_read<HIP_vector_type<T, N>, hipReadModeNormalizedFloat> {
  typedef HIP_vector_type<float, N> type;
};
#define KPT_TEXTURE_FUNCTION(name, shape, value, ...)                                                                  \
  template <typename T> static __device__ inline T kpt_##name(hipTextureObject_t object, __VA_ARGS__) { return value; } \
  template <typename T> static __device__ inline void kpt_##name(T* place, hipTextureObject_t object, __VA_ARGS__) {   \
    *place = value;                                                                                                    \
  }                                                                                                                    \
  template <typename E, hipTextureReadMode kMode>                                                                      \
  static __device__ inline typename kpt_read<E, kMode>::type kpt_##name(texture<E, shape, kMode> reference,            \
                                                                        __VA_ARGS__) {                                 \
    typedef typename kpt_read<E, kMode>::type T;                                                                       \
    const hipTextureObject_t object = reference.textureObject;                                                         \
    return value;                                                                                                      \
  }
KPT_TEXTURE_FUNCTION(tex1Dfetch, 1, (kpt_linear_at<T>(object, x)), int x)
KPT_TEXTURE_FUNCTION(tex1D, 1, (kpt_texture_at<T, 1>(object, x, 0, 0)), float x)
KPT_TEXTURE_FUNCTION(tex2D, 2, (kpt_texture_at<T, 2>(object, x, y, 0)), float x, float y)
KPT_TEXTURE_FUNCTION(tex3D, 3, (kpt_texture_at<T, 3>(object, x, y, z)), float x, float y, float z)
KPT_TEXTURE_FUNCTION(tex1DLayered, 0xF1, (kpt_texture_at<T, 1>(object, x, 0, 0, layer)), float x, int layer)
KPT_TEXTURE_FUNCTION(tex2DLayered, 0xF2, (kpt_texture_at<T, 2>(object, x, y, 0, layer)), float x, float y, int layer)
KPT_TEXTURE_FUNCTION(texCubemap, 0x0C, (kpt_cube_at<T>(object, x, y, z, 0)), float x, float y, float z)
KPT_TEXTURE_FUNCTION(texCubemapLayered, 0xFC, (kpt_cube_at<T>(object, x, y, z, layer)), float x, float y, float z, int layer)
// Arrays here have one level, which every level of detail and every gradient selects.
KPT_TEXTURE_FUNCTION(tex1DLod, 1, (kpt_texture_at<T, 1>(object, x, 0, 0)), float x, float)
KPT_TEXTURE_FUNCTION(tex2DLod, 2, (kpt_texture_at<T, 2>(object, x, y, 0)), float x, float y, float)
KPT_TEXTURE_FUNCTION(tex3DLod, 3, (kpt_texture_at<T, 3>(object, x, y, z)), float x, float y, float z, float)
KPT_TEXTURE_FUNCTION(tex1DLayeredLod, 0xF1, (kpt_texture_at<T, 1>(object, x, 0, 0, layer)), float x, int layer, float)
KPT_TEXTURE_FUNCTION(tex2DLayeredLod, 0xF2, (kpt_texture_at<T, 2>(object, x, y, 0, layer)), float x, float y, int layer, float)
KPT_TEXTURE_FUNCTION(texCubemapLod, 0x0C, (kpt_cube_at<T>(object, x, y, z, 0)), float x, float y, float z, float)
KPT_TEXTURE_FUNCTION(tex1DGrad, 1, (kpt_texture_at<T, 1>(object, x, 0, 0)), float x, float, float)
KPT_TEXTURE_FUNCTION(tex2DGrad, 2, (kpt_texture_at<T, 2>(object, x, y, 0)), float x, float y, float2, float2)
KPT_TEXTURE_FUNCTION(tex3DGrad, 3, (kpt_texture_at<T, 3>(object, x, y, z)), float x, float y, float z, float4, float4)
#undef KPT_TEXTURE_FUNCTION
template <typename T> static __device__ inline T kpt_tex2Dgather(hipTextureObject_t object, float x, float y, int channel = 0) {
  return kpt_gather_at<T>(object, x, y, channel);
}
template <typename T>
static __device__ inline void kpt_tex2Dgather(T* place, hipTextureObject_t object, float x, float y, int channel = 0) {
  *place = kpt_gather_at<T>(object, x, y, channel);
}
template <typename E, hipTextureReadMode kMode>
static __device__ inline auto kpt_tex2Dgather(texture<E, 2, kMode> reference, float x, float y, int channel = 0) {
  typedef typename kpt_channels<typename kpt_read<E, kMode>::type>::type Channel;
  return kpt_gather_at<HIP_vector_type<Channel, 4>>(reference.textureObject, x, y, channel);
}
#define tex1Dfetch kpt_tex1Dfetch
#define tex1D kpt_tex1D
#define tex2D kpt_tex2D
#define tex3D kpt_tex3D
#define tex1DLayered kpt_tex1DLayered
#define tex2DLayered kpt_tex2DLayered
#define texCubemap kpt_texCubemap
#define texCubemapLayered kpt_texCubemapLayered
#define tex1DLod kpt_tex1DLod
#define tex2DLod kpt_tex2DLod
#define tex3DLod kpt_tex3DLod
#define tex1DLayeredLod kpt_tex1DLayeredLod
#define tex2DLayeredLod kpt_tex2DLayeredLod
#define texCubemapLod kpt_texCubemapLod
#define tex1DGrad kpt_tex1DGrad
#define tex2DGrad kpt_tex2DGrad
#define tex3DGrad kpt_tex3DGrad
#define tex2Dgather kpt_tex2Dgather
#else
// HIP's own tex2Dgather (ROCm 7.2) takes the channel before the one that is asked for.
template <typename T>
static __device__ __hip_img_chk__ inline T kpt_tex2Dgather(hipTextureObject_t object, float x, float y, int channel = 0) {
  auto* i = (unsigned int __attribute__((address_space(4)))*)object;
  auto* s = i + HIP_SAMPLER_OBJECT_OFFSET_DWORD;
  const float2 at{x, y};
  if (channel == 0) return __hipMapFrom<T>(__ockl_image_gather4r_2D(i, s, get_native_vector(at)));
  if (channel == 1) return __hipMapFrom<T>(__ockl_image_gather4g_2D(i, s, get_native_vector(at)));
  if (channel == 2) return __hipMapFrom<T>(__ockl_image_gather4b_2D(i, s, get_native_vector(at)));
  return __hipMapFrom<T>(__ockl_image_gather4a_2D(i, s, get_native_vector(at)));
}
template <typename T>
static __device__ __hip_img_chk__ inline void kpt_tex2Dgather(T* place, hipTextureObject_t object, float x, float y,
                                                              int channel = 0) {
  *place = kpt_tex2Dgather<T>(object, x, y, channel);
}
template <typename E, hipTextureReadMode kMode>
static __device__ __hip_img_chk__ inline auto kpt_tex2Dgather(texture<E, 2, kMode> reference, float x, float y,
                                                              int channel = 0) {
  return kpt_tex2Dgather<decltype(tex2Dgather(reference, x, y, 0))>(reference.textureObject, x, y, channel);
}
#define tex2Dgather kpt_tex2Dgather
#endif
