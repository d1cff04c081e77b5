// CUDA's errors that HIP does not have, with CUDA's numbers (driver_types.h and cuda.h of CUDA 11.8, 12.9 and 13.5). No
// value of ROCm 7.2's hipError_t is one of these, so that no call gives them: what asks for one goes on to compile.

//: cudaErrorVersionTranslation
#define cudaErrorVersionTranslation ((hipError_t)10)
//: cudaErrorInvalidHostPointer
#define cudaErrorInvalidHostPointer ((hipError_t)16)
//: cudaErrorInvalidTextureBinding
#define cudaErrorInvalidTextureBinding ((hipError_t)19)
//: cudaErrorAddressOfConstant
#define cudaErrorAddressOfConstant ((hipError_t)22)
//: cudaErrorTextureFetchFailed
#define cudaErrorTextureFetchFailed ((hipError_t)23)
//: cudaErrorTextureNotBound
#define cudaErrorTextureNotBound ((hipError_t)24)
//: cudaErrorSynchronizationError
#define cudaErrorSynchronizationError ((hipError_t)25)
//: cudaErrorInvalidFilterSetting
#define cudaErrorInvalidFilterSetting ((hipError_t)26)
//: cudaErrorInvalidNormSetting
#define cudaErrorInvalidNormSetting ((hipError_t)27)
//: cudaErrorMixedDeviceExecution
#define cudaErrorMixedDeviceExecution ((hipError_t)28)
//: cudaErrorNotYetImplemented
#define cudaErrorNotYetImplemented ((hipError_t)31)
//: cudaErrorMemoryValueTooLarge
#define cudaErrorMemoryValueTooLarge ((hipError_t)32)
//: CUDA_ERROR_STUB_LIBRARY
#define CUDA_ERROR_STUB_LIBRARY ((hipError_t)34)
//: cudaErrorStubLibrary
#define cudaErrorStubLibrary ((hipError_t)34)
//: CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER
#define CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER ((hipError_t)36)
//: cudaErrorCallRequiresNewerDriver
#define cudaErrorCallRequiresNewerDriver ((hipError_t)36)
//: cudaErrorInvalidSurface
#define cudaErrorInvalidSurface ((hipError_t)37)
//: cudaErrorDuplicateVariableName
#define cudaErrorDuplicateVariableName ((hipError_t)43)
//: cudaErrorDuplicateTextureName
#define cudaErrorDuplicateTextureName ((hipError_t)44)
//: cudaErrorDuplicateSurfaceName
#define cudaErrorDuplicateSurfaceName ((hipError_t)45)
//: CUDA_ERROR_DEVICE_UNAVAILABLE
#define CUDA_ERROR_DEVICE_UNAVAILABLE ((hipError_t)46)
//: cudaErrorDevicesUnavailable
#define cudaErrorDevicesUnavailable ((hipError_t)46)
//: CUDA_ERROR_MULTICAST_RESOURCE_FULL
#define CUDA_ERROR_MULTICAST_RESOURCE_FULL ((hipError_t)47)
//: cudaErrorIncompatibleDriverContext
#define cudaErrorIncompatibleDriverContext ((hipError_t)49)
//: cudaErrorLaunchMaxDepthExceeded
#define cudaErrorLaunchMaxDepthExceeded ((hipError_t)65)
//: cudaErrorLaunchFileScopedTex
#define cudaErrorLaunchFileScopedTex ((hipError_t)66)
//: cudaErrorLaunchFileScopedSurf
#define cudaErrorLaunchFileScopedSurf ((hipError_t)67)
//: cudaErrorSyncDepthExceeded
#define cudaErrorSyncDepthExceeded ((hipError_t)68)
//: cudaErrorLaunchPendingCountExceeded
#define cudaErrorLaunchPendingCountExceeded ((hipError_t)69)
//: CUDA_ERROR_DEVICE_NOT_LICENSED
#define CUDA_ERROR_DEVICE_NOT_LICENSED ((hipError_t)102)
//: cudaErrorDeviceNotLicensed
#define cudaErrorDeviceNotLicensed ((hipError_t)102)
//: cudaErrorSoftwareValidityNotEstablished
#define cudaErrorSoftwareValidityNotEstablished ((hipError_t)103)
//: cudaErrorStartupFailure
#define cudaErrorStartupFailure ((hipError_t)127)
//: CUDA_ERROR_NVLINK_UNCORRECTABLE
#define CUDA_ERROR_NVLINK_UNCORRECTABLE ((hipError_t)220)
//: cudaErrorNvlinkUncorrectable
#define cudaErrorNvlinkUncorrectable ((hipError_t)220)
//: CUDA_ERROR_JIT_COMPILER_NOT_FOUND
#define CUDA_ERROR_JIT_COMPILER_NOT_FOUND ((hipError_t)221)
//: cudaErrorJitCompilerNotFound
#define cudaErrorJitCompilerNotFound ((hipError_t)221)
//: CUDA_ERROR_UNSUPPORTED_PTX_VERSION
#define CUDA_ERROR_UNSUPPORTED_PTX_VERSION ((hipError_t)222)
//: cudaErrorUnsupportedPtxVersion
#define cudaErrorUnsupportedPtxVersion ((hipError_t)222)
//: CUDA_ERROR_JIT_COMPILATION_DISABLED
#define CUDA_ERROR_JIT_COMPILATION_DISABLED ((hipError_t)223)
//: cudaErrorJitCompilationDisabled
#define cudaErrorJitCompilationDisabled ((hipError_t)223)
//: CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
#define CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY ((hipError_t)224)
//: cudaErrorUnsupportedExecAffinity
#define cudaErrorUnsupportedExecAffinity ((hipError_t)224)
//: CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC
#define CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC ((hipError_t)225)
//: cudaErrorUnsupportedDevSideSync
#define cudaErrorUnsupportedDevSideSync ((hipError_t)225)
//: CUDA_ERROR_CONTAINED
#define CUDA_ERROR_CONTAINED ((hipError_t)226)
//: cudaErrorContained
#define cudaErrorContained ((hipError_t)226)
//: CUDA_ERROR_INSUFFICIENT_LOADER_VERSION
#define CUDA_ERROR_INSUFFICIENT_LOADER_VERSION ((hipError_t)227)
//: cudaErrorInsufficientLoaderVersion
#define cudaErrorInsufficientLoaderVersion ((hipError_t)227)
//: CUDA_ERROR_LOSSY_QUERY
#define CUDA_ERROR_LOSSY_QUERY ((hipError_t)402)
//: cudaErrorLossyQuery
#define cudaErrorLossyQuery ((hipError_t)402)
//: CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
#define CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING ((hipError_t)703)
//: cudaErrorLaunchIncompatibleTexturing
#define cudaErrorLaunchIncompatibleTexturing ((hipError_t)703)
//: CUDA_ERROR_TOO_MANY_PEERS
#define CUDA_ERROR_TOO_MANY_PEERS ((hipError_t)711)
//: cudaErrorTooManyPeers
#define cudaErrorTooManyPeers ((hipError_t)711)
//: CUDA_ERROR_HARDWARE_STACK_ERROR
#define CUDA_ERROR_HARDWARE_STACK_ERROR ((hipError_t)714)
//: cudaErrorHardwareStackError
#define cudaErrorHardwareStackError ((hipError_t)714)
//: CUDA_ERROR_ILLEGAL_INSTRUCTION
#define CUDA_ERROR_ILLEGAL_INSTRUCTION ((hipError_t)715)
//: cudaErrorIllegalInstruction
#define cudaErrorIllegalInstruction ((hipError_t)715)
//: CUDA_ERROR_MISALIGNED_ADDRESS
#define CUDA_ERROR_MISALIGNED_ADDRESS ((hipError_t)716)
//: cudaErrorMisalignedAddress
#define cudaErrorMisalignedAddress ((hipError_t)716)
//: CUDA_ERROR_INVALID_ADDRESS_SPACE
#define CUDA_ERROR_INVALID_ADDRESS_SPACE ((hipError_t)717)
//: cudaErrorInvalidAddressSpace
#define cudaErrorInvalidAddressSpace ((hipError_t)717)
//: CUDA_ERROR_INVALID_PC
#define CUDA_ERROR_INVALID_PC ((hipError_t)718)
//: cudaErrorInvalidPc
#define cudaErrorInvalidPc ((hipError_t)718)
//: CUDA_ERROR_TENSOR_MEMORY_LEAK
#define CUDA_ERROR_TENSOR_MEMORY_LEAK ((hipError_t)721)
//: cudaErrorTensorMemoryLeak
#define cudaErrorTensorMemoryLeak ((hipError_t)721)
//: CUDA_ERROR_NOT_PERMITTED
#define CUDA_ERROR_NOT_PERMITTED ((hipError_t)800)
//: cudaErrorNotPermitted
#define cudaErrorNotPermitted ((hipError_t)800)
//: CUDA_ERROR_SYSTEM_NOT_READY
#define CUDA_ERROR_SYSTEM_NOT_READY ((hipError_t)802)
//: cudaErrorSystemNotReady
#define cudaErrorSystemNotReady ((hipError_t)802)
//: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
#define CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ((hipError_t)803)
//: cudaErrorSystemDriverMismatch
#define cudaErrorSystemDriverMismatch ((hipError_t)803)
//: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
#define CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE ((hipError_t)804)
//: cudaErrorCompatNotSupportedOnDevice
#define cudaErrorCompatNotSupportedOnDevice ((hipError_t)804)
//: CUDA_ERROR_MPS_CONNECTION_FAILED
#define CUDA_ERROR_MPS_CONNECTION_FAILED ((hipError_t)805)
//: cudaErrorMpsConnectionFailed
#define cudaErrorMpsConnectionFailed ((hipError_t)805)
//: CUDA_ERROR_MPS_RPC_FAILURE
#define CUDA_ERROR_MPS_RPC_FAILURE ((hipError_t)806)
//: cudaErrorMpsRpcFailure
#define cudaErrorMpsRpcFailure ((hipError_t)806)
//: CUDA_ERROR_MPS_SERVER_NOT_READY
#define CUDA_ERROR_MPS_SERVER_NOT_READY ((hipError_t)807)
//: cudaErrorMpsServerNotReady
#define cudaErrorMpsServerNotReady ((hipError_t)807)
//: CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
#define CUDA_ERROR_MPS_MAX_CLIENTS_REACHED ((hipError_t)808)
//: cudaErrorMpsMaxClientsReached
#define cudaErrorMpsMaxClientsReached ((hipError_t)808)
//: CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED
#define CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED ((hipError_t)809)
//: cudaErrorMpsMaxConnectionsReached
#define cudaErrorMpsMaxConnectionsReached ((hipError_t)809)
//: CUDA_ERROR_MPS_CLIENT_TERMINATED
#define CUDA_ERROR_MPS_CLIENT_TERMINATED ((hipError_t)810)
//: cudaErrorMpsClientTerminated
#define cudaErrorMpsClientTerminated ((hipError_t)810)
//: CUDA_ERROR_CDP_NOT_SUPPORTED
#define CUDA_ERROR_CDP_NOT_SUPPORTED ((hipError_t)811)
//: cudaErrorCdpNotSupported
#define cudaErrorCdpNotSupported ((hipError_t)811)
//: CUDA_ERROR_CDP_VERSION_MISMATCH
#define CUDA_ERROR_CDP_VERSION_MISMATCH ((hipError_t)812)
//: cudaErrorCdpVersionMismatch
#define cudaErrorCdpVersionMismatch ((hipError_t)812)
//: CUDA_ERROR_TIMEOUT
#define CUDA_ERROR_TIMEOUT ((hipError_t)909)
//: cudaErrorTimeout
#define cudaErrorTimeout ((hipError_t)909)
//: CUDA_ERROR_FUNCTION_NOT_LOADED
#define CUDA_ERROR_FUNCTION_NOT_LOADED ((hipError_t)913)
//: cudaErrorFunctionNotLoaded
#define cudaErrorFunctionNotLoaded ((hipError_t)913)
//: CUDA_ERROR_INVALID_RESOURCE_TYPE
#define CUDA_ERROR_INVALID_RESOURCE_TYPE ((hipError_t)914)
//: cudaErrorInvalidResourceType
#define cudaErrorInvalidResourceType ((hipError_t)914)
//: CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION
#define CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION ((hipError_t)915)
//: cudaErrorInvalidResourceConfiguration
#define cudaErrorInvalidResourceConfiguration ((hipError_t)915)
//: CUDA_ERROR_KEY_ROTATION
#define CUDA_ERROR_KEY_ROTATION ((hipError_t)916)
//: CUDA_ERROR_STREAM_DETACHED
#define CUDA_ERROR_STREAM_DETACHED ((hipError_t)917)
//: cudaErrorStreamDetached
#define cudaErrorStreamDetached ((hipError_t)917)
//: CUDA_ERROR_GRAPH_RECAPTURE_FAILURE
#define CUDA_ERROR_GRAPH_RECAPTURE_FAILURE ((hipError_t)918)
//: cudaErrorGraphRecaptureFailure
#define cudaErrorGraphRecaptureFailure ((hipError_t)918)
//: CUDA_ERROR_FABRIC_NOT_READY
#define CUDA_ERROR_FABRIC_NOT_READY ((hipError_t)919)
//: cudaErrorFabricNotReady
#define cudaErrorFabricNotReady ((hipError_t)919)
