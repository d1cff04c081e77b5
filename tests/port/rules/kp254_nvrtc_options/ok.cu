#include "nvrtc.h"

// nvrtcCreateProgram(program, text, "tile.cu", 0, nullptr, nullptr), nvrtcCompileProgram(program, 1, "-default-device")
void end(nvrtcProgram *program) { nvrtcDestroyProgram(program); }
