// The types of HIP that its libraries' declarations name, for C: there HIP's own headers do not declare them.
#pragma once
#include <hip/hip_runtime_api.h>
#include <hip/hip_vector_types.h>
#include <stdbool.h>
#include <stdint.h>
#ifndef KPT_HALF_IN_C // a ported project declares it too: ROCm's hiprand.h needs it
#define KPT_HALF_IN_C
typedef struct {
    uint16_t x;
} __half;
#endif
typedef struct {
    uint16_t data;
} hip_bfloat16;
typedef struct {
    uint16_t data;
} __hip_bfloat16;
typedef float2 hipFloatComplex;
typedef double2 hipDoubleComplex;
typedef hipFloatComplex hipComplex;
