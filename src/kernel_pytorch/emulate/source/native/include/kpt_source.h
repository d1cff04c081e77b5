/* Included before every source: what nvcc gives a .cu without being asked. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "vector_types.h"
#include "kpt/abi.h"
#include "kpt/api.h"
#include "kpt/launch.h"
#include "kpt/warp.h"
#include "kpt/atomics.h"
#include "kpt/math.h"
#include "kpt/bits.h"
#include "kpt/simd.h"

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define CUDARTAPI
#define CUDART_CB
