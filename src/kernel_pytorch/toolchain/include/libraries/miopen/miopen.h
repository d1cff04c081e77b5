// Declarations of miopen 7, made by scripts/build_library_headers.py from what its public headers declare.
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

#define MIOPEN_BACKEND_OPENCL 0
#define MIOPEN_BACKEND_HIP 1
#define MIOPEN_MODE_NOGPU 0
#define MIOPEN_USE_ROCBLAS 1
#define MIOPEN_USE_HIPBLASLT 0
#define MIOPEN_USE_ROCTRACER 1
#define MIOPEN_BUILD_DEV 0
#define MIOPEN_GPU_SYNC 0
#define MIOPEN_ENABLE_SQLITE 1
#define MIOPEN_ENABLE_SQLITE_KERN_CACHE 1
#define MIOPEN_DEBUG_FIND_DB_CACHING 1
#define MIOPEN_USE_COMGR 1
#define MIOPEN_USE_HIPRTC 1
#define MIOPEN_USE_HIP_KERNELS 1
#define MIOPEN_DISABLE_USERDB 0
#define MIOPEN_EMBED_DB 0
#define BUILD_SHARED_LIBS 1
#define MIOPEN_DISABLE_SYSDB 0
#define MIOPEN_LOG_FUNC_TIME_ENABLE 0
#define MIOPEN_ENABLE_SQLITE_BACKOFF 1
#define MIOPEN_USE_MLIR 0
#define MIOPEN_USE_COMPOSABLEKERNEL 0
#define MIOPEN_BUILD_DRIVER 1
#define MIOPEN_ENABLE_AI_IMMED_MODE_FALLBACK 1
#define MIOPEN_ENABLE_AI_KERNEL_TUNING 1
#define MIOPEN_HIP_COMPILER_HAS_OPTION_OFFLOAD_UNIFORM_BLOCK 1
#define MIOPEN_WORKAROUND_USE_BOOST_FILESYSTEM 0
#define MIOPEN_ENABLE_FIN_INTERFACE 0
#define HIP_PACKAGE_VERSION_MAJOR 7
#define HIP_PACKAGE_VERSION_MINOR 2
#define HIP_PACKAGE_VERSION_PATCH 53211
#define MIOPEN_AMD_COMGR_VERSION_MAJOR 3
#define MIOPEN_AMD_COMGR_VERSION_MINOR 0
#define MIOPEN_AMD_COMGR_VERSION_PATCH 0
#define MIOPEN_USE_RNE_BFLOAT16 1
#define MIOPEN_FP8_IEEE_EXPONENT_BIAS 0
#define MIOPEN_FP8_CLIPPING 1
#define MIOPEN_OFFLINE_COMPILER_PATHS_V2 0
#define HIP_OC_COMPILER "/usr/bin/clang-22"
#define MIOPEN_HIP_COMPILER "/usr/bin/clang++-22"
#define MIOPEN_CACHE_DIR "~/.cache/miopen/"
#define MIOPEN_USE_SQLITE_PERFDB 0
#define MIOPEN_USE_GEMM ( MIOPEN_USE_ROCBLAS || MIOPEN_USE_HIPBLASLT )
#define MIOPEN_NDEBUG 0
#define MIOPEN_INSTALLABLE ( MIOPEN_NDEBUG && ! MIOPEN_BUILD_DEV )
#define MIOPEN_ALLOC_BUFFERS 0
#define HIP_PACKAGE_VERSION_FLAT ( ( HIP_PACKAGE_VERSION_MAJOR * 1000ULL + HIP_PACKAGE_VERSION_MINOR ) * 1000000 + HIP_PACKAGE_VERSION_PATCH )
#define MIOPEN_ROCBLAS_VERSION_MAJOR 5
#define MIOPEN_ROCBLAS_VERSION_MINOR 2
#define MIOPEN_ROCBLAS_VERSION_PATCH 0
#define MIOPEN_ROCBLAS_VERSION_FLAT ( ( MIOPEN_ROCBLAS_VERSION_MAJOR * 1000 + MIOPEN_ROCBLAS_VERSION_MINOR ) * 1000 + MIOPEN_ROCBLAS_VERSION_PATCH )
#define MIOPEN_GOLDEN_DB_VERSION 21
#define MIOPEN_DECLARE_OBJECT( name ) struct name { } ; typedef struct name * name ## _t ;
#define MIOPEN_API_VERSION_REDUCE_TENSOR 1
#ifdef __cplusplus
extern "C" {
#endif
typedef hipStream_t miopenAcceleratorQueue_t;
typedef struct miopenHandle miopenHandle;
struct miopenHandle {  };
typedef struct miopenHandle* miopenHandle_t;
enum miopenStatus_t { miopenStatusSuccess = 0, miopenStatusNotInitialized = 1, miopenStatusInvalidValue = 2, miopenStatusBadParm = 3, miopenStatusAllocFailed = 4, miopenStatusInternalError = 5, miopenStatusNotImplemented = 6, miopenStatusUnknownError = 7, miopenStatusUnsupportedOp = 8, miopenStatusGpuOperationsSkipped = 9, miopenStatusVersionMismatch = 10 };
typedef enum miopenStatus_t miopenStatus_t;
const char * miopenGetErrorString(miopenStatus_t);
typedef void *(*miopenAllocatorFunction)(void *, size_t);
typedef void (*miopenDeallocatorFunction)(void *, void *);
miopenStatus_t miopenGetVersion(size_t*, size_t*, size_t*);
miopenStatus_t miopenCreate(miopenHandle_t*);
miopenStatus_t miopenCreateWithStream(miopenHandle_t*, miopenAcceleratorQueue_t);
miopenStatus_t miopenDestroy(miopenHandle_t);
miopenStatus_t miopenSetStream(miopenHandle_t, miopenAcceleratorQueue_t);
miopenStatus_t miopenGetStream(miopenHandle_t, miopenAcceleratorQueue_t*);
miopenStatus_t miopenSetAllocator(miopenHandle_t, miopenAllocatorFunction, miopenDeallocatorFunction, void*);
miopenStatus_t miopenGetKernelTime(miopenHandle_t, float*);
miopenStatus_t miopenEnableProfiling(miopenHandle_t, bool);
typedef struct miopenFusionOpDescriptor miopenFusionOpDescriptor;
struct miopenFusionOpDescriptor {  };
typedef struct miopenFusionOpDescriptor* miopenFusionOpDescriptor_t;
typedef struct miopenTensorDescriptor miopenTensorDescriptor;
struct miopenTensorDescriptor {  };
typedef struct miopenTensorDescriptor* miopenTensorDescriptor_t;
typedef struct miopenSeqTensorDescriptor miopenSeqTensorDescriptor;
struct miopenSeqTensorDescriptor {  };
typedef struct miopenSeqTensorDescriptor* miopenSeqTensorDescriptor_t;
typedef struct miopenConvolutionDescriptor miopenConvolutionDescriptor;
struct miopenConvolutionDescriptor {  };
typedef struct miopenConvolutionDescriptor* miopenConvolutionDescriptor_t;
typedef struct miopenPoolingDescriptor miopenPoolingDescriptor;
struct miopenPoolingDescriptor {  };
typedef struct miopenPoolingDescriptor* miopenPoolingDescriptor_t;
typedef struct miopenLRNDescriptor miopenLRNDescriptor;
struct miopenLRNDescriptor {  };
typedef struct miopenLRNDescriptor* miopenLRNDescriptor_t;
typedef struct miopenActivationDescriptor miopenActivationDescriptor;
struct miopenActivationDescriptor {  };
typedef struct miopenActivationDescriptor* miopenActivationDescriptor_t;
typedef struct miopenRNNDescriptor miopenRNNDescriptor;
struct miopenRNNDescriptor {  };
typedef struct miopenRNNDescriptor* miopenRNNDescriptor_t;
typedef struct miopenCTCLossDescriptor miopenCTCLossDescriptor;
struct miopenCTCLossDescriptor {  };
typedef struct miopenCTCLossDescriptor* miopenCTCLossDescriptor_t;
typedef struct miopenDropoutDescriptor miopenDropoutDescriptor;
struct miopenDropoutDescriptor {  };
typedef struct miopenDropoutDescriptor* miopenDropoutDescriptor_t;
typedef struct miopenReduceTensorDescriptor miopenReduceTensorDescriptor;
struct miopenReduceTensorDescriptor {  };
typedef struct miopenReduceTensorDescriptor* miopenReduceTensorDescriptor_t;
typedef struct miopenMhaDescriptor miopenMhaDescriptor;
struct miopenMhaDescriptor {  };
typedef struct miopenMhaDescriptor* miopenMhaDescriptor_t;
typedef struct miopenSoftmaxDescriptor miopenSoftmaxDescriptor;
struct miopenSoftmaxDescriptor {  };
typedef struct miopenSoftmaxDescriptor* miopenSoftmaxDescriptor_t;
enum miopenDataType_t { miopenHalf = 0, miopenFloat = 1, miopenInt32 = 2, miopenInt8 = 3, miopenBFloat16 = 5, miopenDouble = 6, miopenFloat8_fnuz = 7, miopenBFloat8_fnuz = 8, miopenInt64 = 9 };
typedef enum miopenDataType_t miopenDataType_t;
enum miopenTensorLayout_t { miopenTensorNCHW = 0, miopenTensorNHWC = 1, miopenTensorCHWN = 2, miopenTensorNCHWc4 = 3, miopenTensorNCHWc8 = 4, miopenTensorCHWNc4 = 5, miopenTensorCHWNc8 = 6, miopenTensorNCDHW = 7, miopenTensorNDHWC = 8 };
typedef enum miopenTensorLayout_t miopenTensorLayout_t;
enum miopenIndexType_t { miopenIndexUint8 = 0, miopenIndexUint16 = 1, miopenIndexUint32 = 2, miopenIndexUint64 = 3 };
typedef enum miopenIndexType_t miopenIndexType_t;
enum miopenTensorOp_t { miopenTensorOpAdd = 0, miopenTensorOpMul = 1, miopenTensorOpMin = 2, miopenTensorOpMax = 3 };
typedef enum miopenTensorOp_t miopenTensorOp_t;
enum miopenConvolutionMode_t { miopenConvolution = 0, miopenTranspose = 1, miopenGroupConv = 2, miopenDepthwise = 3 };
typedef enum miopenConvolutionMode_t miopenConvolutionMode_t;
enum miopenPaddingMode_t { miopenPaddingDefault = 0, miopenPaddingSame = 1, miopenPaddingValid = 2 };
typedef enum miopenPaddingMode_t miopenPaddingMode_t;
enum miopenPoolingMode_t { miopenPoolingMax = 0, miopenPoolingAverage = 1, miopenPoolingAverageInclusive = 2 };
typedef enum miopenPoolingMode_t miopenPoolingMode_t;
enum miopenPoolingWorkspaceIndexMode_t { miopenPoolingWorkspaceIndexMask = 0, miopenPoolingWorkspaceIndexImage = 1 };
typedef enum miopenPoolingWorkspaceIndexMode_t miopenPoolingWorkspaceIndexMode_t;
enum miopenLRNMode_t { miopenLRNWithinChannel = 0, miopenLRNCrossChannel = 1 };
typedef enum miopenLRNMode_t miopenLRNMode_t;
enum miopenBatchNormMode_t { miopenBNPerActivation = 0, miopenBNSpatial = 1 };
typedef enum miopenBatchNormMode_t miopenBatchNormMode_t;
enum miopenActivationMode_t { miopenActivationPASTHRU = 0, miopenActivationLOGISTIC = 1, miopenActivationTANH = 2, miopenActivationRELU = 3, miopenActivationSOFTRELU = 4, miopenActivationABS = 5, miopenActivationPOWER = 6, miopenActivationCLIPPEDRELU = 7, miopenActivationLEAKYRELU = 8, miopenActivationELU = 9, miopenActivationCLAMP = 10 };
typedef enum miopenActivationMode_t miopenActivationMode_t;
enum miopenSoftmaxAlgorithm_t { MIOPEN_SOFTMAX_FAST = 0, MIOPEN_SOFTMAX_ACCURATE = 1, MIOPEN_SOFTMAX_LOG = 2 };
typedef enum miopenSoftmaxAlgorithm_t miopenSoftmaxAlgorithm_t;
enum miopenSoftmaxMode_t { MIOPEN_SOFTMAX_MODE_INSTANCE = 0, MIOPEN_SOFTMAX_MODE_CHANNEL = 1 };
typedef enum miopenSoftmaxMode_t miopenSoftmaxMode_t;
enum miopenReduceTensorOp_t { MIOPEN_REDUCE_TENSOR_ADD = 0, MIOPEN_REDUCE_TENSOR_MUL = 1, MIOPEN_REDUCE_TENSOR_MIN = 2, MIOPEN_REDUCE_TENSOR_MAX = 3, MIOPEN_REDUCE_TENSOR_AMAX = 4, MIOPEN_REDUCE_TENSOR_AVG = 5, MIOPEN_REDUCE_TENSOR_NORM1 = 6, MIOPEN_REDUCE_TENSOR_NORM2 = 7 };
typedef enum miopenReduceTensorOp_t miopenReduceTensorOp_t;
enum miopenNanPropagation_t { MIOPEN_NOT_PROPAGATE_NAN = 0, MIOPEN_PROPAGATE_NAN = 1 };
typedef enum miopenNanPropagation_t miopenNanPropagation_t;
enum miopenReduceTensorIndices_t { MIOPEN_REDUCE_TENSOR_NO_INDICES = 0, MIOPEN_REDUCE_TENSOR_FLATTENED_INDICES = 1 };
typedef enum miopenReduceTensorIndices_t miopenReduceTensorIndices_t;
enum miopenIndicesType_t { MIOPEN_32BIT_INDICES = 0, MIOPEN_64BIT_INDICES = 1, MIOPEN_16BIT_INDICES = 2, MIOPEN_8BIT_INDICES = 3 };
typedef enum miopenIndicesType_t miopenIndicesType_t;
enum miopenConvolutionAttrib_t { MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1 };
typedef enum miopenConvolutionAttrib_t miopenConvolutionAttrib_t;
enum miopenConvolutionFindMode_t { miopenConvolutionFindModeNormal = 1, miopenConvolutionFindModeFast = 2, miopenConvolutionFindModeHybrid = 3, miopenConvolutionFindModeDynamicHybrid = 5, miopenConvolutionFindModeTrustVerify = 6, miopenConvolutionFindModeTrustVerifyFull = 7, miopenConvolutionFindModeDefault = 5 };
typedef enum miopenConvolutionFindMode_t miopenConvolutionFindMode_t;
miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t*);
miopenStatus_t miopenSet4dTensorDescriptor(miopenTensorDescriptor_t, miopenDataType_t, int, int, int, int);
miopenStatus_t miopenSetNdTensorDescriptorWithLayout(miopenTensorDescriptor_t, miopenDataType_t, miopenTensorLayout_t, const int*, int);
miopenStatus_t miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t, miopenDataType_t, int, int, int, int, int, int, int, int);
miopenStatus_t miopenGet4dTensorDescriptor(miopenTensorDescriptor_t, miopenDataType_t*, int*, int*, int*, int*, int*, int*, int*, int*);
miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t, miopenDataType_t, int, const int*, const int*);
miopenStatus_t miopenGetTensorDescriptorSize(miopenTensorDescriptor_t, int*);
miopenStatus_t miopenGetTensorDescriptor(miopenTensorDescriptor_t, miopenDataType_t*, int*, int*);
miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t);
miopenStatus_t miopenCreateSeqTensorDescriptor(miopenSeqTensorDescriptor_t*);
miopenStatus_t miopenDestroySeqTensorDescriptor(miopenSeqTensorDescriptor_t);
miopenStatus_t miopenOpTensor(miopenHandle_t, miopenTensorOp_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenSetTensor(miopenHandle_t, const miopenTensorDescriptor_t, void*, const void*);
miopenStatus_t miopenScaleTensor(miopenHandle_t, const miopenTensorDescriptor_t, void*, const void*);
miopenStatus_t miopenGetTensorNumBytes(miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenTransformTensor(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t*);
miopenStatus_t miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t, miopenConvolutionMode_t, int, int, int, int, int, int);
miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t, int, const int*, const int*, const int*, miopenConvolutionMode_t);
miopenStatus_t miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t, int*);
miopenStatus_t miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t, miopenConvolutionMode_t*, int*, int*, int*, int*, int*, int*);
miopenStatus_t miopenGetConvolutionNdDescriptor(miopenConvolutionDescriptor_t, int, int*, int*, int*, int*, miopenConvolutionMode_t*);
miopenStatus_t miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t, int*);
miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t, int);
miopenStatus_t miopenSetTransposeConvOutputPadding(miopenConvolutionDescriptor_t, int, int);
miopenStatus_t miopenSetTransposeConvNdOutputPadding(miopenConvolutionDescriptor_t, int, const int*);
miopenStatus_t miopenGetConvolutionForwardOutputDim(miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, int*, int*, int*, int*);
miopenStatus_t miopenGetConvolutionNdForwardOutputDim(miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, int*, int*);
miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t);
miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t, const miopenConvolutionAttrib_t, int);
miopenStatus_t miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t, const miopenConvolutionAttrib_t, int*);
miopenStatus_t miopenSetConvolutionFindMode(miopenConvolutionDescriptor_t, miopenConvolutionFindMode_t);
miopenStatus_t miopenGetConvolutionFindMode(const miopenConvolutionDescriptor_t, miopenConvolutionFindMode_t*);
enum miopenConvFwdAlgorithm_t { miopenConvolutionFwdAlgoGEMM = 0, miopenConvolutionFwdAlgoDirect = 1, miopenConvolutionFwdAlgoFFT = 2, miopenConvolutionFwdAlgoWinograd = 3, miopenConvolutionFwdAlgoImplicitGEMM = 5 };
typedef enum miopenConvFwdAlgorithm_t miopenConvFwdAlgorithm_t;
enum miopenConvBwdWeightsAlgorithm_t { miopenConvolutionBwdWeightsAlgoGEMM = 0, miopenConvolutionBwdWeightsAlgoDirect = 1, miopenConvolutionBwdWeightsAlgoWinograd = 3, miopenConvolutionBwdWeightsAlgoImplicitGEMM = 5 };
typedef enum miopenConvBwdWeightsAlgorithm_t miopenConvBwdWeightsAlgorithm_t;
enum miopenConvBwdDataAlgorithm_t { miopenConvolutionBwdDataAlgoGEMM = 0, miopenConvolutionBwdDataAlgoDirect = 1, miopenConvolutionBwdDataAlgoFFT = 2, miopenConvolutionBwdDataAlgoWinograd = 3, miopenTransposeBwdDataAlgoGEMM = 4, miopenConvolutionBwdDataAlgoImplicitGEMM = 5 };
typedef enum miopenConvBwdDataAlgorithm_t miopenConvBwdDataAlgorithm_t;
enum miopenConvAlgorithm_t { miopenConvolutionAlgoGEMM = 0, miopenConvolutionAlgoDirect = 1, miopenConvolutionAlgoFFT = 2, miopenConvolutionAlgoWinograd = 3, miopenConvolutionAlgoImplicitGEMM = 5 };
typedef enum miopenConvAlgorithm_t miopenConvAlgorithm_t;
typedef struct miopenConvAlgoPerf_t miopenConvAlgoPerf_t;
struct miopenConvAlgoPerf_t { float time; size_t memory; };
typedef struct miopenConvSolution_t miopenConvSolution_t;
struct miopenConvSolution_t { float time; size_t workspace_size; uint64_t solution_id; miopenConvAlgorithm_t algorithm; };
miopenStatus_t miopenConvolutionForwardGetSolutionCount(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenConvolutionForwardGetSolution(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const size_t, size_t*, miopenConvSolution_t*);
miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t, size_t*);
miopenStatus_t miopenConvolutionForwardCompileSolution(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t);
miopenStatus_t miopenConvolutionForwardImmediate(miopenHandle_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void*, void*, size_t, const uint64_t);
miopenStatus_t miopenConvolutionBackwardDataGetSolutionCount(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenConvolutionBackwardDataGetSolution(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const size_t, size_t*, miopenConvSolution_t*);
miopenStatus_t miopenConvolutionBackwardDataGetSolutionWorkspaceSize(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t, size_t*);
miopenStatus_t miopenConvolutionBackwardDataCompileSolution(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t);
miopenStatus_t miopenConvolutionBackwardDataImmediate(miopenHandle_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void*, void*, size_t, const uint64_t);
miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionCount(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenConvolutionBackwardWeightsGetSolution(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const size_t, size_t*, miopenConvSolution_t*);
miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t, size_t*);
miopenStatus_t miopenConvolutionBackwardWeightsCompileSolution(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t);
miopenStatus_t miopenConvolutionBackwardWeightsImmediate(miopenHandle_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void*, void*, size_t, const uint64_t);
miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenFindConvolutionForwardAlgorithm(miopenHandle_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void*, const int, int*, miopenConvAlgoPerf_t*, void*, size_t, bool);
miopenStatus_t miopenConvolutionForward(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, miopenConvFwdAlgorithm_t, const void*, const miopenTensorDescriptor_t, void*, void*, size_t);
miopenStatus_t miopenConvolutionForwardBias(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenConvolutionBackwardDataGetWorkSpaceSize(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenFindConvolutionBackwardDataAlgorithm(miopenHandle_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void*, const int, int*, miopenConvAlgoPerf_t*, void*, size_t, bool);
miopenStatus_t miopenConvolutionBackwardData(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, miopenConvBwdDataAlgorithm_t, const void*, const miopenTensorDescriptor_t, void*, void*, size_t);
miopenStatus_t miopenConvolutionBackwardWeightsGetWorkSpaceSize(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenFindConvolutionBackwardWeightsAlgorithm(miopenHandle_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void*, const int, int*, miopenConvAlgoPerf_t*, void*, size_t, bool);
miopenStatus_t miopenConvolutionBackwardWeights(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, miopenConvBwdWeightsAlgorithm_t, const void*, const miopenTensorDescriptor_t, void*, void*, size_t);
miopenStatus_t miopenConvolutionBackwardBias(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenCreatePoolingDescriptor(miopenPoolingDescriptor_t*);
miopenStatus_t miopenSetPoolingIndexType(miopenPoolingDescriptor_t, miopenIndexType_t);
miopenStatus_t miopenGetPoolingIndexType(miopenPoolingDescriptor_t, miopenIndexType_t*);
miopenStatus_t miopenSetPoolingWorkSpaceIndexMode(miopenPoolingDescriptor_t, miopenPoolingWorkspaceIndexMode_t);
miopenStatus_t miopenGetPoolingWorkSpaceIndexMode(miopenPoolingDescriptor_t, miopenPoolingWorkspaceIndexMode_t*);
miopenStatus_t miopenSet2dPoolingDescriptor(miopenPoolingDescriptor_t, miopenPoolingMode_t, int, int, int, int, int, int);
miopenStatus_t miopenGet2dPoolingDescriptor(const miopenPoolingDescriptor_t, miopenPoolingMode_t*, int*, int*, int*, int*, int*, int*);
miopenStatus_t miopenGetPoolingForwardOutputDim(const miopenPoolingDescriptor_t, const miopenTensorDescriptor_t, int*, int*, int*, int*);
miopenStatus_t miopenSetNdPoolingDescriptor(miopenPoolingDescriptor_t, const miopenPoolingMode_t, int, const int*, const int*, const int*);
miopenStatus_t miopenGetNdPoolingDescriptor(const miopenPoolingDescriptor_t, int, miopenPoolingMode_t*, int*, int*, int*, int*);
miopenStatus_t miopenGetPoolingNdForwardOutputDim(const miopenPoolingDescriptor_t, const miopenTensorDescriptor_t, int, int*);
miopenStatus_t miopenPoolingGetWorkSpaceSize(const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenPoolingGetWorkSpaceSizeV2(const miopenPoolingDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenPoolingForward(miopenHandle_t, const miopenPoolingDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*, bool, void*, size_t);
miopenStatus_t miopenPoolingBackward(miopenHandle_t, const miopenPoolingDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*, void*);
miopenStatus_t miopenDestroyPoolingDescriptor(miopenPoolingDescriptor_t);
miopenStatus_t miopenCreateLRNDescriptor(miopenLRNDescriptor_t*);
miopenStatus_t miopenSetLRNDescriptor(const miopenLRNDescriptor_t, miopenLRNMode_t, unsigned int, double, double, double);
miopenStatus_t miopenGetLRNDescriptor(const miopenLRNDescriptor_t, miopenLRNMode_t*, unsigned int*, double*, double*, double*);
miopenStatus_t miopenLRNGetWorkSpaceSize(const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenLRNForward(miopenHandle_t, const miopenLRNDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*, bool, void*);
miopenStatus_t miopenLRNBackward(miopenHandle_t, const miopenLRNDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*, const void*);
miopenStatus_t miopenDestroyLRNDescriptor(miopenLRNDescriptor_t);
miopenStatus_t miopenDeriveBNTensorDescriptor(miopenTensorDescriptor_t, const miopenTensorDescriptor_t, miopenBatchNormMode_t);
miopenStatus_t miopenBatchNormalizationForwardTraining(miopenHandle_t, miopenBatchNormMode_t, void*, void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, void*, void*, double, void*, void*, double, void*, void*);
miopenStatus_t miopenBatchNormalizationForwardTraining_V2(miopenHandle_t, miopenBatchNormMode_t, void*, void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, void*, void*, double, void*, void*, double, void*, void*);
miopenStatus_t miopenBatchNormForwardTrainingActivation(miopenHandle_t, miopenBatchNormMode_t, void*, void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, void*, void*, double, void*, void*, double, void*, void*, const miopenActivationDescriptor_t);
miopenStatus_t miopenBatchNormalizationForwardInference(miopenHandle_t, miopenBatchNormMode_t, void*, void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, void*, void*, void*, void*, double);
miopenStatus_t miopenBatchNormalizationForwardInference_V2(miopenHandle_t, miopenBatchNormMode_t, void*, void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, void*, void*, void*, void*, double);
miopenStatus_t miopenBatchNormForwardInferenceActivation(miopenHandle_t, miopenBatchNormMode_t, void*, void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, void*, void*, void*, void*, double, const miopenActivationDescriptor_t);
miopenStatus_t miopenBatchNormalizationBackward(miopenHandle_t, miopenBatchNormMode_t, const void*, const void*, const void*, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, const void*, void*, void*, double, const void*, const void*);
miopenStatus_t miopenBatchNormalizationBackward_V2(miopenHandle_t, miopenBatchNormMode_t, const void*, const void*, const void*, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const void*, void*, void*, double, const void*, const void*);
miopenStatus_t miopenBatchNormBackwardActivation(miopenHandle_t, miopenBatchNormMode_t, const void*, const void*, const void*, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const void*, const void*, void*, void*, double, const void*, const void*, const miopenActivationDescriptor_t);
miopenStatus_t miopenCreateActivationDescriptor(miopenActivationDescriptor_t*);
miopenStatus_t miopenSetActivationDescriptor(const miopenActivationDescriptor_t, miopenActivationMode_t, double, double, double);
miopenStatus_t miopenGetActivationDescriptor(const miopenActivationDescriptor_t, miopenActivationMode_t*, double*, double*, double*);
miopenStatus_t miopenActivationForward(miopenHandle_t, const miopenActivationDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenActivationBackward(miopenHandle_t, const miopenActivationDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenDestroyActivationDescriptor(miopenActivationDescriptor_t);
miopenStatus_t miopenSoftmaxForward(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenSoftmaxBackward(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
miopenStatus_t miopenSoftmaxForward_V2(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*, miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t);
miopenStatus_t miopenSoftmaxBackward_V2(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*, miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t);
typedef struct miopenFusionPlanDescriptor miopenFusionPlanDescriptor;
struct miopenFusionPlanDescriptor {  };
typedef struct miopenFusionPlanDescriptor* miopenFusionPlanDescriptor_t;
typedef struct miopenOperatorDescriptor miopenOperatorDescriptor;
struct miopenOperatorDescriptor {  };
typedef struct miopenOperatorDescriptor* miopenOperatorDescriptor_t;
typedef struct miopenOperatorArgs miopenOperatorArgs;
struct miopenOperatorArgs {  };
typedef struct miopenOperatorArgs* miopenOperatorArgs_t;
enum miopenFusionDirection_t { miopenVerticalFusion = 0, miopenHorizontalFusion = 1 };
typedef enum miopenFusionDirection_t miopenFusionDirection_t;
miopenStatus_t miopenCreateFusionPlan(miopenFusionPlanDescriptor_t*, const miopenFusionDirection_t, const miopenTensorDescriptor_t);
miopenStatus_t miopenDestroyFusionPlan(miopenFusionPlanDescriptor_t);
miopenStatus_t miopenCompileFusionPlan(miopenHandle_t, miopenFusionPlanDescriptor_t);
miopenStatus_t miopenFusionPlanGetOp(miopenFusionPlanDescriptor_t, const int, miopenFusionOpDescriptor_t*);
miopenStatus_t miopenFusionPlanGetWorkSpaceSize(miopenHandle_t, miopenFusionPlanDescriptor_t, size_t*, miopenConvFwdAlgorithm_t);
miopenStatus_t miopenFusionPlanConvolutionGetAlgo(miopenFusionPlanDescriptor_t, const int, int*, miopenConvFwdAlgorithm_t*);
miopenStatus_t miopenFusionPlanConvolutionSetAlgo(miopenFusionPlanDescriptor_t, miopenConvFwdAlgorithm_t);
miopenStatus_t miopenCreateOpConvForward(miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t);
miopenStatus_t miopenCreateOpActivationForward(miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, miopenActivationMode_t);
miopenStatus_t miopenCreateOpActivationBackward(miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, miopenActivationMode_t);
miopenStatus_t miopenCreateOpBiasForward(miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, const miopenTensorDescriptor_t);
miopenStatus_t miopenCreateOpBatchNormInference(miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, const miopenBatchNormMode_t, const miopenTensorDescriptor_t);
miopenStatus_t miopenCreateOpBatchNormForward(miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, const miopenBatchNormMode_t, bool);
miopenStatus_t miopenCreateOpBatchNormBackward(miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, const miopenBatchNormMode_t);
miopenStatus_t miopenCreateOperatorArgs(miopenOperatorArgs_t*);
miopenStatus_t miopenDestroyOperatorArgs(miopenOperatorArgs_t);
miopenStatus_t miopenSetOpArgsConvForward(miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void*, const void*, const void*);
miopenStatus_t miopenSetOpArgsActivForward(miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void*, const void*, double, double, double);
miopenStatus_t miopenSetOpArgsActivBackward(miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void*, const void*, const void*, const void*, double, double, double);
miopenStatus_t miopenSetOpArgsBatchNormInference(miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void*, const void*, const void*, const void*, const void*, const void*, double);
miopenStatus_t miopenSetOpArgsBatchNormForward(miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void*, const void*, const void*, const void*, void*, void*, void*, void*, double, double);
miopenStatus_t miopenSetOpArgsBatchNormBackward(miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void*, const void*, const void*, const void*, const void*, void*, void*, const void*, const void*);
miopenStatus_t miopenSetOpArgsBiasForward(miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void*, const void*, const void*);
miopenStatus_t miopenExecuteFusionPlan(const miopenHandle_t, const miopenFusionPlanDescriptor_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, miopenOperatorArgs_t);
miopenStatus_t miopenExecuteFusionPlan_v2(const miopenHandle_t, const miopenFusionPlanDescriptor_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, miopenOperatorArgs_t, void*, size_t);
miopenStatus_t miopenConvolutionBiasActivationForward(miopenHandle_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenConvolutionDescriptor_t, miopenConvFwdAlgorithm_t, void*, size_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenActivationDescriptor_t, const miopenTensorDescriptor_t, void*);
enum miopenRNNMode_t { miopenRNNRELU = 0, miopenRNNTANH = 1, miopenLSTM = 2, miopenGRU = 3 };
typedef enum miopenRNNMode_t miopenRNNMode_t;
enum miopenRNNInputMode_t { miopenRNNlinear = 0, miopenRNNskip = 1 };
typedef enum miopenRNNInputMode_t miopenRNNInputMode_t;
enum miopenRNNAlgo_t { miopenRNNdefault = 0, miopenRNNfundamental = 1, miopenRNNroundedDynamic = 2 };
typedef enum miopenRNNAlgo_t miopenRNNAlgo_t;
enum miopenRNNDirectionMode_t { miopenRNNunidirection = 0, miopenRNNbidirection = 1 };
typedef enum miopenRNNDirectionMode_t miopenRNNDirectionMode_t;
enum miopenRNNBiasMode_t { miopenRNNNoBias = 0, miopenRNNwithBias = 1 };
typedef enum miopenRNNBiasMode_t miopenRNNBiasMode_t;
enum miopenRNNGEMMalgoMode_t { miopenRNNAlgoGEMM = 0 };
typedef enum miopenRNNGEMMalgoMode_t miopenRNNGEMMalgoMode_t;
enum miopenRNNPaddingMode_t { miopenRNNIONotPadded = 0, miopenRNNIOWithPadding = 1 };
typedef enum miopenRNNPaddingMode_t miopenRNNPaddingMode_t;
enum miopenRNNFWDMode_t { miopenRNNTraining = 0, miopenRNNInference = 1 };
typedef enum miopenRNNFWDMode_t miopenRNNFWDMode_t;
enum miopenRNNBaseLayout_t { miopenRNNDataUnknownLayout = 0, miopenRNNDataSeqMajorNotPadded = 1, miopenRNNDataSeqMajorPadded = 2, miopenRNNDataBatchMajorPadded = 3 };
typedef enum miopenRNNBaseLayout_t miopenRNNBaseLayout_t;
miopenStatus_t miopenCreateRNNDescriptor(miopenRNNDescriptor_t*);
miopenStatus_t miopenGetRNNDescriptor(miopenRNNDescriptor_t, miopenRNNMode_t*, miopenRNNAlgo_t*, miopenRNNInputMode_t*, miopenRNNDirectionMode_t*, miopenRNNBiasMode_t*, int*, int*);
miopenStatus_t miopenGetRNNDescriptor_V2(miopenRNNDescriptor_t, int*, int*, miopenDropoutDescriptor_t*, miopenRNNInputMode_t*, miopenRNNDirectionMode_t*, miopenRNNMode_t*, miopenRNNBiasMode_t*, miopenRNNAlgo_t*, miopenDataType_t*);
miopenStatus_t miopenDestroyRNNDescriptor(miopenRNNDescriptor_t);
miopenStatus_t miopenSetRNNDescriptor(miopenRNNDescriptor_t, const int, const int, miopenRNNInputMode_t, miopenRNNDirectionMode_t, miopenRNNMode_t, miopenRNNBiasMode_t, miopenRNNAlgo_t, miopenDataType_t);
miopenStatus_t miopenSetRNNDescriptor_V2(miopenRNNDescriptor_t, const int, const int, miopenDropoutDescriptor_t, miopenRNNInputMode_t, miopenRNNDirectionMode_t, miopenRNNMode_t, miopenRNNBiasMode_t, miopenRNNAlgo_t, miopenDataType_t);
miopenStatus_t miopenSetRNNDataSeqTensorDescriptor(miopenSeqTensorDescriptor_t, miopenDataType_t, miopenRNNBaseLayout_t, int, int, int, const int*, void*);
miopenStatus_t miopenGetRNNDataSeqTensorDescriptor(miopenSeqTensorDescriptor_t, miopenDataType_t*, miopenRNNBaseLayout_t*, int*, int*, int*, int, int*, void*);
miopenStatus_t miopenGetRNNWorkspaceSize(miopenHandle_t, const miopenRNNDescriptor_t, const int, const miopenTensorDescriptor_t*, size_t*);
miopenStatus_t miopenGetRNNTrainingReserveSize(miopenHandle_t, miopenRNNDescriptor_t, const int, const miopenTensorDescriptor_t*, size_t*);
miopenStatus_t miopenGetRNNTempSpaceSizes(miopenHandle_t, miopenRNNDescriptor_t, miopenSeqTensorDescriptor_t, miopenRNNFWDMode_t, size_t*, size_t*);
miopenStatus_t miopenGetRNNParamsSize(miopenHandle_t, miopenRNNDescriptor_t, miopenTensorDescriptor_t, size_t*, miopenDataType_t);
miopenStatus_t miopenGetRNNParamsDescriptor(miopenHandle_t, miopenRNNDescriptor_t, miopenTensorDescriptor_t, miopenTensorDescriptor_t, miopenDataType_t);
miopenStatus_t miopenGetRNNInputTensorSize(miopenHandle_t, miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t*, size_t*);
miopenStatus_t miopenGetRNNHiddenTensorSize(miopenHandle_t, miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t*, size_t*);
miopenStatus_t miopenGetRNNLayerParamSize(miopenHandle_t, miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t, const int, size_t*);
miopenStatus_t miopenGetRNNLayerBiasSize(miopenHandle_t, miopenRNNDescriptor_t, const int, const int, size_t*);
miopenStatus_t miopenGetRNNLayerParam(miopenHandle_t, miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t, miopenTensorDescriptor_t, const void*, const int, miopenTensorDescriptor_t, void*);
miopenStatus_t miopenGetRNNLayerBias(miopenHandle_t, miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t, miopenTensorDescriptor_t, const void*, const int, miopenTensorDescriptor_t, void*);
miopenStatus_t miopenGetRNNLayerParamOffset(miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t, const int, miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenGetRNNLayerBiasOffset(miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t, const int, miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenSetRNNLayerParam(miopenHandle_t, miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t, miopenTensorDescriptor_t, void*, const int, miopenTensorDescriptor_t, const void*);
miopenStatus_t miopenSetRNNLayerBias(miopenHandle_t, miopenRNNDescriptor_t, const int, miopenTensorDescriptor_t, miopenTensorDescriptor_t, void*, const int, miopenTensorDescriptor_t, const void*);
miopenStatus_t miopenSetRNNPaddingMode(miopenRNNDescriptor_t, miopenRNNPaddingMode_t);
miopenStatus_t miopenGetRNNPaddingMode(miopenRNNDescriptor_t, miopenRNNPaddingMode_t*);
miopenStatus_t miopenRNNForward(miopenHandle_t, const miopenRNNDescriptor_t, miopenRNNFWDMode_t, const miopenSeqTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, void*, const miopenTensorDescriptor_t, const void*, void*, const miopenSeqTensorDescriptor_t, void*, const void*, size_t, void*, size_t, void*, size_t);
miopenStatus_t miopenRNNBackwardSeqData(miopenHandle_t, const miopenRNNDescriptor_t, const miopenSeqTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, const void*, const void*, void*, const miopenTensorDescriptor_t, const void*, const void*, void*, const miopenSeqTensorDescriptor_t, void*, const void*, size_t, void*, size_t, void*, size_t);
miopenStatus_t miopenRNNBackwardWeightsSeqTensor(miopenHandle_t, const miopenRNNDescriptor_t, const miopenSeqTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenSeqTensorDescriptor_t, const void*, void*, size_t, void*, size_t, const void*, size_t);
miopenStatus_t miopenRNNForwardTraining(miopenHandle_t, const miopenRNNDescriptor_t, const int, const miopenTensorDescriptor_t*, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t*, void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, void*, void*, size_t, void*, size_t);
miopenStatus_t miopenRNNBackwardData(miopenHandle_t, const miopenRNNDescriptor_t, const int, const miopenTensorDescriptor_t*, const void*, const miopenTensorDescriptor_t*, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t*, void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, void*, void*, size_t, void*, size_t);
miopenStatus_t miopenRNNBackwardWeights(miopenHandle_t, const miopenRNNDescriptor_t, const int, const miopenTensorDescriptor_t*, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t*, const void*, const miopenTensorDescriptor_t, void*, void*, size_t, const void*, size_t);
miopenStatus_t miopenRNNForwardInference(miopenHandle_t, miopenRNNDescriptor_t, const int, const miopenTensorDescriptor_t*, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t*, void*, const miopenTensorDescriptor_t, void*, const miopenTensorDescriptor_t, void*, void*, size_t);
enum miopenCTCLossAlgo_t { MIOPEN_CTC_LOSS_ALGO_DETERMINISTIC = 0 };
typedef enum miopenCTCLossAlgo_t miopenCTCLossAlgo_t;
miopenStatus_t miopenCreateCTCLossDescriptor(miopenCTCLossDescriptor_t*);
miopenStatus_t miopenGetCTCLossDescriptor(miopenCTCLossDescriptor_t, miopenDataType_t*, int*, bool*);
miopenStatus_t miopenDestroyCTCLossDescriptor(miopenCTCLossDescriptor_t);
miopenStatus_t miopenSetCTCLossDescriptor(miopenCTCLossDescriptor_t, miopenDataType_t, const int, bool);
miopenStatus_t miopenGetCTCLossWorkspaceSize(miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const int*, const int*, const int*, miopenCTCLossAlgo_t, const miopenCTCLossDescriptor_t, size_t*);
miopenStatus_t miopenCTCLoss(miopenHandle_t, const miopenTensorDescriptor_t, const void*, const int*, const int*, const int*, void*, const miopenTensorDescriptor_t, void*, miopenCTCLossAlgo_t, const miopenCTCLossDescriptor_t, void*, size_t);
enum miopenRNGType_t { MIOPEN_RNG_PSEUDO_XORWOW = 0 };
typedef enum miopenRNGType_t miopenRNGType_t;
miopenStatus_t miopenCreateDropoutDescriptor(miopenDropoutDescriptor_t*);
miopenStatus_t miopenDestroyDropoutDescriptor(miopenDropoutDescriptor_t);
miopenStatus_t miopenDropoutGetReserveSpaceSize(const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenDropoutGetStatesSize(miopenHandle_t, size_t*);
miopenStatus_t miopenGetDropoutDescriptor(miopenDropoutDescriptor_t, miopenHandle_t, float*, void**, unsigned long long*, bool*, bool*, miopenRNGType_t*);
miopenStatus_t miopenRestoreDropoutDescriptor(miopenDropoutDescriptor_t, miopenHandle_t, float, void*, size_t, unsigned long long, bool, bool, miopenRNGType_t);
miopenStatus_t miopenSetDropoutDescriptor(miopenDropoutDescriptor_t, miopenHandle_t, float, void*, size_t, unsigned long long, bool, bool, miopenRNGType_t);
miopenStatus_t miopenDropoutForward(miopenHandle_t, const miopenDropoutDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, void*, size_t);
miopenStatus_t miopenDropoutBackward(miopenHandle_t, const miopenDropoutDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const void*, const miopenTensorDescriptor_t, void*, void*, size_t);
miopenStatus_t miopenCreateReduceTensorDescriptor(miopenReduceTensorDescriptor_t*);
miopenStatus_t miopenDestroyReduceTensorDescriptor(miopenReduceTensorDescriptor_t);
miopenStatus_t miopenSetReduceTensorDescriptor(miopenReduceTensorDescriptor_t, miopenReduceTensorOp_t, miopenDataType_t, miopenNanPropagation_t, miopenReduceTensorIndices_t, miopenIndicesType_t);
miopenStatus_t miopenGetReduceTensorDescriptor(const miopenReduceTensorDescriptor_t, miopenReduceTensorOp_t*, miopenDataType_t*, miopenNanPropagation_t*, miopenReduceTensorIndices_t*, miopenIndicesType_t*);
miopenStatus_t miopenGetReductionIndicesSize(miopenHandle_t, const miopenReduceTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenGetReductionWorkspaceSize(miopenHandle_t, const miopenReduceTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, size_t*);
miopenStatus_t miopenReduceTensor(miopenHandle_t, const miopenReduceTensorDescriptor_t, void*, size_t, void*, size_t, const void*, const miopenTensorDescriptor_t, const void*, const void*, const miopenTensorDescriptor_t, void*);
typedef struct miopenProblem miopenProblem;
struct miopenProblem {  };
typedef struct miopenProblem* miopenProblem_t;
enum miopenProblemDirection_t { miopenProblemDirectionForward = 0, miopenProblemDirectionBackward = 1, miopenProblemDirectionBackwardWeights = 2 };
typedef enum miopenProblemDirection_t miopenProblemDirection_t;
enum miopenTensorArgumentId_t { miopenTensorArgumentIdInvalid = 0, miopenTensorConvolutionX = 1, miopenTensorConvolutionW = 2, miopenTensorConvolutionY = 3, miopenTensorMhaK = 4, miopenTensorMhaQ = 5, miopenTensorMhaV = 6, miopenTensorMhaDescaleK = 7, miopenTensorMhaDescaleQ = 8, miopenTensorMhaDescaleV = 9, miopenTensorMhaDescaleS = 10, miopenTensorMhaScaleS = 11, miopenTensorMhaScaleO = 12, miopenTensorMhaDropoutProbability = 13, miopenTensorMhaDropoutSeed = 14, miopenTensorMhaDropoutOffset = 15, miopenTensorMhaO = 16, miopenTensorMhaAmaxO = 17, miopenTensorMhaAmaxS = 18, miopenTensorMhaM = 19, miopenTensorMhaZInv = 20, miopenTensorMhaDO = 21, miopenTensorMhaDescaleO = 22, miopenTensorMhaDescaleDO = 23, miopenTensorMhaDescaleDS = 24, miopenTensorMhaScaleDS = 25, miopenTensorMhaScaleDQ = 26, miopenTensorMhaScaleDK = 27, miopenTensorMhaScaleDV = 28, miopenTensorMhaDQ = 29, miopenTensorMhaDK = 30, miopenTensorMhaDV = 31, miopenTensorMhaAmaxDQ = 32, miopenTensorMhaAmaxDK = 33, miopenTensorMhaAmaxDV = 34, miopenTensorMhaAmaxDS = 35, miopenTensorMhaBias = 36, miopenTensorArgumentIsScalar = 2147483648, miopenTensorMhaMask = 2147483649 };
typedef enum miopenTensorArgumentId_t miopenTensorArgumentId_t;
enum miopenFindResultsOrder_t { miopenFindResultsOrderByTime = 0, miopenFindResultsOrderByWorkspaceSize = 1 };
typedef enum miopenFindResultsOrder_t miopenFindResultsOrder_t;
miopenStatus_t miopenCreateConvProblem(miopenProblem_t*, miopenConvolutionDescriptor_t, miopenProblemDirection_t);
enum miopenMhaMask_t { miopenMhaMaskNone = 0, miopenMhaMaskCausal = 1 };
typedef enum miopenMhaMask_t miopenMhaMask_t;
miopenStatus_t miopenCreateMhaProblem(miopenProblem_t*, miopenMhaDescriptor_t, miopenProblemDirection_t);
miopenStatus_t miopenCreateMhaDescriptor(miopenMhaDescriptor_t*);
miopenStatus_t miopenSetMhaDescriptor(miopenMhaDescriptor_t, float);
miopenStatus_t miopenGetMhaDescriptor(miopenMhaDescriptor_t, float*);
miopenStatus_t miopenCreateSoftmaxDescriptor(miopenSoftmaxDescriptor_t*);
miopenStatus_t miopenSetSoftmaxDescriptor(miopenSoftmaxDescriptor_t, float, float, miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t);
miopenStatus_t miopenGetSoftmaxDescriptor(const miopenSoftmaxDescriptor_t, float*, float*, miopenSoftmaxAlgorithm_t*, miopenSoftmaxMode_t*);
miopenStatus_t miopenDestroyProblem(miopenProblem_t);
miopenStatus_t miopenSetProblemTensorDescriptor(miopenProblem_t, miopenTensorArgumentId_t, const miopenTensorDescriptor_t);
typedef struct miopenFindOptions miopenFindOptions;
struct miopenFindOptions {  };
typedef struct miopenFindOptions* miopenFindOptions_t;
miopenStatus_t miopenCreateFindOptions(miopenFindOptions_t*);
miopenStatus_t miopenDestroyFindOptions(miopenFindOptions_t);
miopenStatus_t miopenSetFindOptionTuning(miopenFindOptions_t, int);
miopenStatus_t miopenSetFindOptionResultsOrder(miopenFindOptions_t, miopenFindResultsOrder_t);
miopenStatus_t miopenSetFindOptionWorkspaceLimit(miopenFindOptions_t, size_t);
miopenStatus_t miopenSetFindOptionPreallocatedWorkspace(miopenFindOptions_t, void*, size_t);
miopenStatus_t miopenSetFindOptionPreallocatedTensor(miopenFindOptions_t, miopenTensorArgumentId_t, void*);
miopenStatus_t miopenSetFindOptionAttachBinaries(miopenFindOptions_t, unsigned int);
typedef struct miopenSolution miopenSolution;
struct miopenSolution {  };
typedef struct miopenSolution* miopenSolution_t;
miopenStatus_t miopenFindSolutions(miopenHandle_t, miopenProblem_t, miopenFindOptions_t, miopenSolution_t*, size_t*, size_t);
typedef struct miopenTensorArgument_t miopenTensorArgument_t;
struct miopenTensorArgument_t { miopenTensorArgumentId_t id; miopenTensorDescriptor_t* descriptor; void* buffer; };
miopenStatus_t miopenRunSolution(miopenHandle_t, miopenSolution_t, size_t, const miopenTensorArgument_t*, void*, size_t);
miopenStatus_t miopenDestroySolution(miopenSolution_t);
miopenStatus_t miopenLoadSolution(miopenSolution_t*, const char*, size_t);
miopenStatus_t miopenSaveSolution(miopenSolution_t, char*);
miopenStatus_t miopenGetSolutionSize(miopenSolution_t, size_t*);
miopenStatus_t miopenGetSolutionWorkspaceSize(miopenSolution_t, size_t*);
miopenStatus_t miopenGetSolutionTime(miopenSolution_t, float*);
miopenStatus_t miopenGetSolutionSolverId(miopenSolution_t, uint64_t*);
miopenStatus_t miopenGetSolverIdConvAlgorithm(uint64_t, miopenConvAlgorithm_t*);
enum miopenTuningPolicy_t { miopenTuningPolicyNone = 1, miopenTuningPolicyDbUpdate = 2, miopenTuningPolicySearch = 3, miopenTuningPolicySearchDbUpdate = 4, miopenTuningPolicyDbClean = 5 };
typedef enum miopenTuningPolicy_t miopenTuningPolicy_t;
miopenStatus_t miopenSetTuningPolicy(miopenHandle_t, miopenTuningPolicy_t);
miopenStatus_t miopenGetTuningPolicy(miopenHandle_t, miopenTuningPolicy_t*);
#ifdef __cplusplus
}
#endif
