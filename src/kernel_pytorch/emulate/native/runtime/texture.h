/* Textures and surfaces: formats as HIP names them, and objects made of them. */
#ifndef KPT_TEXTURE_H
#define KPT_TEXTURE_H

#include "array.h"
#include "image_descriptor.h"
#include "texture_abi.h"

namespace kpt {

/* Whether the current device has a texture unit, and whether that filters everything. */
bool has_images();
bool filters_floats();

/* A line on standard error, the first time only. */
void say_once(const char *text);

unsigned channels_of(const hipChannelFormatDesc &desc);
/* hipArray_Format, or 0 for a description that HIP refuses. */
int format_of(const hipChannelFormatDesc &desc);
hipChannelFormatDesc desc_of(int format, unsigned channels);
unsigned bits_of_format(int format);
/* hipResourceViewFormat as format and channels; false for one that is no plain format. */
bool view_format(int view, int &format, unsigned &channels);

/* As a texture reads it (hipReadModeNormalizedFloat, sRGB) or a surface; false where HIP has no such format. */
bool texel_format(int format, unsigned channels, int read_mode, bool srgb, TexelFormat &out);

hipError_t create_texture(hipTextureObject_t *out, const hipResourceDesc *resource, const hipTextureDesc *texture,
                          const hipResourceViewDesc *view);
hipError_t destroy_texture(hipTextureObject_t object);
/* Null where it is no object of ours. */
const hipResourceDesc *resource_of(hipTextureObject_t object);

} // namespace kpt
#endif
