// Kept for sources that name it: everything is in hip_runtime.h.
#pragma once
#include <hip/hip_runtime.h>
