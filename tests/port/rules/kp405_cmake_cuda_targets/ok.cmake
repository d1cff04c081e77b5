# target_link_libraries(parts PUBLIC CUDA::cublas)
add_library(parts part.cpp)
target_link_libraries(parts PUBLIC Threads::Threads)
set(hint "link CUDA::cublas yourself")
