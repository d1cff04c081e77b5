set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -arch=sm_80 --expt-relaxed-constexpr -Xcompiler -fPIC --use_fast_math")
add_library(parts part.cu)
target_compile_options(parts PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-extended-lambda -lineinfo -DTILE=16>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall>)
target_compile_definitions(parts PUBLIC $<$<COMPILE_LANGUAGE:CUDA>:ON_GPU>)
target_compile_features(parts PUBLIC cuda_std_17)
set(CMAKE_CUDA_STANDARD 14)
set(CMAKE_CUDA_STANDARD ${PARTS_STANDARD})

set(MY_NVCC_FLAGS --use_fast_math -Xptxas -v -gencode arch=compute_80,code=sm_80 -Xcompiler -fPIC --expt-relaxed-constexpr)
string(REPLACE ";" " " MY_NVCC_TEXT "${MY_NVCC_FLAGS}")
set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} ${MY_NVCC_TEXT}")

set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -g -Xcudafe \"--display_error_number --diag_suppress=3057\" -lineinfo")
set(CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE} -Xcompiler=\"-fno-plt\"")

set(LIB_NVCC_FLAGS
  --expt-extended-lambda
  --ptxas-options -v
  --use_fast_math
)
add_library(lib INTERFACE)
target_compile_options(lib INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${LIB_NVCC_FLAGS}>)
