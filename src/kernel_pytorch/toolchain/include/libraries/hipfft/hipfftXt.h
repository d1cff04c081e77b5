// Declarations of hipfft 1, made by scripts/build_library_headers.py from what its public headers declare.
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

#define DO_PRAGMA( X ) _Pragma ( # X )
#define DISABLE_WARNING_PUSH DO_PRAGMA ( GCC diagnostic push )
#define DISABLE_WARNING_POP DO_PRAGMA ( GCC diagnostic pop )
#define DISABLE_WARNING( warningName ) DO_PRAGMA ( GCC diagnostic ignored # warningName )
#define DISABLE_WARNING_RETURN_TYPE DISABLE_WARNING ( - Wreturn - type )
#define DISABLE_WARNING_IGNORED_ATTRIBUTES DISABLE_WARNING ( - Wignored - attributes )
#define hipfftVersionMajor 1
#define hipfftVersionMinor 0
#define hipfftVersionPatch 22
#define HIPFFT_FORWARD - 1
#define HIPFFT_BACKWARD 1
#define MAX_HIP_DESCRIPTOR_GPUS 64
#ifdef __cplusplus
extern "C" {
#endif
enum hipfftResult_t { HIPFFT_SUCCESS = 0, HIPFFT_INVALID_PLAN = 1, HIPFFT_ALLOC_FAILED = 2, HIPFFT_INVALID_TYPE = 3, HIPFFT_INVALID_VALUE = 4, HIPFFT_INTERNAL_ERROR = 5, HIPFFT_EXEC_FAILED = 6, HIPFFT_SETUP_FAILED = 7, HIPFFT_INVALID_SIZE = 8, HIPFFT_UNALIGNED_DATA = 9, HIPFFT_INCOMPLETE_PARAMETER_LIST = 10, HIPFFT_INVALID_DEVICE = 11, HIPFFT_PARSE_ERROR = 12, HIPFFT_NO_WORKSPACE = 13, HIPFFT_NOT_IMPLEMENTED = 14, HIPFFT_NOT_SUPPORTED = 16 };
typedef enum hipfftResult_t hipfftResult_t;
typedef enum hipfftResult_t hipfftResult;
enum hipfftType_t { HIPFFT_R2C = 42, HIPFFT_C2R = 44, HIPFFT_C2C = 41, HIPFFT_D2Z = 106, HIPFFT_Z2D = 108, HIPFFT_Z2Z = 105 };
typedef enum hipfftType_t hipfftType_t;
typedef enum hipfftType_t hipfftType;
enum hipfftLibraryPropertyType_t { HIPFFT_MAJOR_VERSION = 0, HIPFFT_MINOR_VERSION = 1, HIPFFT_PATCH_LEVEL = 2 };
typedef enum hipfftLibraryPropertyType_t hipfftLibraryPropertyType_t;
typedef enum hipfftLibraryPropertyType_t hipfftLibraryPropertyType;
typedef struct hipfftHandle_t hipfftHandle_t;
struct hipfftHandle_t;
typedef struct hipfftHandle_t* hipfftHandle;
typedef hipComplex hipfftComplex;
typedef hipDoubleComplex hipfftDoubleComplex;
typedef float hipfftReal;
typedef double hipfftDoubleReal;
hipfftResult hipfftPlan1d(hipfftHandle*, int, hipfftType, int);
hipfftResult hipfftPlan2d(hipfftHandle*, int, int, hipfftType);
hipfftResult hipfftPlan3d(hipfftHandle*, int, int, int, hipfftType);
hipfftResult hipfftPlanMany(hipfftHandle*, int, int*, int*, int, int, int*, int, int, hipfftType, int);
hipfftResult hipfftCreate(hipfftHandle*);
hipfftResult hipfftExtPlanScaleFactor(hipfftHandle, double);
hipfftResult hipfftMakePlan1d(hipfftHandle, int, hipfftType, int, size_t*);
hipfftResult hipfftMakePlan2d(hipfftHandle, int, int, hipfftType, size_t*);
hipfftResult hipfftMakePlan3d(hipfftHandle, int, int, int, hipfftType, size_t*);
hipfftResult hipfftMakePlanMany(hipfftHandle, int, int*, int*, int, int, int*, int, int, hipfftType, int, size_t*);
hipfftResult hipfftMakePlanMany64(hipfftHandle, int, long long*, long long*, long long, long long, long long*, long long, long long, hipfftType, long long, size_t*);
hipfftResult hipfftEstimate1d(int, hipfftType, int, size_t*);
hipfftResult hipfftEstimate2d(int, int, hipfftType, size_t*);
hipfftResult hipfftEstimate3d(int, int, int, hipfftType, size_t*);
hipfftResult hipfftEstimateMany(int, int*, int*, int, int, int*, int, int, hipfftType, int, size_t*);
hipfftResult hipfftGetSize1d(hipfftHandle, int, hipfftType, int, size_t*);
hipfftResult hipfftGetSize2d(hipfftHandle, int, int, hipfftType, size_t*);
hipfftResult hipfftGetSize3d(hipfftHandle, int, int, int, hipfftType, size_t*);
hipfftResult hipfftGetSizeMany(hipfftHandle, int, int*, int*, int, int, int*, int, int, hipfftType, int, size_t*);
hipfftResult hipfftGetSizeMany64(hipfftHandle, int, long long*, long long*, long long, long long, long long*, long long, long long, hipfftType, long long, size_t*);
hipfftResult hipfftGetSize(hipfftHandle, size_t*);
hipfftResult hipfftSetAutoAllocation(hipfftHandle, int);
hipfftResult hipfftSetWorkArea(hipfftHandle, void*);
hipfftResult hipfftExecC2C(hipfftHandle, hipfftComplex*, hipfftComplex*, int);
hipfftResult hipfftExecR2C(hipfftHandle, hipfftReal*, hipfftComplex*);
hipfftResult hipfftExecC2R(hipfftHandle, hipfftComplex*, hipfftReal*);
hipfftResult hipfftExecZ2Z(hipfftHandle, hipfftDoubleComplex*, hipfftDoubleComplex*, int);
hipfftResult hipfftExecD2Z(hipfftHandle, hipfftDoubleReal*, hipfftDoubleComplex*);
hipfftResult hipfftExecZ2D(hipfftHandle, hipfftDoubleComplex*, hipfftDoubleReal*);
hipfftResult hipfftSetStream(hipfftHandle, hipStream_t);
hipfftResult hipfftDestroy(hipfftHandle);
hipfftResult hipfftGetVersion(int*);
hipfftResult hipfftGetProperty(hipfftLibraryPropertyType, int*);
typedef struct hipXtDesc_t hipXtDesc_t;
struct hipXtDesc_t { int version; int nGPUs; int GPUs[64]; void* data[64]; size_t size[64]; void* hipXtState; };
typedef struct hipXtDesc_t hipXtDesc;
enum hiplibFormat_t { HIPLIB_FORMAT_HIPFFT = 0, HIPLIB_FORMAT_UNDEFINED = 1 };
typedef enum hiplibFormat_t hiplibFormat_t;
typedef enum hiplibFormat_t hiplibFormat;
typedef struct hipLibXtDesc_t hipLibXtDesc_t;
struct hipLibXtDesc_t { int version; hipXtDesc* descriptor; hiplibFormat library; int subFormat; void* libDescriptor; };
typedef struct hipLibXtDesc_t hipLibXtDesc;
enum hipfftXtCopyType_t { HIPFFT_COPY_HOST_TO_DEVICE = 0, HIPFFT_COPY_DEVICE_TO_HOST = 1, HIPFFT_COPY_DEVICE_TO_DEVICE = 2, HIPFFT_COPY_UNDEFINED = 3 };
typedef enum hipfftXtCopyType_t hipfftXtCopyType_t;
typedef enum hipfftXtCopyType_t hipfftXtCopyType;
enum hipfftXtCallbackType_t { HIPFFT_CB_LD_COMPLEX = 0, HIPFFT_CB_LD_COMPLEX_DOUBLE = 1, HIPFFT_CB_LD_REAL = 2, HIPFFT_CB_LD_REAL_DOUBLE = 3, HIPFFT_CB_ST_COMPLEX = 4, HIPFFT_CB_ST_COMPLEX_DOUBLE = 5, HIPFFT_CB_ST_REAL = 6, HIPFFT_CB_ST_REAL_DOUBLE = 7, HIPFFT_CB_UNDEFINED = 8 };
typedef enum hipfftXtCallbackType_t hipfftXtCallbackType_t;
typedef enum hipfftXtCallbackType_t hipfftXtCallbackType;
typedef hipfftComplex (*hipfftCallbackLoadC)(void *, size_t, void *, void *);
typedef hipfftDoubleComplex (*hipfftCallbackLoadZ)(void *, size_t, void *, void *);
typedef hipfftReal (*hipfftCallbackLoadR)(void *, size_t, void *, void *);
typedef hipfftDoubleReal (*hipfftCallbackLoadD)(void *, size_t, void *, void *);
typedef void (*hipfftCallbackStoreC)(void *, size_t, hipfftComplex, void *, void *);
typedef void (*hipfftCallbackStoreZ)(void *, size_t, hipfftDoubleComplex, void *, void *);
typedef void (*hipfftCallbackStoreR)(void *, size_t, hipfftReal, void *, void *);
typedef void (*hipfftCallbackStoreD)(void *, size_t, hipfftDoubleReal, void *, void *);
hipfftResult hipfftXtSetCallback(hipfftHandle, void**, hipfftXtCallbackType, void**);
hipfftResult hipfftXtClearCallback(hipfftHandle, hipfftXtCallbackType);
hipfftResult hipfftXtSetCallbackSharedSize(hipfftHandle, hipfftXtCallbackType, size_t);
hipfftResult hipfftXtMakePlanMany(hipfftHandle, int, long long*, long long*, long long, long long, hipDataType, long long*, long long, long long, hipDataType, long long, size_t*, hipDataType);
hipfftResult hipfftXtGetSizeMany(hipfftHandle, int, long long*, long long*, long long, long long, hipDataType, long long*, long long, long long, hipDataType, long long, size_t*, hipDataType);
hipfftResult hipfftXtExec(hipfftHandle, void*, void*, int);
hipfftResult hipfftXtSetGPUs(hipfftHandle, int, int*);
enum hipfftXtSubFormat_t { HIPFFT_XT_FORMAT_INPUT = 0, HIPFFT_XT_FORMAT_OUTPUT = 1, HIPFFT_XT_FORMAT_INPLACE = 2, HIPFFT_XT_FORMAT_INPLACE_SHUFFLED = 3, HIPFFT_XT_FORMAT_1D_INPUT_SHUFFLED = 4, HIPFFT_FORMAT_UNDEFINED = 5 };
typedef enum hipfftXtSubFormat_t hipfftXtSubFormat_t;
typedef enum hipfftXtSubFormat_t hipfftXtSubFormat;
hipfftResult hipfftXtMalloc(hipfftHandle, hipLibXtDesc**, hipfftXtSubFormat);
hipfftResult hipfftXtMemcpy(hipfftHandle, void*, void*, hipfftXtCopyType);
hipfftResult hipfftXtFree(hipLibXtDesc*);
hipfftResult hipfftXtExecDescriptorC2C(hipfftHandle, hipLibXtDesc*, hipLibXtDesc*, int);
hipfftResult hipfftXtExecDescriptorR2C(hipfftHandle, hipLibXtDesc*, hipLibXtDesc*);
hipfftResult hipfftXtExecDescriptorC2R(hipfftHandle, hipLibXtDesc*, hipLibXtDesc*);
hipfftResult hipfftXtExecDescriptorZ2Z(hipfftHandle, hipLibXtDesc*, hipLibXtDesc*, int);
hipfftResult hipfftXtExecDescriptorD2Z(hipfftHandle, hipLibXtDesc*, hipLibXtDesc*);
hipfftResult hipfftXtExecDescriptorZ2D(hipfftHandle, hipLibXtDesc*, hipLibXtDesc*);
hipfftResult hipfftXtExecDescriptor(hipfftHandle, hipLibXtDesc*, hipLibXtDesc*, int);
#ifdef __cplusplus
}
#endif
