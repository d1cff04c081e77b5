#include <dlfcn.h>

void *driver() { return dlopen("libcuda.so.1", RTLD_NOW); }
void *blas() { return dlopen("/usr/local/cuda/lib64/libcublasLt.so", RTLD_NOW); }
void *library() { return dlopen("nvcuda.dll", RTLD_NOW); }
