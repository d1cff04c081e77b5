project(solver LANGUAGES CXX)

option(USE_HIP "Build for AMD GPUs with HIP" OFF)
if(USE_HIP)
  find_package(hip REQUIRED)
  find_package(hipblas REQUIRED)
else()
find_package(CUDAToolkit 11.0 REQUIRED)
endif()
add_library(parts part.cu)
if(USE_HIP)
  target_link_libraries(parts PUBLIC hip::host roc::hipblas PRIVATE m)
else()
target_link_libraries(parts
  PUBLIC CUDA::cudart CUDA::cublas
  PRIVATE m)
endif()
target_link_libraries(images PRIVATE CUDA::nppicc)
