project(solver LANGUAGES CXX)

find_package(CUDAToolkit 11.0 REQUIRED)
add_library(parts part.cu)
target_link_libraries(parts
  PUBLIC CUDA::cudart CUDA::cublas
  PRIVATE m)
target_link_libraries(images PRIVATE CUDA::nppicc)
