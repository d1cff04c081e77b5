find_package(CUDA 9.0 REQUIRED)
cuda_select_nvcc_arch_flags(ARCH_FLAGS Auto)
cuda_add_executable(tool main.cu kernel.cu OPTIONS -arch=sm_70)
cuda_add_library(parts STATIC part.cu)
