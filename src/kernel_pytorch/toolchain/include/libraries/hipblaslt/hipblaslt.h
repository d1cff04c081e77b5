// Declarations of hipblaslt 1, made by scripts/build_library_headers.py from what its public headers declare.
// For machines without ROCm. Types and functions only: nothing is implemented here.
#pragma once
#include <hip/hip_runtime_api.h>
#include <hip/library_types.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#else
#include <kpt/types_in_c.h>
#endif
#include <hipblas/hipblas.h>

#define HIPBLASLT_VERSION_MAJOR 1
#define HIPBLASLT_VERSION_MINOR 2
#define HIPBLASLT_VERSION_PATCH 2
#define HIPBLASLT_DATATYPE_INVALID static_cast < hipDataType > ( 255 )
#define HIPBLASLT_COMPUTE_TYPE_INVALID static_cast < hipblasComputeType_t > ( 0 )
#define HIPBLASLT_OPERATION_INVALID static_cast < hipblasOperation_t > ( 0 )
#define ROCBLASLT_COMPUTE_TYPE_INVALID static_cast < rocblaslt_compute_type > ( 255 )
#define HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER_VEC_EXT static_assert ( false , "HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER_VEC_EXT is deprecated and not supported. Please set HIPBLASLT_MATMUL_DESC_A_SCALE_MODE as HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F instead." )
#define HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER_VEC_EXT static_assert ( false , "HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER_VEC_EXT is deprecated and not supported. Please set HIPBLASLT_MATMUL_DESC_B_SCALE_MODE as HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F instead." )
#ifdef __cplusplus
extern "C" {
#endif
typedef struct hipblaslt_f8_fnuz hipblaslt_f8_fnuz;
struct hipblaslt_f8_fnuz { uint8_t __x; };
typedef struct hipblaslt_bf8_fnuz hipblaslt_bf8_fnuz;
struct hipblaslt_bf8_fnuz { uint8_t __x; };
typedef struct hipblaslt_f8 hipblaslt_f8;
struct hipblaslt_f8 { uint8_t __x; };
typedef struct hipblaslt_bf8 hipblaslt_bf8;
struct hipblaslt_bf8 { uint8_t __x; };
typedef float hipblasLtFloat;
typedef struct _hipblasLtHalf _hipblasLtHalf;
struct _hipblasLtHalf { uint16_t data; };
typedef struct _hipblasLtHalf hipblasLtHalf;
typedef hip_bfloat16 hipblasLtBfloat16;
typedef int8_t hipblasLtInt8;
typedef int32_t hipblasLtInt32;
enum hipblasLtEpilogue_t { HIPBLASLT_EPILOGUE_DEFAULT = 1, HIPBLASLT_EPILOGUE_RELU = 2, HIPBLASLT_EPILOGUE_BIAS = 4, HIPBLASLT_EPILOGUE_RELU_BIAS = 6, HIPBLASLT_EPILOGUE_GELU = 32, HIPBLASLT_EPILOGUE_GELU_BIAS = 36, HIPBLASLT_EPILOGUE_RELU_AUX = 130, HIPBLASLT_EPILOGUE_RELU_AUX_BIAS = 134, HIPBLASLT_EPILOGUE_GELU_AUX = 160, HIPBLASLT_EPILOGUE_GELU_AUX_BIAS = 164, HIPBLASLT_EPILOGUE_DGELU = 192, HIPBLASLT_EPILOGUE_DGELU_BGRAD = 208, HIPBLASLT_EPILOGUE_BGRADA = 256, HIPBLASLT_EPILOGUE_BGRADB = 512, HIPBLASLT_EPILOGUE_SWISH_EXT = 65536, HIPBLASLT_EPILOGUE_SWISH_BIAS_EXT = 65540, HIPBLASLT_EPILOGUE_CLAMP_EXT = 131072, HIPBLASLT_EPILOGUE_CLAMP_BIAS_EXT = 131076, HIPBLASLT_EPILOGUE_CLAMP_AUX_EXT = 131200, HIPBLASLT_EPILOGUE_CLAMP_AUX_BIAS_EXT = 131204, HIPBLASLT_EPILOGUE_SIGMOID_EXT = 262144, HIPBLASLT_EPILOGUE_SIGMOID_BIAS_EXT = 262148 };
typedef enum hipblasLtEpilogue_t hipblasLtEpilogue_t;
enum hipblasLtMatrixLayoutAttribute_t { HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0, HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1, HIPBLASLT_MATRIX_LAYOUT_TYPE = 2, HIPBLASLT_MATRIX_LAYOUT_ORDER = 3, HIPBLASLT_MATRIX_LAYOUT_ROWS = 4, HIPBLASLT_MATRIX_LAYOUT_COLS = 5, HIPBLASLT_MATRIX_LAYOUT_LD = 6 };
typedef enum hipblasLtMatrixLayoutAttribute_t hipblasLtMatrixLayoutAttribute_t;
enum hipblasLtPointerMode_t { HIPBLASLT_POINTER_MODE_HOST = 0, HIPBLASLT_POINTER_MODE_DEVICE = 1, HIPBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST = 4 };
typedef enum hipblasLtPointerMode_t hipblasLtPointerMode_t;
enum hipblasLtMatmulMatrixScale_t { HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0, HIPBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 = 1, HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 = 2, HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3, HIPBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F = 4, HIPBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F = 5, HIPBLASLT_MATMUL_MATRIX_SCALE_END = 6 };
typedef enum hipblasLtMatmulMatrixScale_t hipblasLtMatmulMatrixScale_t;
enum hipblasLtMatmulDescAttributes_t { HIPBLASLT_MATMUL_DESC_TRANSA = 0, HIPBLASLT_MATMUL_DESC_TRANSB = 1, HIPBLASLT_MATMUL_DESC_EPILOGUE = 2, HIPBLASLT_MATMUL_DESC_BIAS_POINTER = 3, HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 4, HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER = 5, HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER = 6, HIPBLASLT_MATMUL_DESC_C_SCALE_POINTER = 7, HIPBLASLT_MATMUL_DESC_D_SCALE_POINTER = 8, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER = 9, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 10, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 11, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 12, HIPBLASLT_MATMUL_DESC_POINTER_MODE = 13, HIPBLASLT_MATMUL_DESC_AMAX_D_POINTER = 14, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE = 22, HIPBLASLT_MATMUL_DESC_A_SCALE_MODE = 31, HIPBLASLT_MATMUL_DESC_B_SCALE_MODE = 32, HIPBLASLT_MATMUL_DESC_COMPUTE_INPUT_TYPE_A_EXT = 100, HIPBLASLT_MATMUL_DESC_COMPUTE_INPUT_TYPE_B_EXT = 101, HIPBLASLT_MATMUL_DESC_EPILOGUE_ACT_ARG0_EXT = 102, HIPBLASLT_MATMUL_DESC_EPILOGUE_ACT_ARG1_EXT = 103, HIPBLASLT_MATMUL_DESC_MAX = 104 };
typedef enum hipblasLtMatmulDescAttributes_t hipblasLtMatmulDescAttributes_t;
enum hipblasLtMatmulPreferenceAttributes_t { HIPBLASLT_MATMUL_PREF_SEARCH_MODE = 0, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1, HIPBLASLT_MATMUL_PREF_MAX = 2 };
typedef enum hipblasLtMatmulPreferenceAttributes_t hipblasLtMatmulPreferenceAttributes_t;
enum hipblasLtOrder_t { HIPBLASLT_ORDER_COL = 0, HIPBLASLT_ORDER_ROW = 1, HIPBLASLT_ORDER_COL16_4R16 = 100, HIPBLASLT_ORDER_COL16_4R8 = 101, HIPBLASLT_ORDER_COL16_4R4 = 102, HIPBLASLT_ORDER_COL16_4R2 = 103 };
typedef enum hipblasLtOrder_t hipblasLtOrder_t;
enum hipblasLtMatrixTransformDescAttributes_t { HIPBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE = 0, HIPBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE = 1, HIPBLASLT_MATRIX_TRANSFORM_DESC_TRANSA = 2, HIPBLASLT_MATRIX_TRANSFORM_DESC_TRANSB = 3 };
typedef enum hipblasLtMatrixTransformDescAttributes_t hipblasLtMatrixTransformDescAttributes_t;
typedef struct hipblasLtMatmulDescOpaque_t hipblasLtMatmulDescOpaque_t;
struct hipblasLtMatmulDescOpaque_t { uint64_t data[4]; };
typedef struct hipblasLtMatrixLayoutOpaque_t hipblasLtMatrixLayoutOpaque_t;
struct hipblasLtMatrixLayoutOpaque_t { uint64_t data[4]; };
typedef struct hipblasLtMatmulPreferenceOpaque_t hipblasLtMatmulPreferenceOpaque_t;
struct hipblasLtMatmulPreferenceOpaque_t { uint64_t data[5]; };
typedef struct hipblasLtMatrixTransformDescOpaque_t hipblasLtMatrixTransformDescOpaque_t;
struct hipblasLtMatrixTransformDescOpaque_t { uint64_t data[8]; };
typedef hipblasLtMatrixTransformDescOpaque_t* hipblasLtMatrixTransformDesc_t;
typedef void* hipblasLtHandle_t;
typedef hipblasLtMatmulDescOpaque_t* hipblasLtMatmulDesc_t;
typedef hipblasLtMatrixLayoutOpaque_t* hipblasLtMatrixLayout_t;
typedef hipblasLtMatmulPreferenceOpaque_t* hipblasLtMatmulPreference_t;
typedef struct _hipblasLtMatmulAlgo_t _hipblasLtMatmulAlgo_t;
struct _hipblasLtMatmulAlgo_t { uint8_t data[16]; size_t max_workspace_bytes; };
typedef struct _hipblasLtMatmulAlgo_t hipblasLtMatmulAlgo_t;
typedef struct _hipblasLtMatmulHeuristicResult_t _hipblasLtMatmulHeuristicResult_t;
struct _hipblasLtMatmulHeuristicResult_t { hipblasLtMatmulAlgo_t algo; size_t workspaceSize; hipblasStatus_t state; float wavesCount; int reserved[4]; };
typedef struct _hipblasLtMatmulHeuristicResult_t hipblasLtMatmulHeuristicResult_t;
hipblasStatus_t hipblasLtGetVersion(hipblasLtHandle_t, int*);
hipblasStatus_t hipblasLtGetGitRevision(hipblasLtHandle_t, char*);
hipblasStatus_t hipblasLtGetArchName(char**);
hipblasStatus_t hipblasLtCreate(hipblasLtHandle_t*);
hipblasStatus_t hipblasLtDestroy(const hipblasLtHandle_t);
hipblasStatus_t hipblasLtMatrixLayoutCreate(hipblasLtMatrixLayout_t*, hipDataType, uint64_t, uint64_t, int64_t);
hipblasStatus_t hipblasLtMatrixLayoutDestroy(const hipblasLtMatrixLayout_t);
hipblasStatus_t hipblasLtMatrixLayoutSetAttribute(hipblasLtMatrixLayout_t, hipblasLtMatrixLayoutAttribute_t, const void*, size_t);
hipblasStatus_t hipblasLtMatrixLayoutGetAttribute(hipblasLtMatrixLayout_t, hipblasLtMatrixLayoutAttribute_t, void*, size_t, size_t*);
hipblasStatus_t hipblasLtMatmulDescCreate(hipblasLtMatmulDesc_t*, hipblasComputeType_t, hipDataType);
hipblasStatus_t hipblasLtMatmulDescDestroy(const hipblasLtMatmulDesc_t);
hipblasStatus_t hipblasLtMatmulDescSetAttribute(hipblasLtMatmulDesc_t, hipblasLtMatmulDescAttributes_t, const void*, size_t);
hipblasStatus_t hipblasLtMatmulDescGetAttribute(hipblasLtMatmulDesc_t, hipblasLtMatmulDescAttributes_t, void*, size_t, size_t*);
hipblasStatus_t hipblasLtMatmulPreferenceCreate(hipblasLtMatmulPreference_t*);
hipblasStatus_t hipblasLtMatmulPreferenceDestroy(const hipblasLtMatmulPreference_t);
hipblasStatus_t hipblasLtMatmulPreferenceSetAttribute(hipblasLtMatmulPreference_t, hipblasLtMatmulPreferenceAttributes_t, const void*, size_t);
hipblasStatus_t hipblasLtMatmulPreferenceGetAttribute(hipblasLtMatmulPreference_t, hipblasLtMatmulPreferenceAttributes_t, void*, size_t, size_t*);
hipblasStatus_t hipblasLtMatmulAlgoGetHeuristic(hipblasLtHandle_t, hipblasLtMatmulDesc_t, hipblasLtMatrixLayout_t, hipblasLtMatrixLayout_t, hipblasLtMatrixLayout_t, hipblasLtMatrixLayout_t, hipblasLtMatmulPreference_t, int, hipblasLtMatmulHeuristicResult_t [], int*);
hipblasStatus_t hipblasLtMatmul(hipblasLtHandle_t, hipblasLtMatmulDesc_t, const void*, const void*, hipblasLtMatrixLayout_t, const void*, hipblasLtMatrixLayout_t, const void*, const void*, hipblasLtMatrixLayout_t, void*, hipblasLtMatrixLayout_t, const hipblasLtMatmulAlgo_t*, void*, size_t, hipStream_t);
hipblasStatus_t hipblasLtMatrixTransformDescCreate(hipblasLtMatrixTransformDesc_t*, hipDataType);
hipblasStatus_t hipblasLtMatrixTransformDescDestroy(hipblasLtMatrixTransformDesc_t);
hipblasStatus_t hipblasLtMatrixTransformDescSetAttribute(hipblasLtMatrixTransformDesc_t, hipblasLtMatrixTransformDescAttributes_t, const void*, size_t);
hipblasStatus_t hipblasLtMatrixTransformDescGetAttribute(hipblasLtMatrixTransformDesc_t, hipblasLtMatrixTransformDescAttributes_t, void*, size_t, size_t*);
hipblasStatus_t hipblasLtMatrixTransform(hipblasLtHandle_t, hipblasLtMatrixTransformDesc_t, const void*, const void*, hipblasLtMatrixLayout_t, const void*, const void*, hipblasLtMatrixLayout_t, void*, hipblasLtMatrixLayout_t, hipStream_t);
#ifdef __cplusplus
}
#endif
