cmake_minimum_required(VERSION 3.21)
project(scale LANGUAGES CXX)

find_package(CUDAToolkit)
if(NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "no CUDA")
endif()

if(CUDAToolkit_FOUND)
  enable_language(CUDA)
  add_library(scale scale.cu)
  target_link_libraries(scale PRIVATE CUDA::cublas)
endif()

if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS "11.6")
  message(FATAL_ERROR "CUDA 11.6 or newer")
elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL "14.0")
  message(FATAL_ERROR "CUDA 13 or older")
endif()

if(WITH_TESTS AND CUDAToolkit_FOUND)
  add_subdirectory(tests)
endif()

find_program(HAS_NVCC nvcc)
if(NOT HAS_NVCC AND "$ENV{CUDACXX}" STREQUAL "")
  set(WITH_CUDA OFF)
endif()

if(WITH_CUDA AND CUDA_VERSION VERSION_LESS 11.0)
  include(cub)
endif()
