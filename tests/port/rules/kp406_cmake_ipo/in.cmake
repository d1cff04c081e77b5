enable_language(CUDA)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
add_library(module MODULE module.cpp kernel.cu)
set_property(TARGET module PROPERTY INTERPROCEDURAL_OPTIMIZATION TRUE)
