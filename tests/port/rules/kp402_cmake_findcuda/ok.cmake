# find_package(CUDA)
find_package(CUDAToolkit REQUIRED)
add_executable(tool main.cu)
