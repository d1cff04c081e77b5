// Device addresses are host addresses and a library call is a plain CPU call, so all it has to do for stream
// order is to wait until the work already in the stream is done.
#pragma once

namespace kpt {

// Returns HIP's error code, 0 when all is well. Without a HIP runtime in the process nothing can be pending.
int wait_for(void *stream);

// The device the calling thread has current, 0 without a HIP runtime.
int current_device();

} // namespace kpt
