cmake_minimum_required(VERSION 3.21)
project(solver VERSION 1.2 LANGUAGES CXX CUDA)  # needs nvcc

file(GLOB kernels src/*.cu)
add_library(solver STATIC src/host.cpp ${kernels})

if(WITH_TESTS)
  enable_language(CUDA)
  add_executable(tests test/main.cu)
endif()

set(languages CXX)
if(WITH_CUDA)
  set(languages ${languages} CUDA)
endif()
project(inner ${languages})
pybind11_add_module(_inner binding.cu)
