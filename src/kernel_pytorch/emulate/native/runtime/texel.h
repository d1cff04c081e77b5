/* One texel in memory as four channels of 32 bits, and back. */
#ifndef KPT_TEXEL_H
#define KPT_TEXEL_H

#include "image_descriptor.h"

namespace kpt {

/* Integers as they are, sign extended; everything else as the bits of a float. Channels that the format has not are left
 * alone. */
void read_texel(const TexelFormat &format, const uint8_t *at, uint32_t *channels);
void write_texel(const TexelFormat &format, uint8_t *at, const uint32_t *channels);

} // namespace kpt
#endif
