// Declarations of rccl, made by scripts/build_library_headers.py from what its public headers declare.
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

#define NCCL_MAJOR 2
#define NCCL_MINOR 27
#define NCCL_PATCH 7
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 22707
#define NCCL_VERSION( X , Y , Z ) ( ( ( X ) <= 2 && ( Y ) <= 8 ) ? ( X ) * 1000 + ( Y ) * 100 + ( Z ) : ( X ) * 10000 + ( Y ) * 100 + ( Z ) )
#define RCCL_BFLOAT16 1
#define RCCL_FLOAT8 1
#define RCCL_GATHER_SCATTER 1
#define RCCL_ALLTOALLV 1
#define RCCL_ALLREDUCE_WITH_BIAS 1
#define NCCL_COMM_NULL NULL
#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_SPLIT_NOCOLOR - 1
#define NCCL_UNDEF_FLOAT - 1.0f
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_CONFIG_INITIALIZER { sizeof ( ncclConfig_t ) , /* size */ 0xcafebeef , /* magic */ NCCL_VERSION ( NCCL_MAJOR , NCCL_MINOR , NCCL_PATCH ) , /* version */ NCCL_CONFIG_UNDEF_INT , /* blocking */ NCCL_CONFIG_UNDEF_INT , /* cgaClusterSize */ NCCL_CONFIG_UNDEF_INT , /* minCTAs */ NCCL_CONFIG_UNDEF_INT , /* maxCTAs */ NCCL_CONFIG_UNDEF_PTR , /* netName */ NCCL_CONFIG_UNDEF_INT , /* splitShare */ NCCL_CONFIG_UNDEF_INT , /* trafficClass */ NCCL_CONFIG_UNDEF_PTR , /* commName */ NCCL_CONFIG_UNDEF_INT , /* collnetEnable */ NCCL_CONFIG_UNDEF_INT , /* CTAPolicy */ NCCL_CONFIG_UNDEF_INT , /* shrinkShare */ NCCL_CONFIG_UNDEF_INT , /* nvlsCTAs */ \
}
#define NCCL_SIM_INFO_INITIALIZER { sizeof ( ncclSimInfo_t ) , /* size */ 0x74685283 , /* magic */ NCCL_VERSION ( NCCL_MAJOR , NCCL_MINOR , NCCL_PATCH ) , /* version */ NCCL_UNDEF_FLOAT /* estimated time */ \
}
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ncclComm ncclComm;
struct ncclComm;
typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow ncclWindow;
struct ncclWindow;
typedef struct ncclWindow* ncclWindow_t;
typedef struct ncclUniqueId ncclUniqueId;
struct ncclUniqueId { char internal[128]; };
enum ncclResult_t { ncclSuccess = 0, ncclUnhandledCudaError = 1, ncclSystemError = 2, ncclInternalError = 3, ncclInvalidArgument = 4, ncclInvalidUsage = 5, ncclRemoteError = 6, ncclInProgress = 7, ncclNumResults = 8 };
typedef enum ncclResult_t ncclResult_t;
typedef struct ncclConfig_v22700 ncclConfig_v22700;
struct ncclConfig_v22700 { size_t size; unsigned int magic; unsigned int version; int blocking; int cgaClusterSize; int minCTAs; int maxCTAs; const char* netName; int splitShare; int trafficClass; const char* commName; int collnetEnable; int CTAPolicy; int shrinkShare; int nvlsCTAs; };
typedef struct ncclConfig_v22700 ncclConfig_t;
typedef struct ncclSimInfo_v22200 ncclSimInfo_v22200;
struct ncclSimInfo_v22200 { size_t size; unsigned int magic; unsigned int version; float estimatedTime; };
typedef struct ncclSimInfo_v22200 ncclSimInfo_t;
ncclResult_t ncclMemAlloc(void**, size_t);
ncclResult_t pncclMemAlloc(void**, size_t);
ncclResult_t ncclMemFree(void*);
ncclResult_t pncclMemFree(void*);
ncclResult_t ncclGetVersion(int*);
ncclResult_t pncclGetVersion(int*);
ncclResult_t ncclGetUniqueId(ncclUniqueId*);
ncclResult_t pncclGetUniqueId(ncclUniqueId*);
ncclResult_t ncclCommInitRankConfig(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*);
ncclResult_t pncclCommInitRankConfig(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*);
ncclResult_t ncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int);
ncclResult_t pncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int);
ncclResult_t ncclCommInitAll(ncclComm_t*, int, const int*);
ncclResult_t pncclCommInitAll(ncclComm_t*, int, const int*);
ncclResult_t ncclCommFinalize(ncclComm_t);
ncclResult_t pncclCommFinalize(ncclComm_t);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t pncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t pncclCommAbort(ncclComm_t);
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*);
ncclResult_t pncclCommSplit(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*);
ncclResult_t ncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);
ncclResult_t pncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);
ncclResult_t ncclCommInitRankScalable(ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*);
ncclResult_t pncclCommInitRankScalable(ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*);
const char * ncclGetErrorString(ncclResult_t);
const char * pncclGetErrorString(ncclResult_t);
const char * ncclGetLastError(ncclComm_t);
const char * pncclGetLastError(ncclComm_t);
void ncclResetDebugInit();
void pncclResetDebugInit();
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
ncclResult_t pncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
ncclResult_t ncclCommCount(const ncclComm_t, int*);
ncclResult_t pncclCommCount(const ncclComm_t, int*);
ncclResult_t ncclCommCuDevice(const ncclComm_t, int*);
ncclResult_t pncclCommCuDevice(const ncclComm_t, int*);
ncclResult_t ncclCommUserRank(const ncclComm_t, int*);
ncclResult_t pncclCommUserRank(const ncclComm_t, int*);
ncclResult_t ncclCommRegister(const ncclComm_t, void*, size_t, void**);
ncclResult_t pncclCommRegister(const ncclComm_t, void*, size_t, void**);
ncclResult_t ncclCommDeregister(const ncclComm_t, void*);
ncclResult_t pncclCommDeregister(const ncclComm_t, void*);
ncclResult_t ncclCommWindowRegister(ncclComm_t, void*, size_t, ncclWindow_t*, int);
ncclResult_t pncclCommWindowRegister(ncclComm_t, void*, size_t, ncclWindow_t*, int);
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t);
ncclResult_t pncclCommWindowDeregister(ncclComm_t, ncclWindow_t);
enum ncclRedOp_dummy_t { ncclNumOps_dummy = 5 };
typedef enum ncclRedOp_dummy_t ncclRedOp_dummy_t;
enum ncclRedOp_t { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4, ncclNumOps = 5, ncclMaxRedOp = 2147483647 };
typedef enum ncclRedOp_t ncclRedOp_t;
enum ncclDataType_t { ncclInt8 = 0, ncclChar = 0, ncclUint8 = 1, ncclInt32 = 2, ncclInt = 2, ncclUint32 = 3, ncclInt64 = 4, ncclUint64 = 5, ncclFloat16 = 6, ncclHalf = 6, ncclFloat32 = 7, ncclFloat = 7, ncclFloat64 = 8, ncclDouble = 8, ncclBfloat16 = 9, ncclFloat8e4m3 = 10, ncclFloat8e5m2 = 11, ncclNumTypes = 12 };
typedef enum ncclDataType_t ncclDataType_t;
enum ncclScalarResidence_t { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 };
typedef enum ncclScalarResidence_t ncclScalarResidence_t;
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t*, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t);
ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t*, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t);
ncclResult_t pncclRedOpDestroy(ncclRedOp_t, ncclComm_t);
ncclResult_t ncclReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, hipStream_t);
ncclResult_t pncclReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclBcast(void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t pncclBcast(void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t pncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, hipStream_t);
ncclResult_t pncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, hipStream_t);
ncclResult_t ncclAllReduceWithBias(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, hipStream_t, const void*);
ncclResult_t pncclAllReduceWithBias(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, hipStream_t, const void*);
ncclResult_t ncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, hipStream_t);
ncclResult_t pncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, hipStream_t);
ncclResult_t ncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t, hipStream_t);
ncclResult_t pncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t, hipStream_t);
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t pncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t pncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclGather(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t pncclGather(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclScatter(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t pncclScatter(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclAllToAll(const void*, void*, size_t, ncclDataType_t, ncclComm_t, hipStream_t);
ncclResult_t pncclAllToAll(const void*, void*, size_t, ncclDataType_t, ncclComm_t, hipStream_t);
ncclResult_t ncclAllToAllv(const void*, const size_t [], const size_t [], void*, const size_t [], const size_t [], ncclDataType_t, ncclComm_t, hipStream_t);
ncclResult_t pncclAllToAllv(const void*, const size_t [], const size_t [], void*, const size_t [], const size_t [], ncclDataType_t, ncclComm_t, hipStream_t);
typedef int mscclAlgoHandle_t;
ncclResult_t mscclLoadAlgo(const char*, mscclAlgoHandle_t*, int);
ncclResult_t pmscclLoadAlgo(const char*, mscclAlgoHandle_t*, int);
ncclResult_t mscclRunAlgo(const void*, const size_t [], const size_t [], void*, const size_t [], const size_t [], size_t, ncclDataType_t, int, int, ncclRedOp_t, mscclAlgoHandle_t, ncclComm_t, hipStream_t);
ncclResult_t pmscclRunAlgo(const void*, const size_t [], const size_t [], void*, const size_t [], const size_t [], size_t, ncclDataType_t, int, int, ncclRedOp_t, mscclAlgoHandle_t, ncclComm_t, hipStream_t);
ncclResult_t mscclUnloadAlgo(mscclAlgoHandle_t);
ncclResult_t pmscclUnloadAlgo(mscclAlgoHandle_t);
ncclResult_t ncclGroupStart();
ncclResult_t pncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t pncclGroupEnd();
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t*);
ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t*);
#ifdef __cplusplus
}
#endif
