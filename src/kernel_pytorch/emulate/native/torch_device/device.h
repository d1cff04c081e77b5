/* Devices and streams of the emulated GPU. */
#ifndef KPT_TORCH_DEVICE_H
#define KPT_TORCH_DEVICE_H

#include <c10/core/Stream.h>

#include "hip.h"

namespace kpt_torch {

int device_count();
int current_device();
/* The device that was current before. Raises for one that is not there. */
int set_device(int device);

/* The stream that work of this thread goes to. Its number is the runtime's handle; 0 is the default stream. */
c10::Stream current_stream(int device);
void set_current_stream(c10::Stream stream);
c10::Stream pooled_stream(int device, int priority);
c10::Stream stream_of(HipStream handle, int device);
inline HipStream handle_of(c10::Stream stream) { return reinterpret_cast<HipStream>(stream.id()); }

/* Makes torch ask us about its GPU. */
void install_hooks();

/* A GPU that is closed is not there: a block `with emulated_gpu(...)` has ended. */
void set_open(bool open);

void mark_initialized();
bool is_initialized();
bool in_bad_fork();

} // namespace kpt_torch
#endif
