cmake_minimum_required(VERSION 3.18)
project(modules LANGUAGES CXX)
find_package(CUDAToolkit REQUIRED)
find_program(GPU_COMPILER nvcc)

add_custom_command(
  OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/scale.fatbin
  COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" -fatbin ${FLAGS} ${CMAKE_CURRENT_SOURCE_DIR}/scale.cu -o scale.fatbin
  DEPENDS scale.cu
  VERBATIM)
add_custom_target(ptx ALL COMMAND ${CMAKE_COMMAND} -E env TMPDIR=/tmp ${GPU_COMPILER} -ptx scale.cu -o scale.ptx)
execute_process(COMMAND /usr/local/cuda/bin/nvcc --version OUTPUT_VARIABLE version)
