/* Image instructions and typed accesses of buffers: what a texture unit does, for the lanes of a wave. */
#ifndef KPT_IMAGE_ACCESS_H
#define KPT_IMAGE_ACCESS_H

#include <string>

#include "../engine.h"

namespace kpt {

/* What a texture unit does beside its work here. */
struct ImageUnit {
    int generation;        /* of the target, 9 to 12 */
    bool checked, counted; /* every texel is shown to the wave's `access` first; its bytes are counted */
};

void image_access(KptWave *wave, const KptImageUse &use, const uint32_t *words, uint64_t exec, const ImageUnit &unit);

/* What was wrong with the descriptor of this thread's last KPT_FAULT_DESCRIPTOR. */
std::string descriptor_problem();

/* The lane whose texel this thread read or wrote last. */
int image_lane();

} // namespace kpt
#endif
